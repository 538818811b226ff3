import { html } from "hono/html";
import type { ChannelReport } from "../../../../admin/reports/channel-report.ts";
import { contextCard } from "../../../../admin/reports/context-card.ts";
import { agentHere } from "../../../../channel/guests.ts";
import { usableTokens } from "../../../../context/usage.ts";
import type { Card } from "../../../../core/card.ts";
import { viewOrder } from "../../../../core/history.ts";
import { agentId } from "../../../../core/ids.ts";
import type { ChannelTimes, TimedRequest } from "../../../../store/channels/timeline.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { budgetOf } from "../../../../turn/agent.ts";
import { type ReportedDaemon, reportOf } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { type Conversation, conversation, rangeBefore } from "../channel/conversation.ts";
import { liveLine } from "../channel/live-line.ts";
import { channelPath, channelTabs, type Markup, memoriesPath, table, turnPath } from "../markup.ts";
import type { Position } from "../live/position.ts";
import { type Asked, numberIn, type Place, type Shown } from "../place.ts";
import { sayForm } from "./say.ts";
import { NOT_SHOWN } from "../roles.ts";
import { timelineSection } from "../timeline/section.ts";
import { SPANS, type Timeline, timelineOf } from "../timeline/timeline.ts";
import { describeCut, describeJob, describeReason } from "../../../../admin/reports/channel-format.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";

interface ChannelView extends Pick<Conversation, "range" | "entries" | "channel"> {
  readonly card: Card;
  readonly report: ChannelReport;
  readonly timeline: Timeline | null;
  readonly time: TimeFormat;
  readonly path: string;
  readonly span: number | null;
  /** Up to where the page knows the channel; null: it shows older entries, which are not live. */
  readonly position: Position | null;
  /** False: none of its texts. */
  readonly isReadable: boolean;
  /** In lines, as `/context` has them. */
  readonly memories: readonly string[];
  readonly mayTry: boolean;
}

/** One channel: its last day, its conversation as the model has it, and what the next request is made of. */
export const channelPlace: Place = {
  path: "/page/channel",
  name: null,
  viewer: "numbers; of a public channel what was said in public",
  async show(asked: Asked): Promise<Shown> {
    const { reports, mask, query, rights, signal } = asked;
    const view = await reports.read(async (daemon): Promise<ChannelView> => {
      const channel = await rights.find(daemon, query("id"));
      // Before anything is read: a later change is told by the stream.
      const changes = await daemon.store.memories.takenBack(channel.id);
      const report = await rights.report(daemon.store, channel, await reportOf(daemon, channel));
      const times = await daemon.store.timeline.read(channel.id);
      const span = SPANS.find((one) => one === Number(query("span")) * 60_000) ?? null;
      const timeline = timelineOf({
        times,
        now: Date.now(),
        span,
        shareOf: shareIn(daemon, channel, report),
        usage: report.usage,
      });
      const range = rangeBefore(report.log, numberIn(query("before")) ?? 0);
      const isReadable = rights.reads(channel);
      const kept = isReadable ? await daemon.store.log.readCurrent(channel.id, range.from, range.to) : [];
      const entries = await rights.entries(daemon.store, channel, kept);
      const { time } = daemon.staffOf(channel).agent;
      const { lastSeq: seq, settledTo } = channel;
      const isNewest = range.to >= report.log.entries;
      // The card cuts texts: half a secret would not be found.
      const shown = masked(report, mask);
      const card = masked(contextCard(shown, time, ""), mask);
      return {
        card,
        report: shown,
        timeline,
        time,
        span,
        path: channelPath(report.channel),
        range,
        entries: masked(viewOrder(entries), mask),
        channel,
        isReadable,
        memories: rights.memoryLines(shown, time),
        mayTry: rights.isAll,
        position: isNewest && isReadable ? { seq, settledTo, changes } : null,
      };
    }, signal);
    return { title: view.card.title, body: channelBody(view, asked) };
  },
};

