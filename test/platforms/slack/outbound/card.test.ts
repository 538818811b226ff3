import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Block, toBlocks } from "../../../../src/platforms/slack/outbound/card.ts";
import { refusalOfBlocks } from "../../../support/slack/blocks.ts";
import { ANY_CARD, AS_IT_IS, CARD } from "../../cards.ts";

function textsOf(blocks: readonly Block[]) {
  return blocks.flatMap((block) => {
    if ("fields" in block) return block.fields;
    return "elements" in block ? block.elements : [block.text];
  });
}

describe("a card as blocks", () => {
  test("has a header, the bar with its marks, the facts as pairs, and the lists", () => {
    const blocks = toBlocks(CARD);
    assert.deepEqual(
      blocks.map(({ type }) => type),
      ["header", "section", "section", "context", "section", "section"],
    );
    assert.deepEqual(
      textsOf(blocks).map(({ text }) => text),
      [
        "#river-watch · agent weir · model some-model",
        "🟡 86 % of 11,904 usable tokens: high",
        `\`\`\`\n${"█".repeat(26)}░░░░\n${" ".repeat(24)}▲▲  ▲\n\`\`\``,
        "▲ background 80 % · ▲ aggressive 85 % · ▲ emergency 95 %",
        "*window*",
        "16,000, of which 4,096 are kept for the answer",
        "*compactions so far*",
        "3 background, 1 aggressive",
        "*cost by type*\n```\nhistory 9,210\nsystem 640\n```",
      ],
    );
  });

  test("shows markup in names as it was typed", () => {
    const [header, , , , facts] = toBlocks({
      ...CARD,
      title: "<!channel> *bold* :smile:",
      fields: [{ label: "*x*", value: "_a_ <https://example.org|b>" }],
    });
    assert.deepEqual(header, {
      type: "header",
      text: { type: "plain_text", text: "&lt;!channel&gt; *bold* :smile:", emoji: false },
    });
    assert.deepEqual(facts, {
      type: "section",
      fields: [
        { type: "mrkdwn", text: "*x*", verbatim: true },
        { type: "plain_text", text: "_a_ &lt;https://example.org|b&gt;", emoji: false },
      ],
    });
  });

  test("keeps all of Slack's limits, whatever stands in it", () => {
    fc.assert(
      fc.property(ANY_CARD, (card) => {
        const blocks = toBlocks(card);
        assert.equal(refusalOfBlocks(blocks), null);
        assert.ok(JSON.stringify(blocks).length <= 11_000);
        for (const { text } of textsOf(blocks)) assert.ok(text.isWellFormed() && text.trim() !== "");
      }),
      AS_IT_IS,
    );
  });

  test("leaves nobody's markup in force", () => {
    fc.assert(
      fc.property(ANY_CARD, (card) => {
        for (const { type, text } of textsOf(toBlocks(card))) {
          assert.doesNotMatch(text, /[<>]|&(?!(?:amp|lt|gt);)/);
          if (type === "mrkdwn")
            assert.match(text, /^(?:\*[^*_~`\n]+\*)?(?:(?:^|\n)```\n(?:(?!```)[^])*\n```)?$/);
        }
      }),
      AS_IT_IS,
    );
  });
});
