/** The drawing of a channel's last day: one SVG whose rows share an axis of time. Its places are per cent, so that it fits any width. */

import { html } from "hono/html";
import type { Bar } from "../../../../core/card.ts";
import type { Tier } from "../../../../core/compaction.ts";
import { percent } from "../../../../admin/reports/channel-format.ts";
import { formatNumber, formatSpan } from "../../../../text/format.ts";
import type { TimeFormat } from "../../../../text/time.ts";
import { counted } from "../../../../text/text.ts";
import { clock, type Markup } from "../markup.ts";
import { difference, jobEnd, seconds } from "./sentences.ts";
import {
  type Axis,
  type JobBar,
  type Landing,
  type LevelStep,
  placeOf,
  scaleOf,
  type Timeline,
} from "./timeline.ts";

/** Rows from top to bottom, in CSS pixels, as the style sheet's `.rows` has them. */
const REPLIES = { top: 8, bottom: 64 };
const JOBS = { top: 80, base: 108 };
const LEVEL = { top: 148, bottom: 236 };
const AXIS_TEXT = 254;
const HEIGHT = 260;

/** Of the level's own coordinates. */
const WIDE = 1000;

/** Least height of a reply's tick, CSS pixels. */
const LEAST_TICK = 3;
/** Least width of a bar, per cent of the axis. */
const LEAST_BAR = 0.4;
/** Share of the axis at its ends where a text has no room on both sides of its place. */
const FIRST = 0.06;
/** The more urgent, the taller: a tier is not told by its colour alone. CSS pixels. */
const BAR_HEIGHTS: Readonly<Record<Tier, number>> = {
  background: 10,
  forced: 10,
  aggressive: 18,
  emergency: 26,
};

export interface Drawn {
  readonly timeline: Timeline;
  readonly time: TimeFormat;
  /** The level now, with the marks of the channel's own configuration. */
  readonly bar: Bar;
  /** The mark that comes next, which may be another limit than a tier's share; null: all are reached. */
  readonly next: { readonly label: string; readonly share: number } | null;
  /** What the drawing shows, in words. */
  readonly label: string;
  /** A moment that is marked, ms, with its level in place of that of now; null: not known. Default: none. */
  readonly cursor?: { readonly at: number; readonly level: number | null };
}

export function chart({ timeline, time, bar, next, label, cursor }: Drawn): Markup {
  const { axis, jobs, landings, level } = timeline;
  return html`<svg class="timeline" width="100%" height="${HEIGHT}" role="img" aria-label="${label}">
    ${jobs.map((job) => besideColumn(job, axis))} ${axisMarkup(axis, time)} ${repliesMarkup(timeline, time)}
    ${levelMarkup(level, axis, bar, next)} ${nowMarkup(axis, bar, cursor)}
    ${landings.map((one) => savedMarkup(one, axis))} ${jobs.map((job) => jobMarkup(job, axis, time))}
  </svg>`;
}

function x(at: number, axis: Axis): string {
  return `${(placeOf(at, axis) * 100).toFixed(2)}%`;
}

/** From one time to another, wide enough to be seen. */
function widthOf(from: number, to: number, axis: Axis): string {
  const wide = (placeOf(to, axis) - placeOf(from, axis)) * 100;
  return `${Math.max(LEAST_BAR, wide).toFixed(2)}%`;
}

/** Where a text stands that is about a place: at both ends it would be cut. */
function anchor(at: number, axis: Axis): "start" | "middle" | "end" {
  const place = placeOf(at, axis);
  return place < FIRST ? "start" : place > 1 - FIRST ? "end" : "middle";
}

/** Behind the replies: while it lasts, a summary is being written. */
function besideColumn({ from, workTo }: JobBar, axis: Axis): Markup {
  return html`<rect
    class="beside"
    x="${x(from, axis)}"
    width="${widthOf(from, workTo, axis)}"
    y="${REPLIES.top - 8}"
    height="${JOBS.base - REPLIES.top + 8}"
  />`;
}

function axisMarkup(axis: Axis, time: TimeFormat): Markup {
  return html`<line class="base" x1="0" x2="100%" y1="${REPLIES.bottom}" y2="${REPLIES.bottom}" />
    <line class="base" x1="0" x2="100%" y1="${JOBS.base}" y2="${JOBS.base}" />
    <line class="base" x1="0" x2="100%" y1="${LEVEL.bottom}" y2="${LEVEL.bottom}" />
    ${axis.ticks.map(
      (at, index) =>
        html`<text
          class="${index % 2 === 0 ? "" : "odd"}"
          x="${x(at, axis)}"
          y="${AXIS_TEXT}"
          text-anchor="${anchor(at, axis)}"
        >
          ${clock(at, time)}
        </text>`,
    )}`;
}

function repliesMarkup({ replies, failures, waits, axis }: Timeline, time: TimeFormat): Markup {
  const top = scaleOf(waits);
  const height = REPLIES.bottom - REPLIES.top;
  const yOf = (ms: number): string =>
    (REPLIES.bottom - Math.max(LEAST_TICK, Math.min(1, ms / top) * height)).toFixed(1);
  return html`${waits.half === null ? "" : html`<line class="half" x1="0" x2="100%" y1="${yOf(waits.half)}" y2="${yOf(waits.half)}" />`}
    ${replies.map(
      ({ at, ms, isBeside }) =>
        html`<line
          class="${isBeside ? "reply with" : "reply"}"
          x1="${x(at, axis)}"
          x2="${x(at, axis)}"
          y1="${REPLIES.bottom}"
          y2="${yOf(ms)}"
          ><title>
            ${clock(at, time)}: answered in
            ${seconds(ms)}${isBeside ? ", while a summary was being written" : ""}
          </title></line
        >`,
    )}
    ${failures.map(
      (at) =>
        html`<text class="failed" x="${x(at, axis)}" y="${REPLIES.bottom - 4}" text-anchor="middle"
          >✕<title>${clock(at, time)}: a turn failed</title></text
        >`,
    )}
    ${replies
      .filter(({ ms }) => ms > top)
      .map(({ at }) => html`<circle class="over" cx="${x(at, axis)}" cy="${REPLIES.top}" r="3" />`)}
    <text x="0" y="${REPLIES.top + 4}">
      ${top < 60_000 ? `${top / 1000} s` : formatSpan(top)}${replies.some(({ ms }) => ms > top) ? "; ● longer" : ""}
    </text>`;
}

