import { html } from "hono/html";
import { formatLevel } from "../../../../admin/reports/channel-list.ts";
import type { ChannelReport } from "../../../../admin/reports/channel-report.ts";
import { type PricedCompaction, readCompactions } from "../../../../admin/reports/compaction-list.ts";
import { contextCard } from "../../../../admin/reports/context-card.ts";
import type { Card } from "../../../../core/card.ts";
import { displayable } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { findChannel, reportOf } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { type Markup, table } from "../markup.ts";
import type { Asked, Place, Shown } from "../place.ts";

const COMPACTIONS_ON_PAGE = 20;
const GAUGE_WIDTH = 1000;

interface ChannelView {
  readonly card: Card;
  readonly summaries: ChannelReport["summaries"];
  readonly compactions: readonly PricedCompaction[];
}

/** One channel: the card of `/context`, the summaries in view with their texts, and the newest compactions. */
export const channelPlace: Place = {
  path: "/page/channel",
  name: null,
  async show({ reports, mask, query, signal }: Asked): Promise<Shown> {
    const view = await reports.read(async (daemon) => {
      const channel = await findChannel(daemon, query("id"));
      // The card cuts texts: half a secret would not be found.
      const report = masked(await reportOf(daemon, channel), mask);
      const { jobs } = await readCompactions(daemon, channel.id, COMPACTIONS_ON_PAGE);
      const card = contextCard(report, daemon.staffOf(channel).agent.time, "");
      return { card: masked(card, mask), summaries: report.summaries, compactions: masked(jobs, mask) };
    }, signal);
    return { title: view.card.title, body: channelBody(view) };
  },
};

function channelBody({ card, summaries, compactions }: ChannelView): Markup {
  const { title, summary, bar, fields, lists } = card;
  return html`<h1>${title}</h1>
    <p>${summary}</p>
    ${gauge(bar)}
    <table>
      ${fields.map(
        ({ label, value }) =>
          html`<tr>
            <th>${label}</th>
            <td>${value}</td>
          </tr>`,
      )}
    </table>
    ${lists.map(
      ({ label, lines }) =>
        html`<h2>${label}</h2>
          <ul>
            ${lines.map((line) => html`<li>${line}</li>`)}
          </ul>`,
    )}
    <h2>Summaries in view</h2>
    ${
      summaries.length === 0
        ? html`<p class="dim">None: all of the conversation is still shown as it was said.</p>`
        : summaries.map(summaryBand)
    }
    <h2>Compactions</h2>
    ${compactions.length === 0 ? html`<p class="dim">None so far.</p>` : compactionTable(compactions)}`;
}

function summaryBand({
  fromSeq,
  toSeq,
  entries,
  level,
  tokens,
  text,
}: ChannelReport["summaries"][number]): Markup {
  return html`<details>
    <summary>
      Entries ${formatNumber(fromSeq)}–${formatNumber(toSeq)}: ${formatNumber(entries)} entries →
      ${formatNumber(tokens)} tokens, level ${String(level)}
    </summary>
    <pre>${displayable(text)}</pre>
  </details>`;
}

function compactionTable(compactions: readonly PricedCompaction[]): Markup {
  return table(
    ["number", "kind", "tier", "state", "entries", "tokens"],
    compactions
      .toReversed()
      .map(({ id, kind, tier, state, fromSeq, toSeq, sourceTokens, summary }) => [
        String(id),
        kind,
        tier,
        state,
        `${formatNumber(fromSeq)}–${formatNumber(toSeq)}`,
        `${formatNumber(sourceTokens)}${summary === null ? "" : ` → ${formatNumber(summary.tokens)}`}`,
      ]),
  );
}

/** How full the window is, with the marks at which compactions begin. */
function gauge({ share, marks }: Card["bar"]): Markup {
  const at = (part: number): string => String(Math.round(Math.min(1, Math.max(0, part)) * GAUGE_WIDTH));
  const named = marks.map(({ label }) => label).join(", ");
  return html`<svg
      class="gauge"
      viewBox="0 0 1000 40"
      preserveAspectRatio="none"
      role="img"
      aria-label="${formatLevel(share)} of the window; ${named}"
    >
      <rect class="room" x="0" y="8" width="1000" height="24" />
      <rect class="used" x="0" y="8" width="${at(share)}" height="24" />
      ${marks.map(
        (mark) => html`<line class="mark" x1="${at(mark.share)}" x2="${at(mark.share)}" y1="2" y2="38" />`,
      )}
    </svg>
    <p class="dim">${named}</p>`;
}
