import assert from "node:assert/strict";
import { test } from "node:test";
import { RateLimiter } from "../../../src/platforms/shared/rate-limiter.ts";

/** A pace of 40 calls a minute, by a clock that a test sets. */
function open(): { readonly pace: RateLimiter; readonly clock: { ms: number } } {
  const clock = { ms: 1_000_000 };
  return { pace: new RateLimiter(1500, () => clock.ms), clock };
}

/** Something that nobody waits for waits for its turn, and makes so many calls. */
function work({ pace, clock }: ReturnType<typeof open>, calls: number): void {
  clock.ms += pace.ask();
  for (let count = 0; count < calls; count++) pace.called();
}

test("what is called is spaced, however many calls one piece of work makes", () => {
  for (const calls of [1, 2, 22]) {
    const scene = open();
    const from = scene.clock.ms;
    const pieces = Math.ceil(400 / calls);
    for (let count = 0; count < pieces; count++) work(scene, calls);
    const minutes = (scene.clock.ms - from) / 60_000;
    const made = pieces * calls;
    assert.ok((made - 20 - calls) / minutes <= 40.1, `${calls} calls: ${made / minutes} a minute`);
  }
});

test("a few are free at the beginning, and after a rest", () => {
  const scene = open();
  const from = scene.clock.ms;
  for (let count = 0; count < 20; count++) work(scene, 1);
  assert.equal(scene.clock.ms, from);
  scene.clock.ms += 30_000;
  for (let count = 0; count < 20; count++) work(scene, 1);
  assert.equal(scene.clock.ms, from + 30_000);
  assert.equal(scene.pace.ask(), 1500);
});

test("what somebody waits for counts, but holds up nobody for longer than a minute", () => {
  const { pace } = open();
  for (let count = 0; count < 30; count++) pace.called();
  assert.equal(pace.ask(), 11 * 1500);
  for (let count = 0; count < 10_000; count++) pace.called();
  assert.equal(pace.ask(), 61_500);
});
