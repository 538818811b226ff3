import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { keepTokens, lastCoverable } from "../../src/context/keep.ts";
import type { Entry } from "../../src/core/entry.ts";
import { isCounted } from "../../src/core/history.ts";
import { budgetOf } from "./agent.ts";
import { anySteps, Conversation } from "./conversation.ts";

function talk(count: number): Conversation {
  const conversation = new Conversation();
  for (let index = 0; index < count; index++) conversation.say(`line ${index}`);
  return conversation;
}

const tenEach = (): number => 10;

describe("the tokens of the newest messages", () => {
  const rows: readonly (readonly [what: string, usable: number, beside: number, tokens: number])[] = [
    ["are a tenth of the window", 20_000, 8000, 2000],
    ["are 3,000 at most", 100_000, 0, 3000],
    ["are 1,000 in a small window", 6000, 2000, 1000],
    ["are two fifths of a tiny one", 1000, 0, 400],
    ["are what a summary of 15 % leaves before the aggressive mark", 6000, 3700, 500],
    ["are 300 where there is no such room", 3000, 2100, 300],
  ];
  for (const [what, usable, beside, tokens] of rows) {
    test(what, () => assert.equal(Math.round(keepTokens(budgetOf(usable + 1000, 1000), beside)), tokens));
  }
});

describe("what must be kept", () => {
  const { entries } = talk(30).history;
  const rows: readonly (readonly [
    what: string,
    keep: Partial<Parameters<typeof lastCoverable>[1]>,
    last: number,
  ])[] = [
    ["the newest messages", { keepMessages: 20 }, 10],
    ["the newest messages, as far as they fit", { keepMessages: 20, maxTokens: 75 }, 23],
    ["nothing of the newest where the last one alone is too large", { maxTokens: 9 }, 30],
    ["nothing where none is to be kept", { keepMessages: 0 }, 30],
    ["the newest before what is not up for choice", { firstKept: 16, keepMessages: 5 }, 10],
    ["everything where there is less than that", { keepMessages: 30 }, 0],
    ["everything from the first that waits", { firstKept: 1 }, 0],
  ];
  for (const [what, keep, last] of rows) {
    test(what, () => {
      const all = { firstKept: 31, keepMessages: 20, maxTokens: 1000, tokensOf: tenEach, ...keep };
      assert.equal(lastCoverable(entries, all), last);
    });
  }

  test("notices are not counted", () => {
    const conversation = talk(10);
    conversation.run([
      { do: "edit", text: "a" },
      { do: "edit", text: "b" },
    ]);
    const keep = { firstKept: 13, keepMessages: 3, maxTokens: 1000, tokensOf: tenEach };
    assert.equal(lastCoverable(conversation.history.entries, keep), 7);
  });

  test("keeps as many as asked or as fit, never fewer, never more than the rest", () => {
    const inputs = fc.tuple(
      anySteps({ maxLength: 80, longest: 400 }),
      fc.nat({ max: 40 }),
      fc.nat({ max: 3000 }),
      fc.nat({ max: 90 }),
    );
    fc.assert(
      fc.property(inputs, ([steps, keepMessages, maxTokens, firstKept]) => {
        const all = new Conversation().run(steps).history.entries;
        const tokensOf = (entry: Entry): number => entry.tokens;
        const last = lastCoverable(all, { firstKept, keepMessages, maxTokens, tokensOf });
        assert.ok(last < firstKept);
        const before = all.filter(({ seq }) => seq < firstKept);
        const kept = before.filter(({ seq }) => seq > last);
        const sum = kept.reduce((tokens, entry) => tokens + entry.tokens, 0);
        assert.ok(sum <= maxTokens);
        assert.ok(kept.filter(isCounted).length <= keepMessages);
        const next = before.findLast(({ seq }) => seq <= last);
        if (next === undefined) return;
        assert.ok(
          sum + next.tokens > maxTokens ||
            kept.filter(isCounted).length + Number(isCounted(next)) > keepMessages,
        );
      }),
    );
  });
});
