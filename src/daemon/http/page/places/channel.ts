import { html } from "hono/html";
import type { ChannelReport } from "../../../../admin/reports/channel-report.ts";
import { contextCard } from "../../../../admin/reports/context-card.ts";
import { agentHere } from "../../../../channel/guests.ts";
import { usableTokens } from "../../../../context/usage.ts";
import type { Card } from "../../../../core/card.ts";
import { agentId } from "../../../../core/ids.ts";
import type { ChannelTimes, TimedRequest } from "../../../../store/channels/timeline.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import { displayable } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { budgetOf } from "../../../../turn/agent.ts";
import { findChannel, type ReportedDaemon, reportOf } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { channelPath, type Markup } from "../markup.ts";
import type { Asked, Place, Shown } from "../place.ts";
import { timelineSection } from "../timeline/section.ts";
import { SPANS, type Timeline, timelineOf } from "../timeline/timeline.ts";

interface ChannelView {
  readonly card: Card;
  readonly report: ChannelReport;
  readonly timeline: Timeline | null;
  readonly time: TimeFormat;
  readonly path: string;
  readonly span: number | null;
}

/** One channel: its last day, the card of `/context`, and the summaries in view with their texts. */
export const channelPlace: Place = {
  path: "/page/channel",
  name: null,
  async show({ reports, mask, query, signal }: Asked): Promise<Shown> {
    const view = await reports.read(async (daemon): Promise<ChannelView> => {
      const channel = await findChannel(daemon, query("id"));
      const report = await reportOf(daemon, channel);
      const times = await daemon.store.timeline.read(channel.id);
      const span = SPANS.find((one) => one === Number(query("span")) * 60_000) ?? null;
      const timeline = timelineOf({
        times: masked(times, mask),
        now: Date.now(),
        span,
        shareOf: shareIn(daemon, channel, report),
        usage: report.usage,
      });
      const { time } = daemon.staffOf(channel).agent;
      // The card cuts texts: half a secret would not be found.
      const shown = masked(report, mask);
      const card = masked(contextCard(shown, time, ""), mask);
      return { card, report: shown, timeline, time, span, path: channelPath(report.channel) };
    }, signal);
    return { title: view.card.title, body: channelBody(view) };
  },
};

/** Measures requests of the agent that the report is about by its windows. */
function shareIn(
  { staffOf }: Pick<ReportedDaemon, "staffOf">,
  channel: ChannelRow,
  report: Pick<ChannelReport, "agent">,
): (request: ChannelTimes["requests"][number]) => number | null {
  const { agent: own, guests } = staffOf(channel);
  const answering = agentHere(own, guests, agentId(report.agent));
  return ({ agent, model, tokens }: TimedRequest) =>
    answering === undefined || (agent ?? own.config.id) !== report.agent
      ? null
      : tokens / usableTokens(budgetOf(answering, model));
}

function channelBody({ card, report, timeline, time, path, span }: ChannelView): Markup {
  const { title, summary, bar, fields, lists } = card;
  return html`<h1>${title}</h1>
    <p>${summary}</p>
    ${timelineSection({ timeline, report, bar, time, path, span })}
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
      report.summaries.length === 0
        ? html`<p class="dim">None: all of the conversation is still shown as it was said.</p>`
        : report.summaries.map(summaryBand)
    }`;
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
