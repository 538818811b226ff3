import { html } from "hono/html";
import { minute } from "../../../../admin/reports/channel-format.ts";
import { formatLevel } from "../../../../admin/reports/channel-list.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { weirCommand } from "../../../../files/installation.ts";
import type { Check } from "../../../metrics/readiness.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup, meter, table } from "../markup.ts";
import { type Asked, numberIn, type Place, type Shown } from "../place.ts";
import { sayForm } from "./say.ts";
import { readToday, todayMarkup, waitingMarkup } from "./overview-today.ts";

const CHANNELS_ON_PAGE = 50;
const STATES: Readonly<Record<Check["state"], string>> = { ok: "ok", degraded: "warn", failed: "bad" };

/** What is connected, and all channels, the newest first. */
export const overviewPlace: Place = {
  path: "/",
  name: "Overview",
  viewer: "states without their reasons; channels that are not public under a number",
  async show(asked: Asked): Promise<Shown> {
    const { reports, readiness, mask, query, rights, signal } = asked;
    const from = numberIn(query("before")) ?? undefined;
    const { channels, next } = await reports.list(CHANNELS_ON_PAGE, from, signal, (channel) =>
      rights.nameOf(channel),
    );
    const report = await readiness.report();
    const checks = report.checks.map((one) => ({ ...one, detail: rights.operators(one.detail) }));
    const today = rights.isAll ? await reports.read(async (daemon) => readToday(daemon, mask), signal) : null;
    const shown = masked({ checks, channels }, mask);
    return {
      title: "Overview",
      body: html`<h1>Overview</h1>
        ${today === null ? "" : waitingMarkup(today)}
        <h2>State</h2>
        ${stateTable(shown.checks)}
        <h2>Channels</h2>
        ${shown.channels.length === 0 ? noChannels(asked) : channelTable(shown.channels)}
        ${next === null ? "" : html`<p><a href="/?before=${String(next)}">Older channels</a></p>`}
        ${today === null ? "" : todayMarkup(today)}`,
    };
  },
};

function stateTable(checks: readonly Check[]): Markup {
  return html`<table>
    ${checks.map(
      ({ name, state, detail }) =>
        html`<tr>
          <td class="${STATES[state]}">${displayableLine(name)}: ${state}</td>
          <td>${displayableLine(detail)}</td>
        </tr>`,
    )}
  </table>`;
}

function noChannels(asked: Pick<Asked, "formToken" | "chats">): Markup {
  return html`<p>
      No channel has a message yet: write to the agent where it listens, or run
      <code>${weirCommand("chat")}</code>.
    </p>
    ${sayForm(asked, null)}`;
}

function channelTable(channels: Awaited<ReturnType<Asked["reports"]["list"]>>["channels"]): Markup {
  return table(
    ["channel", "agent", "level", "entries", "last heard (UTC)", "waiting"],
    channels.map(({ channel, agent, entries, level, heardAt, due }) => [
      html`<a href="${channelPath(channel)}">${displayableLine(channel)}</a>`,
      displayableLine(agent),
      html`${meter(level)} ${formatLevel(level)}`,
      formatNumber(entries),
      heardAt === null ? "never" : minute(heardAt),
      due === 0 ? "" : html`<span class="warn">${formatNumber(due)}</span>`,
    ]),
  );
}
