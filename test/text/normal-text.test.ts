import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { containsQuote, normalWords } from "../../src/text/normal-text.ts";
import { cpuMs } from "../support/cpu-time.ts";

/** May a word begin or end between these two characters, "" being none? */
function isEdge(before = " ", after = " "): boolean {
  return [before, after].some((one) => one === " ") || (after !== "\u0301" && [before, after].includes("茶"));
}

/** Every place is looked at. */
function says(text: string, quote: string): boolean {
  return Array.from(text).some((_, from) => {
    const to = from + quote.length;
    return (
      text.startsWith(quote, from) && isEdge(text[from - 1], text[from]) && isEdge(text[to - 1], text[to])
    );
  });
}

describe("a quote", () => {
  test("stands in a text where its words do, each of them whole", () => {
    const anyWords = fc
      .string({ unit: fc.constantFrom("a", "b", " ", "茶", "\u0301"), maxLength: 30 })
      .map(normalWords);
    let found = 0;
    fc.assert(
      fc.property(anyWords, fc.nat({ max: 30 }), fc.nat({ max: 4 }), (text, from, length) => {
        const quote = text.slice(from, from + length).trim();
        if (quote === "") return;
        const isSaid = says(text, quote);
        found += Number(isSaid);
        assert.equal(containsQuote(text, quote), isSaid);
      }),
      { numRuns: 3000 },
    );
    assert.ok(found > 100, `found ${found} times`);
  });

  test("is looked for in no time where it stands everywhere, and nowhere whole", () => {
    const ms = cpuMs(() => {
      assert.equal(containsQuote(`${"a".repeat(2_000_000)} b`, "a".repeat(100_000)), false);
    });
    assert.ok(ms < 10_000, `${ms} ms`);
  });
});
