// proves: src/platforms/slack/inbound/readable-text.ts, src/platforms/slack/outbound/emoji.ts, src/platforms/slack/outbound/mrkdwn.ts, src/platforms/slack/outbound/mrkdwn-inline.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { emojiName, shownEmoji } from "../../../src/platforms/slack/outbound/emoji.ts";
import { readableText, unescapeText } from "../../../src/platforms/slack/inbound/readable-text.ts";
import { fitMrkdwn, toMrkdwn } from "../../../src/platforms/slack/outbound/mrkdwn.ts";
import { escapeText } from "../../support/slack/world.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const NAMES = {
  people: new Map([["U1", "Ana"]]),
  channels: new Map([["C1", "general"]]),
  groups: new Map([["S1", "crew"]]),
};

const INBOUND: Readonly<Record<string, string>> = {
  "plain :smile:": "plain :smile:",
  "a &lt; b &amp;&amp; c &gt; d": "a < b && c > d",
  "&amp;lt;": "&lt;",
  "<@U1> and <@U2> and <@U3|zoe>": "@Ana and @U2 and @zoe",
  "<#C1> <#C1|> <#C2|ops>": "#general #general #ops",
  "<!here> <!channel> <!everyone>": "@here @channel @everyone",
  "<!subteam^S1> <!subteam^S2|@ops>": "@crew @ops",
  "<!date^1392734382^{date_short}|Feb 18>": "Feb 18",
  "<!date^0^{date}>": "1970-01-01T00:00:00.000Z",
  "<https://a.test/?x=1&amp;y=2>": "https://a.test/?x=1&y=2",
  "<https://a.test|a.test> <http://README.md|README.md>": "a.test README.md",
  "<https://a.test|the page>": "[the page](https://a.test)",
  "<mailto:a@b.test|a@b.test>": "a@b.test",
  "1 <2": "1 <2",
};

const OUTBOUND: Readonly<Record<string, string>> = {
  "**bold** and *it* and _it_ and ~~gone~~": "*bold* and _it_ and _it_ and ~gone~",
  "***both*** __bold__": "*_both_* *bold*",
  "**bold with *it* inside**": "*bold with _it_ inside*",
  "snake_case_name and 2 * 3 * 4": "snake_case_name and 2 * 3 * 4",
  "area = 5*x, volume = 3*y": "area = 5*x, volume = 3*y",
  "これは**重要**です、「*斜体*」": "これは\u200B*重要*\u200Bです、「\u200B_斜体_\u200B」",
  "un**believ**able a`b`c": "un\u200B*believ*\u200Bable a\u200B`b`\u200Bc",
  "(**bold**), ~~gone~~!": "(*bold*), ~gone~!",
  "(~2000 lines) and (~5000 lines), ~~gone~~": "(∼2000 lines) and (∼5000 lines), ~gone~",
  "about ~5": "about ~5",
  "`a < b` and ``x`y``": "`a &lt; b` and `xˋy`",
  "`**not bold**`": "`**not bold**`",
  "[page](https://a.test/x_y_z?a=1&b=2)": "<https://a.test/x_y_z?a=1&amp;b=2|page>",
  "![cat](https://a.test/c.png)": "<https://a.test/c.png|cat>",
  "<https://a.test>": "<https://a.test>",
  "see https://a.test/x_y_z_w?a=1&b=2 ok": "see https://a.test/x_y_z_w?a=1&amp;b=2 ok",
  "[x](javascript:alert(1))": "[x](javascript:alert(1))",
  "[x](!channel)": "[x](!channel)",
  "# Title": "*Title*",
  "### The **bold** one ##": "*The bold one*",
  "- one\n* two\n  + three": "• one\n• two\n  • three",
  "- [ ] open\n- [x] done": "☐ open\n☑ done",
  "1. one": "1. one",
  "> quoted **word**": "> quoted *word*",
  "---": "---",
  "\\*not\\* it and \\_not\\_": "\u2217not\u2217 it and \u02CDnot\u02CD",
  "`*.ts` and \\* and 2 \\* 3": "`*.ts` and * and 2 * 3",
  "_it_ and snake_case": "_it_ and snake_case",
  "<!channel> <!here> <@U9>": "&lt;!channel&gt; &lt;!here&gt; &lt;@U9&gt;",
  "@Ana: hi @ana, @Anabel @nobody": "<@U1>: hi <@U1>, @Anabel @nobody",
  "`@Ana` x@Ana": "`@Ana` x@Ana",
  "npm i @ana/node https://a.test/@ana/x @ana": "npm i @ana/node https://a.test/@ana/x <@U1>",
  "```ts\nconst a = b < c && **d**;\n```": "```\nconst a = b &lt; c &amp;&amp; **d**;\n```",
  "~~~~\n```\n~~~~": "```\n``\u200B`\n```",
  "```\nnever closed": "```\nnever closed\n```",
  "| a | b |\n|---|:-:|\n| **1** | x\\|y |\n| long one | 2 |\nend":
    "```\na        | b\n---------+----\n1        | x|y\nlong one | 2\n```\nend",
};

