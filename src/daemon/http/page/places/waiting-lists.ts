import { html } from "hono/html";
import { describeServers } from "../../../../admin/reports/server-list.ts";
import { formatAddress } from "../../../../core/ids.ts";
import type { FeatureList } from "../../../../features/feature.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup } from "../markup.ts";

/** Lines of each list. */
const LINES = 50;

/** What there is of each feature in all channels, and the agents' servers, by the functions of their commands. */
export async function readLists(
  { features, current }: ReportedDaemon,
  mask: (text: string) => string,
): Promise<readonly FeatureList[]> {
  const agents = [...current.setup.agents.all()];
  const servers = agents.flatMap(({ agent, serverTools }) =>
    serverTools == null ? [] : describeServers(agent.config.id, serverTools),
  );
  const list: FeatureList = {
    label: "MCP servers",
    lines: servers.slice(0, LINES).map((text) => ({ channel: null, text })),
    isMore: servers.length > LINES,
    howTo: "Servers stand in config.toml, under [[agents.mcp]].",
  };
  return masked([...(await features.lists({ limit: LINES, masked: mask })), list], mask);
}

export function listsMarkup(lists: readonly FeatureList[]): Markup {
  return html`${lists.map(
    ({ label, lines, isMore, howTo }) =>
      html`<h2>${label}</h2>
        ${
          lines.length === 0
            ? html`<p class="dim">None. ${howTo}</p>`
            : html`<ul>
                ${lines.map(({ channel, text }) => {
                  const name = channel === null ? null : formatAddress(channel);
                  return html`<li>
                    ${name === null ? "" : html`<a href="${channelPath(name)}">${displayableLine(name)}</a>`}
                    ${displayableLine(text)}
                  </li>`;
                })}
              </ul>`
        }
        ${isMore ? html`<p class="dim">The first ${formatNumber(LINES)}: there are more.</p>` : ""}`,
  )}`;
}
