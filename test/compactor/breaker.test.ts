import assert from "node:assert/strict";
import { test } from "node:test";
import { Breaker } from "../../src/compactor/breaker.ts";

function setup(): { breaker: Breaker; pass: (ms: number) => void; fail: (times: number) => void } {
  let now = 1000;
  const breaker = new Breaker(() => now);
  return {
    breaker,
    pass: (ms) => {
      now += ms;
    },
    fail: (times) => {
      for (let index = 0; index < times; index++) breaker.failed("m");
    },
  };
}

test("three failures in a row open it for half a minute, for that model alone", () => {
  const { breaker, pass, fail } = setup();
  fail(2);
  assert.ok(breaker.mayTry("m"));
  fail(1);
  assert.ok(!breaker.mayTry("m"));
  assert.ok(!breaker.admit("m"));
  assert.ok(breaker.mayTry("other"));
  assert.equal(breaker.waitMs("m"), 30_000);
  pass(29_999);
  assert.ok(!breaker.mayTry("m"));
  pass(1);
  assert.ok(breaker.mayTry("m"));
});

test("a success between failures closes it and starts the count again", () => {
  const { breaker, fail } = setup();
  fail(2);
  breaker.succeeded("m");
  fail(2);
  assert.ok(breaker.mayTry("m"));
});

test("after a pause it admits one trial; looking takes nothing", () => {
  const { breaker, pass, fail } = setup();
  fail(3);
  pass(30_000);
  assert.ok(breaker.mayTry("m") && breaker.mayTry("m"));
  assert.ok(breaker.admit("m"));
  assert.ok(!breaker.admit("m"));
  breaker.succeeded("m");
  assert.ok(breaker.admit("m") && breaker.admit("m"));
});

test("each failed trial doubles the pause, up to ten minutes", () => {
  const { breaker, pass, fail } = setup();
  fail(3);
  const pauses = [];
  for (let trial = 0; trial < 6; trial++) {
    pass(breaker.waitMs("m"));
    assert.ok(breaker.admit("m"));
    fail(1);
    pauses.push(breaker.waitMs("m") / 1000);
  }
  assert.deepEqual(pauses, [60, 120, 240, 480, 600, 600]);
});

test("calls that were under way when it opened do not make the pause longer", () => {
  const { breaker, fail } = setup();
  fail(8);
  assert.equal(breaker.waitMs("m"), 30_000);
});

test("a trial that never reports is followed by another one", () => {
  const { breaker, pass, fail } = setup();
  fail(3);
  pass(30_000);
  assert.ok(breaker.admit("m"));
  pass(30_000);
  assert.ok(breaker.admit("m"));
});