/** What the properties build texts of. */
const MARKUP = [
  "<!channel> <!here|x> <@U9> <#C1> <!subteam^S1> [a]( ](<!here>) ``` ` ** * _ ~~ | |-| @Ana @here @channel".split(
    " ",
  ),
  "https://a.test/ <https:// mailto: ( ) [ ] \\ &lt;!here&gt; word < > & !".split(" "),
  ["\n", "# ", "> ", "- ", "\uD83D", " "],
].flat();

describe("what people wrote, made readable", () => {
  for (const [raw, readable] of Object.entries(INBOUND))
    test(raw, () => assert.equal(readableText(raw, NAMES), readable));

  test("any text that was escaped comes back as it was, with its mentions or without", () => {
    const text = fc.oneof(fc.string({ unit: "grapheme" }), fc.string());
    fc.assert(fc.property(text, (said) => assert.equal(readableText(escapeText(said), NAMES), said)));
  });

  test("nothing makes it throw, or leaves half a character", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "|",
      "@",
      "#",
      "!",
      "^",
      "&lt;",
      "U1",
      "subteam",
      "date",
      "\uD83D",
      "x",
    );
    const texts = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    fc.assert(fc.property(texts, (raw) => assert.ok(readableText(raw, NAMES).isWellFormed())));
  });
});

describe("what the agent wrote, as Slack's markup", () => {
  const people = new Map([["ana", "U1"]]);
  for (const [markdown, mrkdwn] of Object.entries(OUTBOUND))
    test(markdown, () => assert.equal(toMrkdwn(markdown, people), mrkdwn));

  const piece = fc.oneof(fc.constantFrom(...MARKUP), fc.string({ maxLength: 5 }));
  const texts = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""));

  test("no text calls a channel, or somebody who was not met", () => {
    fc.assert(
      fc.property(texts, (markdown) => {
        for (const shown of [toMrkdwn(markdown, people), fitMrkdwn(markdown, people, 20)]) {
          const entities = Array.from(shown.matchAll(/<([^>]*)/g), ([, inner = ""]) => inner);
          const isHarmless = (inner: string): boolean =>
            inner === "@U1" || /^(?:https?:\/\/|mailto:)/i.test(inner);
          assert.deepEqual(
            entities.filter((inner) => !isHarmless(inner)),
            [],
          );
          assert.ok(shown.isWellFormed());
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("text without markup stays as it is", () => {
    const plain = fc.array(
      fc.constantFrom("word", "a<b", "x&y", "5 > 4", "é", "日本", "\n", " ", "don't", ", ", "."),
    );
    fc.assert(
      fc.property(
        plain.map((words) => `a${words.join("")}`),
        (text) => {
          // A line that begins with `>` is a quote.
          fc.pre(!/^\s*>/m.test(text));
          assert.equal(unescapeText(toMrkdwn(text, new Map())), text);
        },
      ),
    );
  });

  test("it always fits", () => {
    for (const text of [
      "&".repeat(3000),
      "<!channel>".repeat(300),
      "**a** ".repeat(500),
      "@Ana ".repeat(600),
    ])
      assert.ok(fitMrkdwn(text, people, 4000).length <= 4000);
  });

  test("what would take long does not", () => {
    const slow = [
      "*".repeat(3000),
      "[".repeat(3000),
      "`a".repeat(1500),
      "**a".repeat(1000),
      "_a ".repeat(1000),
      "[a](".repeat(750),
      `# a${" ".repeat(3000)}b`,
      `# ${"# ".repeat(1500)}b`,
    ];
    const ms = cpuMs(() => {
      for (const text of slow) toMrkdwn(text, people);
    });
    assert.ok(ms < 1000, `${ms} ms`);
  });
});

test("emoji have their names, both ways", () => {
  assert.deepEqual(
    ["👍", "❤️", "❤", ":shipit:", "tada", "🦩", "👍🏽", "1️⃣", "🇯🇵", "👨‍💻", "\u{10FFFF}"].map(emojiName),
    [
      "+1",
      "heart",
      "heart",
      "shipit",
      "tada",
      "flamingo",
      "+1::skin-tone-4",
      "one",
      "jp",
      "male-technologist",
      null,
    ],
  );
  assert.deepEqual(
    [
      "+1",
      "thumbsup",
      "wave::skin-tone-2",
      "shipit",
      "saluting_face",
      "flag-jp",
      "male-technologist::skin-tone-3",
      "two_men_holding_hands::skin-tone-2::skin-tone-3",
    ].map(shownEmoji),
    ["👍", "👍", "👋🏻", ":shipit:", "🫡", "🇯🇵", "👨🏼‍💻", "👨🏻‍🤝‍👨🏼"],
  );
});
