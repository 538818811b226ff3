import assert from "node:assert/strict";
import { test } from "node:test";
import { describeRecurrence, findRecurrence } from "../../src/text/recurrences.ts";

test("a recurrence is described in words, and another expression stands as it is", () => {
  for (const [cron, words] of [
    ["0 9 * * *", "every day at 09:00"],
    ["30 18 * * 1-5", "Monday to Friday at 18:30"],
    ["0 9 * * 1,4", "every Monday and Thursday at 09:00"],
    ["5 8 1 * *", "on day 1 of each month at 08:05"],
    ["*/15 * * * *", "every 15 minutes"],
    ["0 */2 * * *", "every 2 hours"],
    ["0 */1 * * *", "every hour"],
    ["0 9 1 1 *", 'as "0 9 1 1 *" says'],
    ["*/15 9 * * *", 'as "*/15 9 * * *" says'],
    ["0 9 * * mon", 'as "0 9 * * mon" says'],
  ] as const)
    assert.equal(describeRecurrence(cron), words);
});

test("the text around a recurrence is kept, and words within others are none", () => {
  assert.deepEqual(findRecurrence("a every day b"), {
    days: "* * *",
    clock: null,
    before: "a ",
    after: " b",
  });
  assert.deepEqual(findRecurrence("alle 15 Minuten x"), {
    days: "* * *",
    clock: "*/15 *",
    before: "",
    after: " x",
  });
  for (const text of ["the sundial", "every sunrise", "Mondays"])
    assert.equal(findRecurrence(text), null, text);
  assert.ok("problem" in (findRecurrence("every 7 minutes x") ?? {}));
});
