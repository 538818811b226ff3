import assert from "node:assert/strict";
import { test } from "node:test";
import { jobId, turnId } from "../../../../../src/core/ids.ts";
import type { TimedJob, TimedRequest, TimedTurn } from "../../../../../src/store/channels/timeline.ts";
import {
  axisOf,
  placeOf,
  quantile,
  scaleOf,
  timelineOf,
} from "../../../../../src/daemon/http/page/timeline/timeline.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2026, 4, 1, 12);

/** A time in seconds after noon. */
const at = (seconds: number): Date => new Date(NOON + seconds * 1000);

function turn(heard: number, shown: number, overrides: Partial<TimedTurn> = {}): TimedTurn {
  const id = turnId(heard + 1);
  return {
    id,
    state: "answered",
    heardAt: at(heard),
    shownAt: at(shown),
    settledAt: at(shown),
    ...overrides,
  };
}

function job(overrides: Partial<TimedJob>): TimedJob {
  return {
    id: jobId(1),
    kind: "leaf",
    tier: "background",
    state: "committed",
    fromSeq: 1,
    toSeq: 9,
    isAhead: false,
    createdAt: at(100),
    calledAt: at(119),
    endedAt: at(120),
    sourceTokens: 5000,
    summaryTokens: 600,
    ...overrides,
  };
}

function draw(parts: {
  readonly turns?: readonly TimedTurn[];
  readonly jobs?: readonly TimedJob[];
  readonly requests?: readonly TimedRequest[];
  readonly now?: number;
  readonly span?: number;
}) {
  const { turns = [], jobs = [], requests = [], now = NOON + 200_000, span = null } = parts;
  return timelineOf({
    times: { turns, jobs, requests },
    now,
    span,
    shareOf: ({ agent, tokens }) => (agent === null ? tokens / 1000 : null),
    usage: 0.5,
  });
}

test("a reply waits from its message to what people saw first, and runs beside a job at work", () => {
  const timeline = draw({
    turns: [
      turn(0, 1),
      turn(95, 101),
      turn(110, 112),
      turn(119, 125),
      turn(121, 124, { shownAt: null }),
      turn(130, 131, { state: "failed" }),
      turn(140, 141, { heardAt: null }),
      turn(150, 151, { state: "running", shownAt: null, settledAt: null }),
    ],
    jobs: [job({})],
  });
  assert.deepEqual(
    timeline?.replies.map(({ ms, isBeside }) => [ms, isBeside]),
    [
      [1000, false],
      [6000, true],
      [2000, true],
      [6000, true],
      [3000, false],
    ],
  );
  assert.deepEqual(timeline.failures, [NOON + 131_000]);
  assert.deepEqual(timeline.waits, { count: 5, half: 3000, most: 6000 });
  assert.deepEqual(timeline.waitsBeside, { count: 3, half: 6000, most: 6000 });
  assert.equal(timeline.jobs[0]?.replies.length, 3);
});

test("a summary that waits for its mark is no work meanwhile, and lands with its tokens", () => {
  const timeline = draw({
    turns: [turn(0, 1)],
    jobs: [
      job({ isAhead: true, endedAt: at(170) }),
      job({ isAhead: true, state: "ahead", endedAt: null, summaryTokens: null }),
      job({ isAhead: true, calledAt: null, endedAt: at(171) }),
      job({ state: "running", endedAt: null, calledAt: null, summaryTokens: null }),
      job({ state: "failed", summaryTokens: null }),
    ],
  });
  assert.deepEqual(
    timeline?.jobs.map(({ workTo, landedAt, saved }) => [
      (workTo - NOON) / 1000,
      landedAt && (landedAt - NOON) / 1000,
      saved,
    ]),
    [
      [119, 170, 4400],
      [119, null, 0],
      [100, 171, 4400],
      [200, null, 0],
      [120, null, 0],
    ],
  );
  assert.deepEqual(timeline.landings, [{ at: NOON + 171_000, saved: 8800, count: 2 }]);
});

