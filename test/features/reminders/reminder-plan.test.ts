// proves: src/features/reminders/commands.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseRemind } from "../../../src/features/reminders/commands.ts";
import { planReminder, ReminderProblem } from "../../../src/features/reminders/reminder-plan.ts";
import { anyCharacter } from "../../support/any-character.ts";

const NOW = new Date("2026-11-25T04:30:00Z");

describe("/remind", () => {
  test("takes a time and a text", () => {
    const forms: [string, ReturnType<typeof parseRemind>][] = [
      ["in 20m water the plants", { in: "20m", text: "water the plants" }],
      ["in 1 hour and 5 minutes tea", { in: "1 hour and 5 minutes", text: "tea" }],
      ["18:30 go home", { at: "18:30", text: "go home" }],
      ["at 18:30 go home", { at: "18:30", text: "go home" }],
      ["tomorrow 9:00 call Bob", { at: "tomorrow 9:00", text: "call Bob" }],
      ["2026-12-01 09:00 pay", { at: "2026-12-01 09:00", text: "pay" }],
      ["2026-12-01T09:00:00+01:00 pay", { at: "2026-12-01T09:00:00+01:00", text: "pay" }],
      ['cron "0 9 * * 1-5" stand-up', { cron: "0 9 * * 1-5", text: "stand-up" }],
      ["cron \u201c0 9 * * 1-5\u201d stand-up", { cron: "0 9 * * 1-5", text: "stand-up" }],
      ["cron 0 9 * * mon-fri stand-up", { cron: "0 9 * * mon-fri", text: "stand-up" }],
      ["in 20m", null],
      ["18:30", null],
      ["water the plants", null],
      ['cron "0 9 * * 1-5"', null],
      ["", null],
    ];
    for (const [typed, expected] of forms) assert.deepEqual(parseRemind(typed), expected, typed);
  });
});

describe("what is asked of a reminder", () => {
  test("is refused in a sentence where it cannot be set", () => {
    const bad: [Parameters<typeof planReminder>[0], RegExp][] = [
      [{ text: "x" }, /^Say one time, as at, in or cron\. Examples: 20m,/],
      [{ at: "18:30", in: "20m", text: "x" }, /^Say one time/],
      [{ at: "soon", text: "x" }, /^This cannot be set: "soon" is no time\. Examples/],
      [{ in: "20", text: "x" }, /"20" is no length of time/],
      [{ in: "20m", text: " \n " }, /its text is missing/],
      [{ in: "20m", text: "x".repeat(1001) }, /at most 1,000 characters, and this has 1,001/],
      [{ in: "20m", timeZone: "Mars/Base", text: "x" }, /IANA name/],
      [{ cron: "* * * * *", text: "x" }, /oftener than every 5 minutes/],
      [{ cron: "0 0 30 2 *", text: "x" }, /it never comes/],
    ];
    for (const [request, expected] of bad)
      assert.throws(
        () => planReminder(request, "UTC", NOW),
        (error) => error instanceof ReminderProblem && expected.test(error.message),
        JSON.stringify(request).slice(0, 100),
      );
  });

  test("throws nothing else, whatever is typed", () => {
    const word = fc.constantFrom(
      "in",
      "at",
      "cron",
      '"',
      "20m",
      "18:30",
      "*",
      "*/5",
      "2026-12-01",
      "tomorrow",
      "\n",
      "x",
    );
    const typed = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.array(word, { maxLength: 12 }).map((words) => words.join(" ")),
    );
    fc.assert(
      fc.property(typed, typed, (argument, text) => {
        const requests = [
          parseRemind(argument) ?? { text },
          { at: argument, text },
          { in: argument, text },
          { cron: argument, text },
        ];
        for (const request of requests) {
          try {
            const plan = planReminder(request, "Europe/Berlin", NOW);
            assert.ok(plan.at > NOW);
          } catch (error) {
            assert.ok(error instanceof ReminderProblem, String(error));
          }
        }
      }),
      { numRuns: 300 },
    );
  });
});
