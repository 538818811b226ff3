import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { estimateTokens } from "../../src/text/tokens.ts";

/** Counts of o200k for texts that are counted in its documentation and in ours. */
const KNOWN: readonly (readonly [text: string, tokens: number])[] = [
  ["", 0],
  ["hello world", 2],
  ["Hello, world!", 4],
  ["The quick brown fox jumps over the lazy dog.", 10],
];

const text = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }));

describe("estimated tokens", () => {
  test("are at least what a tokenizer counts, and not much more", () => {
    for (const [words, tokens] of KNOWN) {
      const estimate = estimateTokens(words);
      assert.ok(estimate >= tokens, `${words}: ${estimate} < ${tokens}`);
      assert.ok(estimate <= tokens * 1.5 + 1, `${words}: ${estimate} for ${tokens}`);
    }
  });

  test("are far over characters / 4 for scripts and symbols that take more", () => {
    for (const words of ["会議は来週の水曜日に決まりました", "회의는 다음 주 수요일입니다", "🎈🎉👍🏽"]) {
      assert.ok(estimateTokens(words) > 2 * (words.length / 4), words);
    }
  });

  test("are exact up to a limit, and over it where there are more", () => {
    fc.assert(
      fc.property(text, fc.nat(60), (words, most) => {
        const whole = estimateTokens(words);
        const counted = estimateTokens(words, most);
        if (whole <= most) assert.equal(counted, whole);
        else assert.ok(counted > most && counted <= whole);
      }),
    );
  });

  test("are a whole number, that never falls when text is added, and never exceeds the sum of the pieces", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const whole = estimateTokens(a + b);
        assert.ok(Number.isInteger(whole) && whole >= 0);
        assert.ok(whole >= Math.max(estimateTokens(a), estimateTokens(b)) - 1);
        assert.ok(whole <= estimateTokens(a) + estimateTokens(b));
      }),
    );
  });

  test("grow with the length", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.integer({ min: 2, max: 50 }), (unit, times) => {
        const one = estimateTokens(unit);
        const many = estimateTokens(unit.repeat(times));
        assert.ok(many <= one * times);
        // A run of letters that goes on over the seam is one word, and one estimate is rounded up.
        assert.ok(many >= (one - 1) * times * 0.19);
      }),
      // Weights whose sum is a whole number, but for the rounding of its binary fractions.
      { examples: [["0AA A0", 26]] },
    );
  });

  test("are not upset by half a surrogate pair", () => {
    assert.equal(estimateTokens("\ud83d"), 1);
  });
});
