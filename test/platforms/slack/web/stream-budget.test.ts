import assert from "node:assert/strict";
import { test } from "node:test";
import { StreamBudget } from "../../../../src/platforms/slack/web/stream-budget.ts";

const MINUTE_MS = 60_000;

function makeBudget(): { readonly budget: StreamBudget; readonly pass: (ms: number) => void } {
  let now = 0;
  return { budget: new StreamBudget(() => now), pass: (ms) => void (now += ms) };
}

test("fewer streams begin in a minute than Slack ends in one", () => {
  const { budget, pass } = makeBudget();
  let begun = 0;
  for (; budget.mayStart(); begun++) budget.started(`answer ${begun}`);
  assert.equal(begun, 17);
  pass(MINUTE_MS);
  assert.equal(budget.mayStart(), true);
});

test("open streams share the pieces of a minute", () => {
  const { budget, pass } = makeBudget();
  for (const key of ["one", "two"]) budget.started(key);
  const shown = { one: 0, two: 0 };
  for (let ms = 0; ms < MINUTE_MS; ms += 50) {
    pass(50);
    for (const key of ["one", "two"] as const) {
      if (budget.mayAppend(key) !== true) continue;
      budget.appended(key);
      shown[key] += 1;
    }
  }
  assert.ok(shown.one + shown.two <= 90);
  assert.ok(Math.abs(shown.one - shown.two) <= 1);
  assert.ok(shown.one >= 40);
});

test("an answer that is no stream is not its business, and a limit of Slack's holds for all", () => {
  const { budget, pass } = makeBudget();
  assert.equal(budget.mayAppend("one"), null);
  budget.started("one");
  pass(1000);
  assert.equal(budget.mayAppend("one"), true);
  budget.limited(5000);
  assert.deepEqual([budget.mayAppend("one"), budget.mayStart()], [false, false]);
  pass(5000);
  assert.deepEqual([budget.mayAppend("one"), budget.mayStart()], [true, true]);
  budget.ended("one");
  assert.equal(budget.mayAppend("one"), null);
});
