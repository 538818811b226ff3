import assert from "node:assert/strict";
import { test } from "node:test";
import { settledPart, toStreamMarkdown } from "../../../../src/platforms/slack/outbound/stream-markdown.ts";

const NAMES = new Map([
  ["ana", "U1"],
  ["ana maria", "U2"],
  ["bo", null],
]);

const SHOWN: readonly (readonly [string, string])[] = [
  ["# Title\n- **bold** and [a link](https://x.test)", "# Title\n- **bold** and [a link](https://x.test)"],
  ["@Ana, and @ana maria!", "<@U1>, and <@U2>!"],
  ["@bo and @nobody and ana@ana.test", "@bo and @nobody and ana@ana.test"],
  ["`@Ana` and ``a ` @Ana`` and @Ana", "`@Ana` and ``a ` @Ana`` and <@U1>"],
  [
    "<!channel> <@U0BAD> <#C0BAD> <!here|here>",
    "<\u200B!channel> <\u200B@U0BAD> <\u200B#C0BAD> <\u200B!here|here>",
  ],
  [
    "```html\n<!DOCTYPE html>\n<!everyone>\n@Ana\n```",
    "```html\n<!DOCTYPE html>\n<\u200B!everyone>\n@Ana\n```",
  ],
  ["a < b && c > d", "a < b && c > d"],
  ["| a | b |\n|---|---|\n| **1** | 2 |\nend", "```\na | b\n--+--\n1 | 2\n```\nend"],
  ["\uD83D and \u{1F44D}", "\uFFFD and \u{1F44D}"],
];

test("a stream's text is the Markdown as it is, with mentions of people who are known and of nobody else", () => {
  for (const [text, shown] of SHOWN) assert.equal(toStreamMarkdown(text, NAMES), shown, text);
});

test("what is shown of an unfinished text is the beginning of what is shown of the whole", () => {
  const odd = [
    ...SHOWN.map(([text]) => text),
    "Look:\n\n| a | b |\n| - | - |\n| @Ana | `x|y` |\n| 3 | 4 |\n\nand @Ana Maria, or a | b\n| c",
    "~~~\n| a |\n|---|\n<!channel>\n~~~\n@ana\n| a |\n|---|\n",
    "`@Ana and no end\n@Ana <!chan <@ <",
    "a\n```\n@ana maria\n```\n\u{1F468}\u200D\u{1F4BB}@an",
  ];
  for (const text of odd) {
    const whole = toStreamMarkdown(text, NAMES);
    for (let end = 0; end <= text.length; end++) {
      const part = toStreamMarkdown(settledPart(text.slice(0, end), NAMES), NAMES);
      assert.ok(whole.startsWith(part), `${JSON.stringify(text.slice(0, end))} → ${JSON.stringify(part)}`);
    }
  }
});

test("little is held back: all but a table that goes on, and the beginning of a name", () => {
  assert.equal(settledPart("It is seven and", NAMES), "It is seven and");
  assert.equal(settledPart("Ask @an", NAMES), "Ask ");
  assert.equal(settledPart("Ask @nobody", NAMES), "Ask @nobody");
  assert.equal(settledPart("So:\n| a | b |\n|---|---|\n| 1", NAMES), "So:");
  assert.equal(settledPart("```\nlet x", NAMES), "```\nlet x");
});
