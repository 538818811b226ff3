/**
 * What a channel's last day looks like on one axis of time: how long replies took, when compactions ran, and how full the
 * window was. Pure.
 */

import {
  type ChannelTimes,
  MOST_TURNS,
  type TimedJob,
  type TimedRequest,
  type TimedTurn,
} from "../../../../store/channels/timeline.ts";

/** All times in ms of the wall clock. */
export interface Axis {
  readonly from: number;
  readonly to: number;
  /** Multiples of a round step, ascending. */
  readonly ticks: readonly number[];
  /** Now, or the newest that happened in a calm channel; a small margin follows. */
  readonly end: number;
  readonly isPast: boolean;
}

export interface Reply {
  /** When people saw the first part of it. */
  readonly at: number;
  /** From the oldest message that it answers, ms. */
  readonly ms: number;
  /** A summary was being written between the message and the reply. */
  readonly isBeside: boolean;
}

export interface JobBar {
  readonly job: TimedJob;
  readonly from: number;
  /** Until when its summary was being written: work ends before a summary waits for its mark. */
  readonly workTo: number;
  /** When its summary came into the view; null: it has not. */
  readonly landedAt: number | null;
  /** Estimated tokens by which the view became shorter, as `/context` counts them; 0: it has not landed. */
  readonly saved: number;
  /** Replies that came while it was being written. */
  readonly replies: readonly Reply[];
}

/** The level at a moment, as a share of the usable window. */
export interface LevelStep {
  readonly at: number;
  readonly share: number;
}

/** Compactions that landed so near each other that a drawing shows them as one. */
export interface Landing {
  readonly at: number;
  /** Estimated tokens. */
  readonly saved: number;
  readonly count: number;
}

/** Quantiles of replies, ms; null: there is none. */
export interface Waits {
  readonly count: number;
  readonly half: number | null;
  readonly most: number | null;
}

export interface Timeline {
  readonly axis: Axis;
  readonly replies: readonly Reply[];
  /** When turns ended without an answer, because they failed. */
  readonly failures: readonly number[];
  readonly jobs: readonly JobBar[];
  readonly landings: readonly Landing[];
  /** A line: the level of each request, how it grew between them, and by how much it fell at each landing. */
  readonly level: readonly LevelStep[];
  /** The level from each of these moments on, as requests measured it. */
  readonly measured: readonly LevelStep[];
  /** All replies on the axis, and those that came while a summary was being written. */
  readonly waits: Waits;
  readonly waitsBeside: Waits;
}

export interface TimelineParts {
  readonly times: ChannelTimes;
  /** ms */
  readonly now: number;
  /** Length of the axis, ms; null: the shortest that shows all. */
  readonly span: number | null;
  /** Share of the usable window that a request takes; null: it is another agent's, and says nothing. */
  readonly shareOf: (request: TimedRequest) => number | null;
  /** The level of the next request, as `/context` shows it. */
  readonly usage: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Lengths of the axis that may be asked for, ms. */
export const SPANS: readonly number[] = [10, 30, 60, 180, 360, 720, 1440].map((minutes) => minutes * MINUTE);
const DAY = 24 * HOUR;
const SHORTEST = MINUTE;
const STEPS: readonly number[] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360].map((minutes) => minutes * MINUTE);
const MOST_TICKS = 8;
/** An axis ends now if something happened so lately. */
const CALM_MS = HOUR;
/** Share of the axis that stays free at its ends, so that what stands there is not cut. */
const MARGIN = 0.02;
/** Landings within this share of the axis are one. */
const NEAR = 0.06;
/** Points of the level within this share of the axis stand at one place. */
const FINEST = 1 / 400;

const MIDDLE = 0.5;
const NEARLY_ALL = 0.95;

