import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { splitText } from "../../../../src/text/split-message.ts";
import { piecesOf } from "../../../../src/platforms/discord/outbound/code.ts";
import { readableText } from "../../../../src/platforms/discord/inbound/readable-text.ts";
import { MAX_CONTENT_LENGTH, toDiscord } from "../../../../src/platforms/discord/outbound/content.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { anyCharacter } from "../../../support/any-character.ts";

const NAMES = new Map<string, string | null>([
  ["ann", "1"],
  ["ann lee", "2"],
  ["sam", null],
  ["zoë", "3"],
]);

const TABLE = ["| name | grams |", "|:--|--:|", "| **flour** | 500 |", "| `salt` | 9 |"];
const DRAWN = ["```", "name   grams", "-----  -----", "flour  500", "salt   9", "```"];

for (const [what, text, expected, users] of [
  ["what Discord draws alike stays", "# a\n## b\n- c **d** _e_ ||f|| [g](https://h)", null, []],
  ["a deep heading becomes bold", "#### Deep **er** ##", "**Deep er**", []],
  [
    "a picture becomes a link",
    "![a map](https://x/y.png) ![](https://z)",
    "[a map](https://x/y.png) https://z",
    [],
  ],
  [
    "a table becomes a code block",
    ["So:", ...TABLE, "Done."].join("\n"),
    ["So:", ...DRAWN, "Done."].join("\n"),
    [],
  ],
  ["a table in a code block stays", ["```", ...TABLE, "```"].join("\n"), null, []],
  ["a lone bar is no table", "a | b\nc | d", null, []],
  ["a rule is no table", "words\n---\nmore", null, []],
  ["a known name is mentioned", "hi @Ann.", "hi <@1>.", ["1"]],
  ["the longest name counts", "@ann lee, @ann leeds", "<@2>, <@1> leeds", ["2", "1"]],
  ["letters go on", "@annabel", null, []],
  ["a name that two people have is no mention", "@Sam", null, []],
  ["an address is no mention", "x@ann.org <@ann> @@ann", null, []],
  [
    "neither is one of a page, and what follows it may be",
    "https://medium.com/@ann/why [x](HTTP://x.org/@ann) @ann",
    "https://medium.com/@ann/why [x](HTTP://x.org/@ann) <@1>",
    ["1"],
  ],
  ["a package is nobody", "npm i @ann/node, @zoë/x", null, []],
  ["letters beyond ASCII count", "@Zoë, @Zoëx", "<@3>, @Zoëx", ["3"]],
  ["code mentions nobody", "`@ann` ```\n@ann @everyone\n```", null, []],
  ["everybody is nobody", "@everyone @here @HERE", "@\u200Beveryone @\u200Bhere @\u200BHERE", []],
  ["names of emoji become emoji", "done :tada: :+1::skin-tone-4: :no_such:", "done 🎉 👍🏽 :no_such:", []],
  [
    "a time, an address, code and an emoji's own form have none",
    "10:100:3 http://x/:tada:/ `:tada:` <:tada:5> <a:tada:6>",
    null,
    [],
  ],
  ["NUL and half pairs are made whole", "a\0b\uD83D", "a\uFFFDb\uFFFD", []],
] as const) {
  test(what, () => {
    assert.deepEqual(toDiscord(text, NAMES), { content: expected ?? text, users });
  });
}

test("what does not fit converted goes as it was, and what is too long is cut", () => {
  const table = [
    "|a|b|",
    "|-|-|",
    ...Array.from({ length: 30 }, () => `|${"x".repeat(40)}|y|`),
    `|${"w".repeat(60)}|z|`,
  ];
  const text = table.join("\n");
  assert.ok(text.length <= 1900);
  assert.deepEqual(toDiscord(text), { content: text, users: [] });
  const many = `${"@ann ".repeat(300)}@everyone`;
  const { content, users } = toDiscord(many, new Map([["ann", "1234567890123456789"]]));
  assert.ok(content.startsWith("@ann @ann") && !content.includes("@everyone"));
  assert.deepEqual(users, []);
  assert.equal(toDiscord("x".repeat(5000)).content.length, MAX_CONTENT_LENGTH);
});

const word = fc.constantFrom(
  "@everyone",
  "@here",
  "@ann",
  "@ann lee",
  "`",
  "```",
  "\n",
  "| a | b |\n|-|-|\n",
  "#### h",
  "<@1>",
  "![x](https://y)",
  " ",
  "é",
  "😀",
  "\uD83D",
  "words",
);
const markdown = fc
  .array(fc.oneof(word, fc.string({ unit: anyCharacter })), { maxLength: 40 })
  .map((all) => all.join(""));

test("whatever comes, it fits, no mass mention is left, and only known people are mentioned", () => {
  fc.assert(
    fc.property(markdown, (text) => {
      const { content, users } = toDiscord(text, NAMES);
      assert.ok(content.length <= MAX_CONTENT_LENGTH);
      assert.ok(content.isWellFormed());
      const outside = piecesOf(content).filter(({ isCode }) => !isCode);
      assert.ok(outside.every(({ text: piece }) => !/@(?:everyone|here)/i.test(piece)));
      assert.ok(users.every((id) => ["1", "2", "3"].includes(id) && content.includes(`<@${id}>`)));
    }),
  );
});

test("a table behind a block of code keeps fences of its own", () => {
  const { content } = toDiscord("```@everyone```@everyone| a | b |\n|-|-|\n");
  const outside = piecesOf(content).filter(({ isCode }) => !isCode);
  assert.doesNotMatch(outside.map(({ text }) => text).join(""), /@everyone/);
});

test("the pieces of a text are the text", () => {
  fc.assert(
    fc.property(markdown, (text) =>
      assert.equal(
        piecesOf(text)
          .map((piece) => piece.text)
          .join(""),
        text,
      ),
    ),
  );
});

test("plain words come back as they were sent", () => {
  const plain = fc.string({ unit: "grapheme" }).filter((text) => !/[<@|#!\0`*_~\\]/.test(text));
  const nobody = { person: () => undefined, channel: () => undefined, role: () => undefined };
  fc.assert(
    fc.property(plain, (text) =>
      assert.equal(readableText(toDiscord(text, NAMES).content, nobody), text.toWellFormed()),
    ),
  );
});

test("each part of a long text fits as it is sent", () => {
  fc.assert(
    fc.property(fc.array(markdown, { minLength: 20, maxLength: 60 }), (texts) => {
      for (const part of splitText(texts.join("\n"), 1900)) {
        const { content } = toDiscord(part, NAMES);
        assert.ok(content.length <= MAX_CONTENT_LENGTH);
      }
    }),
    { numRuns: 30 },
  );
});

test("it takes time in line with the length of a text", () => {
  const texts = [
    "`".repeat(1900),
    "@ann".repeat(400),
    "``` `` ` ".repeat(200),
    "@ ".repeat(900),
    "|".repeat(1900),
    `#### a${" ".repeat(1800)}x`,
    `|a|\n${" ".repeat(900)}-${" ".repeat(900)}|x`,
    `#### ${"# ".repeat(900)}\u2028`,
  ];
  const ms = cpuMs(() => {
    for (const text of texts) for (let index = 0; index < 20; index++) toDiscord(text, NAMES);
  });
  assert.ok(ms < 1000, `${ms} ms`);
});
