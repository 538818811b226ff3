import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { toEmbed } from "../../../../src/platforms/discord/outbound/card.ts";
import { ANY_CARD, AS_IT_IS, CARD } from "../../cards.ts";

describe("a card as an embed", () => {
  test("has the bar with the marks on its scale, the facts side by side, and the lists below them", () => {
    const { title, description, color, fields } = toEmbed(CARD);
    assert.equal(title, "#river-watch · agent weir · model some-model");
    assert.equal(
      description,
      [
        "```",
        `${"█".repeat(26)}░░░░`,
        `${" ".repeat(24)}▲▲  ▲`,
        "```",
        "▲ background 80 % · ▲ aggressive 85 % · ▲ emergency 95 %",
      ].join("\n"),
    );
    assert.notEqual(color, toEmbed({ ...CARD, tone: "calm" }).color);
    assert.deepEqual(fields, [
      { name: "window", value: "16,000, of which 4,096 are kept for the answer", inline: true },
      { name: "compactions so far", value: "3 background, 1 aggressive", inline: true },
      { name: "cost by type", value: "```\nhistory 9,210\nsystem 640\n```", inline: false },
    ]);
  });

  test("takes the meaning from markup in names", () => {
    const { title, fields } = toEmbed({
      ...CARD,
      title: "# **bold** [click](https://example.org) <@123> @everyone",
      lists: [{ label: "x", lines: ["``` **out** ````"] }],
    });
    assert.equal(title, "\\# \\*\\*bold\\*\\* \\[click\\](https://example.org) \\<\\@123> \\@everyone");
    assert.equal(fields.at(-1)?.value, "```\n`\u200b`` **out** `\u200b`\u200b``\n```");
  });

  test("says how many lines it leaves out", () => {
    const lines = Array.from({ length: 500 }, (_, index) => `skill:${index} 100 tokens`);
    const { fields } = toEmbed({ ...CARD, lists: [{ label: "files", lines }] });
    const shown = (fields.at(-1)?.value ?? "").split("\n");
    const left = lines.length - (shown.length - 3);
    assert.ok(shown.length > 30);
    assert.equal(shown.at(-2), `… and ${left} more`);
  });
});

describe("any card as an embed", () => {
  test("has at most 25 fields", () => {
    const fields = Array.from({ length: 40 }, (_, index) => ({ label: `${index}`, value: "x" }));
    assert.equal(toEmbed({ ...CARD, fields }).fields.length, 25);
  });

  test("keeps all of Discord's limits, whatever stands in it", () => {
    fc.assert(
      fc.property(ANY_CARD, (card) => {
        const { title, description, fields } = toEmbed(card);
        assert.ok(title.length <= 256 && title.trim() !== "");
        assert.ok(description.length <= 4096);
        assert.ok(fields.length <= 25);
        for (const { name, value } of fields) {
          assert.ok(name.length <= 256 && name.trim() !== "");
          assert.ok(value.length <= 1024 && value.trim() !== "");
        }
        const parts = [title, description, ...fields.flatMap(({ name, value }) => [name, value])];
        assert.ok(parts.join("").length <= 6000);
        assert.ok(parts.every((part) => part.isWellFormed() && !part.includes("\0")));
      }),
      AS_IT_IS,
    );
  });

  test("leaves nobody's markup in force", () => {
    fc.assert(
      fc.property(ANY_CARD, (card) => {
        const { title, fields } = toEmbed(card);
        const words = [title, ...fields.map(({ name }) => name)];
        const values = fields.filter(({ inline }) => inline).map(({ value }) => value);
        for (const part of [...words, ...values])
          assert.doesNotMatch(part.replaceAll(/\\[^\n]/g, ""), /[\\`*_~|<[\]@\n]/);
        for (const { value } of fields.filter(({ inline }) => !inline))
          assert.match(value, /^```\n(?:(?!```)[^])*\n```$/);
      }),
      AS_IT_IS,
    );
  });
});