/** Puts a channel's times on one axis. Null: nothing happened there yet. */
export function timelineOf({ times, now, span, shareOf, usage }: TimelineParts): Timeline | null {
  const work = times.jobs.map((job) => workOf(job, now));
  const replies = times.turns.flatMap((turn) => replyOf(turn, work));
  const failures = times.turns.flatMap(({ state, settledAt }) =>
    state === "failed" && settledAt !== null ? [settledAt.getTime()] : [],
  );
  const moments = [
    ...replies.flatMap(({ at, ms }) => [at - ms, at]),
    ...failures,
    ...work.flatMap(({ from, workTo, landedAt }) => [from, landedAt ?? workTo]),
  ];
  // Before the oldest turn that was read there were others.
  const isCut = times.turns.length >= MOST_TURNS;
  const earliest = isCut ? (times.turns[0]?.settledAt?.getTime() ?? -Infinity) : -Infinity;
  const axis = axisOf(moments, now, span, earliest);
  if (axis === null) return null;
  const isOn = (at: number): boolean => at >= axis.from && at <= axis.to;
  const shown = replies.filter(({ at }) => isOn(at));
  const level = { at: axis.end, share: usage };
  const gaps = gapsOf(requestsOf(times.requests, shareOf, axis), work, level, axis);
  const end = [level, { at: axis.to, share: usage }];
  const jobs = work
    .filter(({ from, workTo, landedAt }) => from <= axis.to && (landedAt ?? workTo) >= axis.from)
    .map((bar) => ({ ...bar, replies: shown.filter((reply) => isBeside(reply, bar)) }));
  return {
    axis,
    replies: shown,
    failures: failures.filter(isOn),
    jobs,
    landings: landingsOf(jobs, axis),
    level: drawnOf([...lineOf(gaps), ...end], axis),
    measured: [...stepsOf(gaps), ...end],
    waits: waitsOf(shown),
    waitsBeside: waitsOf(shown.filter((reply) => reply.isBeside)),
  };
}

type Work = Omit<JobBar, "replies">;

function workOf(job: TimedJob, now: number): Work {
  const { state, isAhead, createdAt, calledAt, endedAt, sourceTokens, summaryTokens } = job;
  const from = createdAt.getTime();
  const end = endedAt?.getTime() ?? null;
  // Written ahead, it waits: only its model calls tell until when it was work.
  const hasWaited = isAhead && state !== "running" && state !== "staged" && state !== "failed";
  const workTo = hasWaited ? (calledAt?.getTime() ?? from) : (end ?? now);
  const hasLanded = state === "committed" && end !== null && summaryTokens !== null;
  return {
    job,
    from,
    workTo: Math.max(from, workTo),
    landedAt: hasLanded ? end : null,
    saved: hasLanded ? sourceTokens - summaryTokens : 0,
  };
}

function replyOf({ state, heardAt, shownAt, settledAt }: TimedTurn, work: readonly Work[]): Reply[] {
  const end = shownAt ?? settledAt;
  if (state !== "answered" || heardAt === null || end === null) return [];
  const at = end.getTime();
  const ms = Math.max(0, at - heardAt.getTime());
  return [{ at, ms, isBeside: work.some((bar) => isBeside({ at, ms }, bar)) }];
}

function isBeside(
  { at, ms }: Pick<Reply, "at" | "ms">,
  { from, workTo }: Pick<Work, "from" | "workTo">,
): boolean {
  return at - ms <= workTo && at >= from;
}

/**
 * The axis that shows what happened within a day of the newest moment.
 * @param span ms; null: the shortest that shows all of it
 * @param earliest it begins no earlier
 */
export function axisOf(
  moments: readonly number[],
  now: number,
  span: number | null,
  earliest = -Infinity,
): Axis | null {
  if (moments.length === 0) return null;
  const newest = moments.reduce((most, at) => Math.max(most, at), -Infinity);
  const isPast = now - newest > CALM_MS;
  const end = isPast ? newest : Math.max(now, newest);
  const first = Math.max(earliest, end - DAY);
  const oldest = moments.reduce((least, at) => (at >= first ? Math.min(least, at) : least), newest);
  const length = span ?? Math.max(SHORTEST, end - oldest);
  const to = end + length * MARGIN;
  const from = Math.max(earliest, end - length - (span === null ? length * MARGIN : 0));
  const step = STEPS.find((one) => (to - from) / one <= MOST_TICKS) ?? 6 * HOUR;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return { from, to, ticks, end, isPast };
}

/** Place on the axis, from 0 to 1; moments beyond it are at its ends. */
export function placeOf(at: number, { from, to }: Pick<Axis, "from" | "to">): number {
  return Math.min(1, Math.max(0, (at - from) / (to - from)));
}

/** Neighbours become one: the place of the last, and the sum. */
function landingsOf(jobs: readonly Work[], axis: Axis): Landing[] {
  const landings: Landing[] = [];
  const landed = jobs
    .flatMap(({ landedAt, saved }) => (landedAt === null ? [] : [{ at: landedAt, saved, count: 1 }]))
    .filter(({ at }) => at >= axis.from && at <= axis.to)
    .toSorted((a, b) => a.at - b.at);
  for (const { at, saved, count } of landed) {
    const last = landings.at(-1);
    if (last !== undefined && at - last.at < (axis.to - axis.from) * NEAR)
      landings.splice(-1, 1, { at, saved: last.saved + saved, count: last.count + count });
    else landings.push({ at, saved, count });
  }
  return landings;
}