/** Measures requests of the agent that the report is about by its windows. */
export function shareIn(
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

function channelBody(view: ChannelView, asked: Pick<Asked, "formToken" | "chats">): Markup {
  const { card, report, timeline, time, path, span, memories, mayTry } = view;
  return html`<h1>${card.title}</h1>
    ${mayTry ? channelTabs(report.channel, "now") : ""}
    <p>
      ${card.summary} · <a href="${turnPath(report.channel)}">turns</a>${
        view.isReadable ? html` · <a href="${memoriesPath({ channel: report.channel })}">memories</a>` : ""
      }${mayTry ? html` · <a href="${channelPath(report.channel, "what-if")}">what if it had other settings?</a>` : ""}
    </p>
    ${timelineSection({ timeline, report, bar: card.bar, time, path, span })}
    <div class="channel">
      <section>
        <h2>Conversation</h2>
        ${view.isReadable ? conversationMarkup(view, asked) : html`<p class="dim">Its texts are ${NOT_SHOWN}.</p>`}
      </section>
      <aside data-derived>${nextRequest(report, card, { time, memories })}</aside>
    </div>`;
}

function conversationMarkup(
  { report, time, range, entries, channel, position }: ChannelView,
  asked: Pick<Asked, "formToken" | "chats">,
): Markup {
  const newest = entries.at(-1);
  return html`<p class="dim">
      What the model is shown of it: summaries of old messages, then all newer ones.
      ${newest === undefined ? "" : html`<a href="#entry-${newest.seq}">To the end</a>`}
    </p>
    ${conversation({ report, range, entries, channel, time })}
    ${position === null ? "" : [liveLine(report.channel, position), sayForm(asked, report.channel)]}`;
}

/**
 * What the model gets now: the parts of the next request with their tokens, as `/context` counts them, and what it costs.
 * @param memories what is remembered, in lines
 */
function nextRequest(
  report: ChannelReport,
  card: Card,
  { time, memories: lines }: { readonly time: TimeFormat; readonly memories: readonly string[] },
): Markup {
  const { tokens, usable, sections } = report;
  const [memories = "", ...newest] = lines;
  return html`<h2>What the model gets now</h2>
    ${stack(report)}
    <p class="dim">${counted(tokens, "token")} of ${formatNumber(usable)} usable</p>
    ${describeJob(report, time).map((line) => html`<p>${line}</p>`)}
    <dl>
      ${card.fields.map(
        ({ label, value }) =>
          html`<dt>${label}</dt>
            <dd>${value}</dd>`,
      )}
    </dl>
    ${
      sections.length === 0
        ? ""
        : html`<details class="plain">
            <summary>${counted(sections.length, "section")}, with why each is there</summary>
            ${table(["section", "tokens", "source"], sections.map(sectionRow))}
          </details>`
    }
    <h2>Memories</h2>
    <p>${memories}</p>
    <ul>
      ${newest.map((line) => html`<li>${line}</li>`)}
    </ul>`;
}

/** One row a part, each as long as its share of the largest. */
function stack({ segments }: Pick<ChannelReport, "segments">): Markup {
  const shown = segments.filter(({ tokens }) => tokens > 0);
  const largest = shown.reduce((most, { tokens }) => Math.max(most, tokens), 1);
  return html`<table class="stack">
    ${shown.map(
      ({ key, label, tokens, count }) =>
        html`<tr>
          <th scope="row" title="${counted(count, "item")}">${label}</th>
          <td>
            <svg width="100%" height="10" aria-hidden="true">
              <rect class="${key}" width="${((tokens / largest) * 100).toFixed(1)}%" height="10" />
            </svg>
          </td>
          <td class="number">${formatNumber(tokens)}</td>
        </tr>`,
    )}
  </table>`;
}

function sectionRow(section: ChannelReport["sections"][number]): string[] {
  const { key, source, tokens } = section;
  return [
    displayableLine(key),
    formatNumber(tokens.after),
    displayableLine(`${source} (${describeReason(section)}${describeCut(section)})`),
  ];
}
