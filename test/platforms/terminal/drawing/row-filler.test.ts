import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { wrapText } from "../../../../src/platforms/terminal/drawing/row-filler.ts";
import { cellWidth } from "../../../../src/text/columns.ts";

const PIECES = [
  "a",
  "b",
  "c",
  "日",
  "本",
  "。",
  "👍",
  "é",
  "\u0301",
  "\u200b",
  " ",
  "  ",
  "\n",
  "\t",
  "longword".repeat(4),
];
const texts = fc.array(fc.constantFrom(...PIECES), { maxLength: 80 }).map((pieces) => pieces.join(""));

describe("wrapped text", () => {
  test("stands below its first word, or below its second column", () => {
    assert.equal(wrapText("  one two three four", 16), "  one two three\n  four");
    assert.equal(
      wrapText("/why  what the last answer was made of", 24),
      "/why  what the last\n      answer was made of",
    );
  });

  test("has no row wider than the terminal, and gives the text back", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 2, max: 40 }), (text, width) => {
        const wrapped = wrapText(text, width);
        for (const row of wrapped.split("\n")) {
          // White space at the beginning of a line is the text's own.
          if (row.trim() !== "" && width > 12)
            assert.ok(cellWidth(row.trimEnd()) <= width || /^\s/.test(row), row);
        }
        assert.equal(wrapped.replaceAll(/\s/g, ""), text.replaceAll(/\s/g, ""));
      }),
      { numRuns: 2000 },
    );
  });

  test("breaks no word that fits into a row", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,10}$/), { minLength: 1 }),
        fc.integer({ min: 10, max: 40 }),
        (words, width) => {
          assert.deepEqual(wrapText(words.join(" "), width).split(/\s+/), words);
        },
      ),
    );
  });
});
