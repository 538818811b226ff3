import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../fuzz/random.ts";
import { type Point, trendOf } from "./trend.ts";

/** Numbers about a line, with a noise of about 1 and a wild one now and then. */
function series(seed: number, count: number, slope: number): Point[] {
  const random = new Random(seed);
  const noise = (): number => random.next() + random.next() + random.next() + random.next() - 2;
  return Array.from({ length: count }, (_, x) => ({
    x,
    y: 100 + slope * x + noise() * (random.chance(0.1) ? 20 : 1),
  }));
}

test("noise alone grows in one of five hundred series at most, whatever is wild in it", () => {
  const grown = Array.from({ length: 500 }, (_, seed) => trendOf(series(seed, 20, 0), 0).grows);
  assert.ok(grown.filter(Boolean).length <= 1);
});

test("a slope that rises by a few times the noise is found", () => {
  const missed = Array.from({ length: 200 }, (_, seed) => !trendOf(series(seed, 20, 0.5), 0).grows);
  assert.ok(missed.filter(Boolean).length < 4, `${missed.filter(Boolean).length} of 200`);
});

test("what falls does not grow, and what settles within its bound does not either", () => {
  assert.equal(trendOf(series(1, 15, -2), 0).grows, false);
  const steady = Array.from({ length: 15 }, (_, x) => ({ x, y: x < 7 ? 12 : 15 }));
  assert.equal(trendOf(steady, 4).grows, false);
  const rising = Array.from({ length: 15 }, (_, x) => ({ x, y: x }));
  assert.deepEqual(trendOf(rising, 4), { growth: 14, bound: 4, grows: true });
});

test("too few numbers, and numbers that a system does not tell, say nothing", () => {
  assert.equal(trendOf([{ x: 0, y: 1 }], 0).grows, false);
  const untold = Array.from({ length: 9 }, (_, x) => ({ x, y: Number.NaN }));
  assert.equal(trendOf(untold, 1).grows, false);
});