function jobMarkup(bar: JobBar, axis: Axis, time: TimeFormat): Markup {
  const { job, from, workTo, landedAt, replies } = bar;
  const height = BAR_HEIGHTS[job.tier];
  const isLost = job.state === "failed" || job.state === "stale" || job.state === "void";
  const landing = landedAt === null || landedAt > axis.to ? null : x(landedAt, axis);
  const waitsTo = landedAt ?? (job.state === "ahead" ? axis.to : workTo);
  return html`${
      waitsTo > workTo
        ? html`<line
            class="waits"
            x1="${x(workTo, axis)}"
            x2="${x(waitsTo, axis)}"
            y1="${JOBS.base - 5}"
            y2="${JOBS.base - 5}"
          />`
        : ""
    }${
      // From the job down to the level that falls with it.
      landing === null
        ? ""
        : html`<line
            class="landing"
            x1="${landing}"
            x2="${landing}"
            y1="${JOBS.base - 10}"
            y2="${LEVEL.bottom}"
          />`
    }<rect
      class="${isLost ? "job lost" : `job ${job.tier}`}"
      x="${x(from, axis)}"
      width="${widthOf(from, workTo, axis)}"
      y="${JOBS.base - height}"
      height="${height}"
      ><title>
        ${clock(from, time)}, ${job.tier}: entries ${formatNumber(job.fromSeq)}–${formatNumber(job.toSeq)},
        ${jobEnd(bar)}; ${counted(replies.length, "reply", "replies")} meanwhile
      </title></rect
    >`;
}

/** The tokens of landings that are near each other, left of the line of the last. */
function savedMarkup({ at, saved, count }: Landing, axis: Axis): Markup {
  const isFirst = placeOf(at, axis) < FIRST;
  return html`<text
    class="saved"
    x="${x(at, axis)}"
    dx="${isFirst ? 4 : -4}"
    y="${JOBS.base + 14}"
    text-anchor="${isFirst ? "start" : "end"}"
    >${difference(saved)}<title>
      ${counted(count, "summary", "summaries")} landed: ${difference(saved)} tokens
    </title></text
  >`;
}

function levelMarkup(
  level: readonly LevelStep[],
  axis: Axis,
  { share: now, marks }: Bar,
  next: Drawn["next"],
): Markup {
  const shares = marks.map(({ share }) => share);
  const yOf = levelScale({ share: now, marks });
  return html`${levelLine(level, axis, yOf)} ${marks.map(({ share }) => markLine("mark", yOf(share)))}
  ${marks
    .filter(({ share }) => share === Math.max(...shares))
    .map(({ share, label }) => html`<text x="0" y="${Number(yOf(share)) - 4}">${label}</text>`)}
  ${
    next === null
      ? ""
      : html`${markLine("mark next", yOf(next.share))}
          <text x="0" y="${Number(yOf(next.share)) + 13}">${next.label}</text>`
  }`;
}

/** Where a level is drawn. */
function levelScale({ share: now, marks }: Bar): (share: number) => string {
  const scale = Math.max(1, now, ...marks.map(({ share }) => share));
  return (share) =>
    (LEVEL.bottom - (Math.min(scale, Math.max(0, share)) / scale) * (LEVEL.bottom - LEVEL.top)).toFixed(1);
}

/** The level of now, or of the marked moment. */
function nowMarkup(axis: Axis, bar: Bar, cursor: Drawn["cursor"]): Markup {
  const { at, level } = cursor ?? { at: axis.to, level: bar.share };
  const y = level === null ? 0 : Number(levelScale(bar)(level));
  return html`${
    cursor === undefined
      ? ""
      : html`<line class="cursor" x1="${x(at, axis)}" x2="${x(at, axis)}" y1="0" y2="${LEVEL.bottom}" />`
  }${
    level === null
      ? ""
      : html`<text
          class="now"
          x="${x(at, axis)}"
          y="${Math.max(LEVEL.top + 12, y - 4)}"
          text-anchor="${anchor(at, axis)}"
          >${percent(level)}</text
        >`
  }`;
}

function markLine(name: string, y: string): Markup {
  return html`<line class="${name}" x1="0" x2="100%" y1="${y}" y2="${y}" />`;
}

/** Its own coordinates, since a path has none in per cent. */
function levelLine(level: readonly LevelStep[], axis: Axis, yOf: (share: number) => string): Markup | "" {
  const [first, last] = [level[0], level.at(-1)];
  if (first === undefined || last === undefined) return "";
  const xOf = (at: number): string => (placeOf(at, axis) * WIDE).toFixed(1);
  const line = level.map(({ at, share }) => `${xOf(at)} ${yOf(share)}`).join("L");
  return html`<svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDE} ${HEIGHT}" preserveAspectRatio="none">
    <path class="filled" d="M${xOf(first.at)} ${LEVEL.bottom}L${line}L${xOf(last.at)} ${LEVEL.bottom}z" />
    <path class="step" d="M${line}" />
  </svg>`;
}
