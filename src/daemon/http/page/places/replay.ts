import { html } from "hono/html";
import { percent } from "../../../../admin/reports/channel-format.ts";
import { tierMarks } from "../../../../admin/reports/context-card.ts";
import type { Bar } from "../../../../core/card.ts";
import { viewOrder } from "../../../../core/history.ts";
import { formatAddress, type Seq } from "../../../../core/ids.ts";
import type { ChannelRow } from "../../../../store/channels/channels.ts";
import type { ChannelThen } from "../../../../store/channels/replay.ts";
import { displayableLine } from "../../../../text/displayable.ts";
import { formatNumber } from "../../../../text/format.ts";
import { counted } from "../../../../text/text.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { findChannel, type ReportedDaemon } from "../../channels.ts";
import { masked } from "../../masked.ts";
import { REPLAY_ASSET } from "../assets.ts";
import { conversation, rangeBefore } from "../channel/conversation.ts";
import { channelTabs, type Markup, meter, replayPath, secondOf, turnPath } from "../markup.ts";
import { type Asked, numberIn, type Place, type Shown } from "../place.ts";
import { aheadAt, around, besides, levelAt, type Moment, momentsOf, writingAt } from "../replay/moments.ts";
import { chart } from "../timeline/chart.ts";
import { headline } from "../timeline/sentences.ts";
import { type Timeline, timelineOf } from "../timeline/timeline.ts";
import { shareIn } from "./channel.ts";

/** Moments in the list, around that which is shown. */
const MOMENTS_LISTED = 40;
/** Steps of the slider. */
const STEPS = 200;

/** The channel at a moment of its last day. */
type ReplayedMoment = NonNullable<Awaited<ReturnType<typeof readMoment>>>;

interface ReplayView {
  readonly channel: ChannelRow;
  readonly name: string;
  readonly marks: Bar["marks"];
  readonly time: TimeFormat;
  /** Null: nothing happened there yet. */
  readonly moment: ReplayedMoment | null;
}

/** A channel as it was at a moment of its last day: the conversation as its model had it, and the level. */
export const replayPlace: Place = {
  path: "/page/replay",
  name: null,
  async show({ reports, mask, query, signal }: Asked): Promise<Shown> {
    const view = await reports.read(async (daemon): Promise<ReplayView> => {
      const channel = await findChannel(daemon, query("id"));
      const { config, time } = daemon.staffOf(channel).agent;
      const { backgroundThreshold, aggressiveThreshold, emergencyThreshold } = config.compaction;
      const thresholds = {
        background: backgroundThreshold,
        aggressive: aggressiveThreshold,
        emergency: emergencyThreshold,
      };
      const asked = { at: numberIn(query("at")), before: numberIn(query("before")) ?? 0 };
      return {
        channel,
        name: formatAddress(channel.address),
        marks: tierMarks(thresholds),
        time,
        moment: masked(await readMoment(daemon, channel, asked), mask),
      };
    }, signal);
    const title = `Replay of ${displayableLine(mask(view.name))}`;
    return { title, body: replayBody(title, view) };
  },
};

/** @param asked.at ms; null: the first landing, or the first moment. A moment beyond that day is at its end. */
async function readMoment(
  daemon: ReportedDaemon,
  channel: ChannelRow,
  asked: { readonly at: number | null; readonly before: Seq },
) {
  const { store, staffOf } = daemon;
  const times = await store.timeline.read(channel.id);
  const shareOf = shareIn(daemon, channel, { agent: staffOf(channel).agent.config.id });
  const last = times.requests.findLast((request) => shareOf(request) !== null);
  const usage = last === undefined ? 0 : (shareOf(last) ?? 0);
  const timeline = timelineOf({ times, now: Date.now(), span: null, shareOf, usage });
  if (timeline === null) return null;
  const [from, end] = ends(timeline);
  const at = Math.min(
    end,
    Math.max(from, asked.at ?? timeline.landings[0]?.at ?? momentsOf(timeline)[0]?.at ?? from),
  );
  const [was, summaries] = await Promise.all([
    store.replay.at(channel.id, new Date(at)),
    store.replay.summaries(channel.id, new Date(at)),
  ]);
  const coveredTo = summaries.at(-1)?.toSeq ?? 0;
  const omittedTo = Math.min(was.omittedTo ?? 0, was.lastSeq);
  const range = rangeBefore({ entries: was.lastSeq, coveredTo, omittedTo }, asked.before);
  const [omission, entries] = await Promise.all([
    omittedTo > coveredTo ? store.replay.omission(channel.id, coveredTo, omittedTo) : null,
    store.log.readCurrent(channel.id, range.from, range.to),
  ]);
  return { timeline, at, was, coveredTo, omittedTo, summaries, omission, range, entries: viewOrder(entries) };
}

/** The first and the last moment that may be asked for, ms. */
function ends({ axis }: Timeline): readonly [number, number] {
  return [Math.floor(axis.from), Math.floor(axis.end) + 1];
}

function replayBody(title: string, view: ReplayView): Markup {
  const { name, moment } = view;
  const head = html`<h1>${title}</h1>
    ${channelTabs(name, "replay")}`;
  if (moment === null)
    return html`${head}
      <p>Nothing was answered or compacted here yet: say something to the agent in this channel.</p>`;
  const moments = momentsOf(moment.timeline);
  return html`${head}
    <p class="dim">
      The last day with activity, put together from what is stored today. Texts that were deleted since are
      not shown, and edited ones show what they say now.
    </p>
    ${slider(view, moment, moments)}
    <div id="moment">${momentMarkup(view, moment, moments)}</div>
    <script type="module" src="${REPLAY_ASSET.path}" integrity="${REPLAY_ASSET.integrity}"></script>`;
}

