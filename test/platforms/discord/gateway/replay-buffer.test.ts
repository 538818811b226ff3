import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplayBuffer } from "../../../../src/platforms/discord/gateway/replay-buffer.ts";

interface Told {
  readonly channel: string | null;
  readonly number: number;
  readonly isKept?: true;
}

/** A hold, with the numbers of what was taken and the channels of what was dropped. */
function open(): {
  readonly hold: ReplayBuffer<Told>;
  readonly taken: number[];
  readonly missed: (string | null)[];
} {
  const taken: number[] = [];
  const missed: (string | null)[] = [];
  const hold = new ReplayBuffer<Told>({
    take: ({ number }) => void taken.push(number),
    channelOf: ({ channel }) => channel,
    isKept: ({ isKept }) => isKept === true,
    miss: ({ channel }) => void missed.push(channel),
  });
  return { hold, taken, missed };
}

const told = (number: number, channel: string | null = "room"): Told => ({ number, channel });

test("what comes while it is closed waits, in order", () => {
  const { hold, taken, missed } = open();
  hold.pass(told(1));
  hold.pass(told(2));
  assert.equal(taken.length, 0);
  hold.release();
  hold.pass(told(3));
  hold.hold();
  hold.pass(told(4));
  assert.deepEqual(taken, [1, 2, 3]);
  hold.release();
  assert.deepEqual(taken, [1, 2, 3, 4]);
  assert.deepEqual(missed, []);
});

test("too many are dropped, all of them, so that none stands behind a gap, and each channel is told of once", () => {
  const { hold, taken, missed } = open();
  hold.pass(told(0, "first"));
  for (let index = 1; index <= 10_002; index++) hold.pass(told(index, index % 2 === 0 ? "even" : "odd"));
  hold.pass(told(10_003, "last"));
  hold.pass(told(10_004, null));
  assert.deepEqual(missed, []);
  hold.release();
  assert.equal(taken.length, 0);
  assert.deepEqual([missed.length, new Set(missed)], [4, new Set(["even", "first", "last", "odd"])]);
  hold.pass(told(1));
  assert.deepEqual(taken, [1]);
  hold.hold();
  hold.release();
  assert.equal(missed.length, 4);
});

test("what no search brings back is taken, however many others were dropped before and behind it", () => {
  const { hold, taken, missed } = open();
  hold.pass({ number: 1, channel: null, isKept: true });
  for (let number = 2; number <= 10_002; number++) hold.pass(told(number));
  hold.pass({ number: 10_003, channel: null, isKept: true });
  hold.pass(told(10_004, "other"));
  hold.release();
  assert.deepEqual(taken, [1, 10_003]);
  assert.deepEqual(missed, ["room", "other"]);
});