test("the level is measured by requests, grows until a landing, falls there by what it took, and ends with the report's", () => {
  const request = (seconds: number, tokens: number, agent: null | "guest" = null): TimedRequest => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a branded name
    return { at: at(seconds), tokens, agent: agent as TimedRequest["agent"], model: "main" };
  };
  const timeline = draw({
    turns: [turn(5, 6)],
    requests: [
      request(10, 700),
      request(90, 900),
      request(150, 400),
      request(160, 50, "guest"),
      request(180, 450),
    ],
    jobs: [
      job({ sourceTokens: 700, summaryTokens: 100 }),
      job({ createdAt: at(151), endedAt: at(155), sourceTokens: 90, summaryTokens: 60 }),
      job({ createdAt: at(155), endedAt: at(158), sourceTokens: 20, summaryTokens: 30 }),
    ],
  });
  const rounded = (line: readonly { readonly at: number; readonly share: number }[] = []): number[][] =>
    line.map(({ at: time, share }) => [(time - NOON) / 1000, Number(share.toFixed(3))]);
  assert.deepEqual(rounded(timeline?.level), [
    [10, 0.7],
    [90, 0.9],
    // 0.4 after it and 0.6 that it took.
    [120, 1],
    [120, 0.4],
    [150, 0.4],
    [155, 0.48],
    [155, 0.45],
    [158, 0.45],
    [158, 0.45],
    [180, 0.45],
    [200, 0.5],
    [203.9, 0.5],
  ]);
  assert.deepEqual(rounded(timeline?.measured), [
    [10, 0.7],
    [90, 0.9],
    [120, 0.4],
    [150, 0.4],
    [180, 0.45],
    [200, 0.5],
    [203.9, 0.5],
  ]);
});

test("the level that falls without a landing stays until the request that measures it", () => {
  const request = (seconds: number, tokens: number): TimedRequest => ({
    at: at(seconds),
    tokens,
    agent: null,
    model: "main",
  });
  const timeline = draw({
    turns: [turn(5, 6)],
    requests: [request(10, 900), request(60, 100), request(90, 800), request(150, 200)],
    jobs: [job({ sourceTokens: 150, summaryTokens: 50 })],
  });
  assert.deepEqual(
    timeline?.level.map(({ at: time, share }) => [(time - NOON) / 1000, Number(share.toFixed(3))]),
    [
      [10, 0.9],
      [60, 0.9],
      [60, 0.1],
      [90, 0.8],
      [120, 0.8],
      [120, 0.7],
      [150, 0.7],
      [150, 0.2],
      [200, 0.5],
      [203.9, 0.5],
    ],
  );
});

test("the axis is the shortest that shows all of a day, and ends with the newest of a calm channel", () => {
  assert.equal(draw({}), null);
  assert.equal(axisOf([], NOON, null), null);
  const lengthOf = (axis: typeof short): number => (axis === null ? 0 : axis.end - axis.from);
  const short = axisOf([NOON - 5 * MINUTE, NOON - MINUTE], NOON, null);
  assert.deepEqual([short?.isPast, short?.end, short?.ticks.length], [false, NOON, 6]);
  assert.equal(lengthOf(short), 5.1 * MINUTE);
  assert.equal(lengthOf(axisOf([NOON], NOON, null)), 1.02 * MINUTE);
  const day = axisOf([NOON - 40 * HOUR, NOON - 20 * HOUR, NOON], NOON, null);
  assert.equal(lengthOf(day), 20.4 * HOUR);
  const calm = axisOf([NOON - 50 * HOUR, NOON - 49.5 * HOUR], NOON, null);
  assert.deepEqual([calm?.isPast, calm?.end], [true, NOON - 49.5 * HOUR]);
  assert.equal(lengthOf(axisOf([NOON - 5 * HOUR, NOON], NOON, 30 * MINUTE)), 30 * MINUTE);
  const cut = axisOf([NOON - 5 * HOUR, NOON - 2 * HOUR, NOON], NOON, 6 * HOUR, NOON - 2 * HOUR);
  assert.equal(cut?.from, NOON - 2 * HOUR, "what was not read is not shown as calm");
  assert.equal(placeOf(NOON - HOUR, { from: NOON, to: NOON + HOUR }), 0);
  assert.equal(placeOf(NOON + HOUR / 4, { from: NOON, to: NOON + HOUR }), 0.25);
});

test("quantiles are values that were measured, and the scale is round and some times the median", () => {
  assert.equal(quantile([], 0.5), null);
  assert.deepEqual([quantile([1, 2, 3], 0.5), quantile([1, 2], 0.5), quantile([1, 2, 3], 0.95)], [2, 1, 3]);
  assert.deepEqual(
    [null, 20, 1200, 3000, 4000].map((half) => scaleOf({ half })),
    [100, 100, 5000, 10_000, 20_000],
  );
});
