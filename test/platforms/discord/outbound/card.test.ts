import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ComponentType, ContainerBuilder, SeparatorBuilder, TextDisplayBuilder } from "discord.js";
import fc from "fast-check";
import type { Card } from "../../../../src/core/card.ts";
import { toCard } from "../../../../src/platforms/discord/outbound/card.ts";
import { type Drawn, textIn } from "../../../../src/platforms/discord/outbound/components.ts";
import { ANY_CARD, AS_IT_IS, CARD } from "../../cards.ts";

function textsOf(card: Card): string[] {
  const [box] = toCard(card).components;
  return (box?.components ?? []).flatMap((one) =>
    one.type === ComponentType.TextDisplay ? [one.content] : [],
  );
}

/** The same box, made by discord.js, which checks each part of it. */
function rebuilt({ components: [box] }: Drawn): unknown {
  const builder = new ContainerBuilder();
  builder.setAccentColor(box?.accent_color ?? 0);
  for (const one of box?.components ?? []) {
    assert.ok(one.type === ComponentType.TextDisplay || one.type === ComponentType.Separator);
    if (one.type === ComponentType.TextDisplay)
      builder.addTextDisplayComponents(new TextDisplayBuilder().setContent(one.content));
    else builder.addSeparatorComponents(new SeparatorBuilder());
  }
  return builder.toJSON();
}

describe("a card as a box", () => {
  test("has the bar with the marks on its scale, the facts, and the lists below them", () => {
    const [head, facts, ...lists] = textsOf(CARD);
    assert.equal(
      head,
      [
        "### #river-watch · agent weir · model some-model",
        "86 % of 11,904 usable tokens: high",
        "```",
        `${"█".repeat(26)}░░░░`,
        `${" ".repeat(24)}▲▲  ▲`,
        "```",
        "▲ background 80 % · ▲ aggressive 85 % · ▲ emergency 95 %",
      ].join("\n"),
    );
    assert.equal(
      facts,
      "**window:** 16,000, of which 4,096 are kept for the answer\n**compactions so far:** 3 background, 1 aggressive",
    );
    assert.deepEqual(lists, ["**cost by type**\n```\nhistory 9,210\nsystem 640\n```"]);
    assert.notEqual(
      toCard(CARD).components[0]?.accent_color,
      toCard({ ...CARD, tone: "calm" }).components[0]?.accent_color,
    );
  });

  test("takes the meaning from markup in names", () => {
    const texts = textsOf({
      ...CARD,
      title: "# **bold** [click](https://example.org) <@123> @everyone",
      lists: [{ label: "x", lines: ["``` **out** ````"] }],
    });
    assert.equal(
      texts[0]?.split("\n")[0],
      "### \\# \\*\\*bold\\*\\* \\[click\\](https://example.org) \\<\\@123> \\@everyone",
    );
    assert.equal(texts.at(-1), "**x**\n```\n`\u200b`` **out** `\u200b`\u200b``\n```");
  });

  test("says how many lines it leaves out", () => {
    const lines = Array.from({ length: 500 }, (_, index) => `skill:${index} 100 tokens`);
    const shown = (textsOf({ ...CARD, lists: [{ label: "files", lines }] }).at(-1) ?? "").split("\n");
    const left = lines.length - (shown.length - 4);
    assert.ok(shown.length > 30);
    assert.equal(shown.at(-2), `… and ${left} more`);
  });
});

describe("any card as a box", () => {
  test("keeps all of Discord's limits, whatever stands in it, and passes discord.js's own checks", () => {
    fc.assert(
      fc.property(ANY_CARD, (card) => {
        const drawn = toCard(card);
        const [box, ...others] = drawn.components;
        assert.deepEqual(others, []);
        assert.ok(1 + (box?.components.length ?? 0) <= 40);
        const texts = textsOf(card);
        assert.ok(texts.join("").length <= 4000);
        assert.ok(texts.every((one) => one.trim() !== "" && one.isWellFormed() && !one.includes("\0")));
        const made = JSON.stringify(rebuilt(drawn));
        for (const one of texts) assert.ok(made.includes(JSON.stringify(one)));
        assert.equal(textIn(drawn.components), texts.join("\n"));
      }),
      AS_IT_IS,
    );
  });

  test("leaves nobody's markup in force", () => {
    fc.assert(
      fc.property(ANY_CARD, (card) => {
        for (const text of textsOf(card)) {
          const inBlocks = /```\n(?:(?!```)[^])*\n```/g;
          const outside = text.replaceAll(inBlocks, "").replaceAll(/\\[^\n]/g, "");
          // Our own: a title, and bold labels.
          const own = outside.replace(/^### /, "").replaceAll(/^\*\*([^\n*]*)\*\*/gm, "$1");
          assert.doesNotMatch(own, /[\\`*_~|<[\]@]/);
          assert.doesNotMatch(own, /^(?:#|-|\+|>)[#>]*\s/m);
        }
      }),
      AS_IT_IS,
    );
  });
});
