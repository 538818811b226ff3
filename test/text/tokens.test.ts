import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { estimateTokens, HEAVIEST_UNIT, LIGHTEST_UNIT } from "../../src/text/tokens.ts";
import { anyCharacter } from "../support/any-character.ts";

/** Counts of o200k for texts that are counted in its documentation and in ours. */
const KNOWN: readonly (readonly [text: string, tokens: number])[] = [
  ["", 0],
  ["hello world", 2],
  ["Hello, world!", 4],
  ["The quick brown fox jumps over the lazy dog.", 10],
];

/** Signs whose weight depends on their neighbours, and of each kind of script one: what chance seldom puts side by side. */
const NEIGHBOURS = Array.from("aZkKé ạ\n\t07-.яіع中한😂\u{1f9ff}\u{1d400}\ud83d\u0301\ue000");
/** What floating point may lose. */
const CLOSE = 1e-6;
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(...NEIGHBOURS), maxLength: 40 }),
);

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
});

describe("an estimate", () => {
  test("is between the lightest and the heaviest unit for each unit of the text", () => {
    const one = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.oneof(text, one), fc.integer({ min: 1, max: 200 }), (unit, times) => {
        const { length } = unit.repeat(times);
        const estimate = estimateTokens(unit.repeat(times));
        assert.ok(estimate >= length * LIGHTEST_UNIT - CLOSE, `${estimate} for ${length}`);
        assert.ok(estimate <= Math.ceil(length * HEAVIEST_UNIT + CLOSE), `${estimate} for ${length}`);
      }),
      { numRuns: 1000 },
    );
    for (let code = 0; code <= 0xffff; code++) {
      const unit = String.fromCharCode(code);
      assert.ok(estimateTokens(unit.repeat(1000)) >= 1000 * LIGHTEST_UNIT, `U+${code.toString(16)}`);
      assert.ok(estimateTokens(unit) <= Math.ceil(HEAVIEST_UNIT), `U+${code.toString(16)}`);
    }
  });

  test("counts a run of letters and digits without a space at about three quarters of a token a character", () => {
    const random = Buffer.from(
      Array.from({ length: 3000 }, (_, index) => (index * 7919 + (index % 13) * 131) % 256),
    );
    const perCharacter = estimateTokens(random.toString("base64")) / 4000;
    assert.ok(perCharacter > 0.68 && perCharacter < 0.85, String(perCharacter));
    const hash = createHash("sha512").update("a text").digest("hex");
    assert.ok(estimateTokens(hash) > 0.55 * hash.length, hash);
  });

  test("grows with the length", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.integer({ min: 2, max: 50 }), (unit, times) => {
        const one = estimateTokens(unit);
        const many = estimateTokens(unit.repeat(times));
        assert.ok(many <= one * times);
        // A run of letters that goes on over the seam is one word, and one estimate is rounded up.
        assert.ok(many >= (one - 1) * times * 0.19);
      }),
      // Weights whose sum is a whole number, but for the rounding of its binary fractions.
      { examples: [[",".repeat(50), 3]] },
    );
  });

  test("is not upset by half a surrogate pair", () => {
    assert.equal(estimateTokens("\ud83d"), 1);
  });
});