interface MeasuredRequest extends LevelStep {
  /** Share of the usable window of one token. */
  readonly ofToken: number;
}

function requestsOf(
  requests: ChannelTimes["requests"],
  shareOf: TimelineParts["shareOf"],
  { end }: Axis,
): MeasuredRequest[] {
  return requests.flatMap((request) => {
    const share = shareOf(request);
    const at = request.at.getTime();
    return share === null || at > end ? [] : [{ at, share, ofToken: share / Math.max(1, request.tokens) }];
  });
}

/** Moments at which a compaction landed, ascending. */
function landedOf(jobs: readonly Work[], { to }: Axis): { readonly at: number; readonly saved: number }[] {
  return jobs
    .flatMap(({ landedAt, saved }) =>
      landedAt === null || landedAt > to ? [] : [{ at: landedAt, saved: Math.max(0, saved) }],
    )
    .toSorted((a, b) => a.at - b.at);
}

/** A request with the one after it, and the landings between them. The last is followed by the level of now. */
interface Gap {
  readonly from: MeasuredRequest;
  readonly next: LevelStep;
  readonly landed: ReturnType<typeof landedOf>;
}

function gapsOf(
  requests: readonly MeasuredRequest[],
  jobs: readonly Work[],
  now: LevelStep,
  axis: Axis,
): Gap[] {
  const landed = landedOf(jobs, axis);
  return requests.map((from, index) => {
    const next = requests[index + 1] ?? now;
    return { from, next, landed: landed.filter(({ at }) => at > from.at && at < next.at) };
  });
}

/**
 * The level from request to request. Requests are measured, landings are not: where one lies between two requests, the level
 * falls there to that of the request after it, if it is lower.
 */
function stepsOf(gaps: readonly Gap[]): LevelStep[] {
  return gaps.flatMap(({ from: { at, share }, next, landed: [first] }) => {
    const isFall = first !== undefined && next.share < share;
    return [{ at, share }, ...(isFall ? [{ at: first.at, share: next.share }] : [])];
  });
}

/**
 * The same as a line. Messages come between two requests as well: what they added is what the landings between them took, and the
 * difference of the two. It is drawn as growth until the first landing.
 */
function lineOf(gaps: readonly Gap[]): LevelStep[] {
  return gaps.flatMap(({ from: { at: begin, share, ofToken }, next, landed }) => {
    const line: LevelStep[] = [{ at: begin, share }];
    const taken = landed.reduce((sum, { saved }) => sum + saved * ofToken, 0);
    let level = landed.length === 0 ? share : Math.max(share, next.share + taken);
    for (const { at, saved } of landed) {
      line.push({ at, share: level });
      level -= saved * ofToken;
      line.push({ at, share: level });
    }
    // It fell for another reason: a reset, a deletion, an omission.
    if (next.share < level) line.push({ at: next.at, share: level });
    return line;
  });
}

/** The points on the axis: of those that a drawing shows at one place the first, the highest and the last. */
function drawnOf(line: readonly LevelStep[], axis: Axis): LevelStep[] {
  const before = line.findLast(({ at }) => at < axis.from);
  const within = line.filter(({ at }) => at >= axis.from);
  const shown = before === undefined ? within : [{ ...before, at: axis.from }, ...within];
  const cells = Map.groupBy(shown, ({ at }) => Math.floor(placeOf(at, axis) / FINEST));
  return [...cells.values()].flatMap((cell) => {
    const highest = cell.reduce((most, one) => (one.share > most.share ? one : most));
    return cell.filter((one, index) => one === highest || index === 0 || index === cell.length - 1);
  });
}

function waitsOf(replies: readonly Reply[]): Waits {
  const sorted = replies.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return { count: sorted.length, half: quantile(sorted, MIDDLE), most: quantile(sorted, NEARLY_ALL) };
}

/** The smallest value that at least this share does not exceed; null: there is none. @param sorted ascending */
export function quantile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

/** Top of the scale of waits, ms: a round number some times the median, so that one long wait makes no other invisible. */
export function scaleOf({ half }: Pick<Waits, "half">): number {
  const wanted = Math.max((half ?? 0) * 3, 100);
  const unit = 10 ** Math.floor(Math.log10(wanted));
  return unit * ([1, 2, 5].find((factor) => factor * unit >= wanted) ?? 10);
}