/** A form that works by itself; its script plays it. */
function slider(
  { name, time }: ReplayView,
  { timeline, at }: ReplayedMoment,
  moments: readonly Moment[],
): Markup {
  const [from, end] = ends(timeline);
  return html`<form
    class="filter replay"
    method="get"
    action="${replayPlace.path}"
    data-page="${replayPath(name)}"
    data-moments="${[...new Set(moments.map((one) => one.at))].join(" ")}"
  >
    <input type="hidden" name="id" value="${name}" />
    <label
      >Moment<br /><input
        type="range"
        name="at"
        min="${String(from)}"
        max="${String(end)}"
        step="${String(Math.max(1, Math.ceil((end - from) / STEPS)))}"
        value="${String(at)}"
        aria-valuetext="${secondOf(at, time)}"
    /></label>
    <button>Show</button>
  </form>`;
}

function momentMarkup(view: ReplayView, moment: ReplayedMoment, moments: readonly Moment[]): Markup {
  const { name, marks, time, channel } = view;
  const { timeline, at, was, coveredTo, omittedTo, summaries, omission, range, entries } = moment;
  const level = levelAt(timeline, at);
  const { jobs } = timeline;
  const { earlier, later } = besides(moments, at);
  const step = (to: Moment | null, words: string): Markup =>
    to === null
      ? html`<span class="dim">${words}</span>`
      : html`<a href="${replayPath(name, to.at)}" title="${to.words}">${words}</a>`;
  const report = {
    channel: name,
    log: { entries: was.lastSeq, coveredTo, omittedTo },
    summaries: summaries.map((one) => ({ ...one, entries: one.toSeq - one.fromSeq + 1 })),
    omission,
    monitor: { ahead: aheadAt(jobs, at) },
    memories: [],
    sections: [],
  };
  return html`<nav class="strip" aria-label="Moments">
      ${step(earlier, "← earlier")} <b>${secondOf(at, time)}</b> ${step(later, "later →")}
    </nav>
    <figure class="day">
      <figcaption>
        <span>${levelMarkup(level)}</span> <span class="dim">the whole day: ${headline(timeline)}</span>
      </figcaption>
      <div class="rows">
        <div class="names"><span>replies</span><span>compactions</span><span>level</span></div>
        ${chart({
          timeline,
          time,
          bar: { share: level ?? 0, marks },
          next: null,
          label: `${secondOf(at, time)}, on the last day: ${stateSentence(moment)}`,
          cursor: { at, level },
        })}
      </div>
      <p class="dim">${stateSentence(moment)}${runningMarkup(name, was)}</p>
      ${listMarkup(name, around(moments, at, MOMENTS_LISTED), { at, time, all: moments.length })}
    </figure>
    <h2>Conversation</h2>
    ${omissionNote(channel, moment)}
    ${conversation({
      report,
      range,
      entries,
      channel: { agent: channel.agent, settledTo: was.settledTo },
      time,
      path: replayPath(name, at),
    })}`;
}

function levelMarkup(level: number | null): Markup {
  return level === null
    ? html`No request was answered before this moment.`
    : html`${meter(level)} <b>${percent(level)}</b> of the usable window, at the last request before`;
}

function stateSentence({ was, coveredTo, timeline: { jobs }, at }: ReplayedMoment): string {
  const writing = writingAt(jobs, at);
  const covered = coveredTo === 0 ? "none of them summarised" : `${formatNumber(coveredTo)} summarised`;
  const being =
    writing === null
      ? ""
      : ` A summary of entries ${formatNumber(writing.job.fromSeq)}–${formatNumber(writing.job.toSeq)} was being written (${writing.job.tier}).`;
  return `${counted(was.lastSeq, "entry", "entries")} in the log, ${covered}.${being}`;
}

function runningMarkup(name: string, { running }: ChannelThen): Markup | "" {
  return running === null
    ? ""
    : html` <a href="${turnPath(name, running)}">Turn ${String(running)}</a> was at work.`;
}

/** Says that no row tells whether messages were omitted then. */
function omissionNote(channel: ChannelRow, { was, coveredTo }: ReplayedMoment): Markup | "" {
  if (was.omittedTo !== null || channel.omittedTo <= coveredTo) return "";
  return html`<p class="dim">
    Messages up to entry ${formatNumber(channel.omittedTo)} were left out of the view for lack of room at some
    time: whether they were so then is kept of the last turns alone.
  </p>`;
}

function listMarkup(
  name: string,
  shown: readonly Moment[],
  { at, time, all }: { readonly at: number; readonly time: TimeFormat; readonly all: number },
): Markup {
  return html`<details class="plain">
    <summary>${counted(all, "moment")}</summary>
    <ol class="entries">
      ${shown.map(
        (one) =>
          html`<li>
            <a href="${replayPath(name, one.at)}" ${one.at === at ? html`aria-current="true"` : ""}
              >${secondOf(one.at, time)}</a
            >
            ${displayableLine(one.words)}
          </li>`,
      )}
    </ol>
    ${shown.length < all ? html`<p class="dim">Those around the moment that is shown.</p>` : ""}
  </details>`;
}
