import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { drawCard } from "../../../src/platforms/terminal/card.ts";
import { ANY_CARD, AS_IT_IS, CARD } from "../cards.ts";

const PLAIN = { colour: false, columns: 80 };

describe("a card in a terminal", () => {
  test("explains itself, with the marks on the scale of the bar", () => {
    assert.equal(
      drawCard(CARD, PLAIN),
      `#river-watch · agent weir · model some-model

  ${"█".repeat(34)}░░░░░░
${" ".repeat(34)}▲ ▲   ▲
  86 % of 11,904 usable tokens: high
  ▲ background 80 %  ▲ aggressive 85 %  ▲ emergency 95 %

  window              16,000, of which 4,096 are kept for the answer
  compactions so far  3 background, 1 aggressive

  cost by type
    history 9,210
    system 640`,
    );
  });

  test("says nothing by colour alone", () => {
    const coloured = drawCard(CARD, { ...PLAIN, colour: true });
    assert.notEqual(coloured, drawCard(CARD, PLAIN));
    assert.equal(stripVTControlCharacters(coloured), drawCard(CARD, PLAIN));
    assert.ok(coloured.includes("\u001B[33m86 % of"));
    assert.ok(drawCard({ ...CARD, tone: "critical" }, { ...PLAIN, colour: true }).includes("\u001B[31m86 %"));
  });

  test("fits its bar into a narrow terminal", () => {
    const [, , bar = ""] = drawCard(CARD, { ...PLAIN, columns: 20 }).split("\n");
    assert.equal(bar, `  ${"█".repeat(14)}░░`);
  });

  test("breaks what is wider than the terminal between words, below where it began", () => {
    const fields = [{ label: "Window", value: "8,000, of which 2,000 are kept for the answer" }];
    const lists = [{ label: "Made of", lines: ["tools: 769 tokens, 5 items"] }];
    const rows = drawCard({ ...CARD, fields, lists }, { ...PLAIN, columns: 26 }).split("\n");
    assert.deepEqual(rows.slice(-7), [
      "  Window  8,000, of which",
      "          2,000 are kept",
      "          for the answer",
      "",
      "  Made of",
      "    tools: 769 tokens, 5",
      "    items",
    ]);
  });

  test("lets no text control the terminal or add a row of its own", () => {
    fc.assert(
      fc.property(ANY_CARD, fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 300 })), (card, columns) => {
        const text = drawCard(card, { colour: false, columns });
        // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
        assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        const rows = card.lists.reduce((sum, { lines }) => sum + 2 + lines.length, 7 + card.fields.length);
        // A terminal may need more of them for a line; what is piped is left as it is.
        if (columns === 0) assert.equal(text.split("\n").length, rows);
        else assert.ok(text.split("\n").length >= rows);
        assert.ok(text.isWellFormed());
      }),
      AS_IT_IS,
    );
  });
});
