// proves: src/platforms/terminal/drawing/inline-marks.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { MarkdownDrawer } from "../../../../src/platforms/terminal/drawing/markdown-drawer.ts";
import { cellWidth, endPosition } from "../../../../src/text/columns.ts";
import { heldBack } from "../../../../src/text/displayable.ts";

interface Drawing {
  readonly width?: number;
  readonly colour?: boolean;
  /** Where the text is cut, in UTF-16 units; default: nowhere. */
  readonly cuts?: readonly number[];
}

/** What a text that comes in pieces looks like. */
function draw(text: string, { width = 40, colour = true, cuts = [] }: Drawing = {}): string {
  const drawer = new MarkdownDrawer(colour);
  let drawn = "";
  let column = 0;
  const show = (more: string): void => {
    drawn += more;
    column = endPosition(column, stripVTControlCharacters(more), width).column;
  };
  let done = 0;
  for (const cut of [...cuts.toSorted((a, b) => a - b), text.length]) {
    const end = cut === text.length ? cut : cut - heldBack(text.slice(0, cut));
    if (end <= done) continue;
    show(drawer.draw(text.slice(done, end), { column, width }));
    done = end;
  }
  show(drawer.end());
  return drawn;
}

function plain(text: string, drawing: Drawing = {}): string {
  return stripVTControlCharacters(draw(text, drawing));
}

// oxlint-disable-next-line no-control-regex -- escape sequences are what is being looked at
const STYLED = /\u001B\[([\d;]*)m([^\u001B]*)\u001B\[0m|[^\u001B]+/g;

/** Escape sequences as `<1>…<0>`; neighbours of one look as one. */
function marked(text: string, drawing: Drawing = {}): string {
  const runs = [...draw(text, drawing).matchAll(STYLED)].map(([whole, style = "", inner = whole]) => ({
    style,
    inner,
  }));
  return runs
    .map(({ style, inner }, index) => {
      const begins = runs[index - 1]?.style === style ? "" : `<${style}>`;
      const ends = runs[index + 1]?.style === style ? "" : "<0>";
      return style === "" ? inner : `${begins}${inner}${ends}`;
    })
    .join("");
}

/** Letters alone: marks and white space are what drawing may change. */
function letters(text: string): string {
  return text.replaceAll(/[^\p{L}]/gu, "");
}

const PIECES = [
  ...Array.from("abcé日本👍"),
  ...Array.from("*_~`[]()#>-+|\\!.1 "),
  "\n",
  "\n\n",
  "\t",
  "**",
  "```",
  "```\n",
  "- ",
  "1. ",
  "> ",
  "## ",
  "](",
  "| ",
  "|-|-|\n",
  "\r\n",
  "  ",
  "\u001B[2J",
  "\u202e",
  "\u200b",
  "\u0301",
  "\ud800",
  "verylongword".repeat(5),
];
const texts = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 60 })
  .map((pieces) => pieces.join(""))
  .chain((text) =>
    fc.record({ text: fc.constant(text), cuts: fc.array(fc.nat(text.length), { maxLength: 20 }) }),
  );
const widths = fc.integer({ min: 20, max: 60 });

const CASES: [what: string, text: string, drawn: string][] = [
  ["emphasis", "a **b** *c* ***d*** ~~e~~ __f__ _g_", "a <1>b<0> <3>c<0> <1;3>d<0> <9>e<0> <1>f<0> <3>g<0>"],
  ["emphasis in emphasis", "**a *b* c** *d **e***", "<1>a <0><1;3>b<0><1> c<0> <3>d <0><3;1>e<0>"],
  ["code", "`a*b*` ``c`d``", "<36>a*b*<0> <36>c`d<0>"],
  [
    "marks that mean nothing",
    "2 * 3 * 4, snake_case_name, a ` b, **",
    "2 * 3 * 4, snake_case_name, a ` b, **",
  ],
  ["escaped marks", String.raw`\*a\* c:\dir`, String.raw`*a* c:\dir`],
  ["a link", "[a *b*](https://x.org/y)", "<4>a <0><4;3>b<0><2> (https://x.org/y)<0>"],
  ["a link that is its address", "[https://x.org](https://x.org)", "<4>https://x.org<0>"],
  ["a heading", "## A `b`", "<1>A <0><1;36>b<0>"],
  ["a list in a list", "- a\n  - b\n1. c", "• a\n  • b\n1. c"],
  ["a quote", "> a\n> b", "<2>│ <0>a\n<2>│ <0>b"],
  ["a line between parts", "a\n\n---\nb", `a\n\n<2>${"─".repeat(24)}<0>\nb`],
  [
    "a code block",
    "a\n```ts\n  **b** | c\n```\nd",
    `a\n<2>── ts ${"─".repeat(18)}<0>\n<36>  **b** | c<0>\n<2>${"─".repeat(24)}<0>\nd`,
  ],
  ["a table", "| a | **b** |\n|---|---|\n| 日本 | c |\nd", "<1>a     b<0>\n<2>----  ---<0>\n日本  c\nd"],
  ["what only begins as a table", "| a\n| *b*", "| a\n| <3>b<0>"],
];
describe("a drawn answer", () => {
  for (const [what, text, drawn] of CASES) {
    test(`has ${what}, however it comes`, () => {
      const everywhere = Array.from({ length: text.length }, (_, index) => index);
      assert.equal(marked(text), drawn);
      assert.equal(marked(text, { cuts: everywhere }), drawn);
    });
  }

  test("has further rows of a list and of a quote below their words", () => {
    const text = "- one two three four\n> five six seven eight";
    assert.equal(plain(text, { width: 15 }), "• one two three\n  four\n│ five six\n│ seven eight");
  });

  test("breaks between the characters of a script without spaces, and never in front of a full stop", () => {
    assert.equal(plain("日本語日本。語", { width: 10 }), "日本語日\n本。語");
  });

  test("has a table that is too wide as a list", () => {
    assert.equal(
      plain("| name | what it does |\n|-|-|\n| weir | keeps the level |\n| dam | stops it |", { width: 20 }),
      "name: weir\nwhat it does: keeps\nthe level\n\nname: dam\nwhat it does: stops\nit",
    );
  });

  test("keeps its marks where there is no colour, and nothing else that a terminal obeys", () => {
    const text = "## A **b** `c`\n- [d](e)\n> f\n\u001B[31mg\u009B";
    assert.equal(draw(text, { colour: false }), "## A **b** `c`\n- [d](e)\n> f\n␛[31mg\uFFFD");
  });
});

describe("an answer that is drawn while it comes", () => {
  test("goes on below what others wrote in the middle of a row", () => {
    const drawer = new MarkdownDrawer(true);
    const first = drawer.draw("- one two thr", { column: 8, width: 20 });
    assert.equal(stripVTControlCharacters(first), "\n• one two");
    drawer.restart();
    assert.equal(drawer.draw("ee four\nfive ", { column: 2, width: 20 }), "three four\nfive");
    // The terminal was made wider or narrower, and what was written stands in rows that nobody knows.
    assert.equal(drawer.draw("six seven ", { column: 0, width: 20 }), "six seven");
  });

  test("holds back a word, a mark, and no more", () => {
    const drawer = new MarkdownDrawer(true);
    const place = { column: 0, width: 40 };
    assert.equal(drawer.draw("One tw", place), "One");
    assert.equal(drawer.draw("o **thr", { ...place, column: 3 }), " two");
    assert.equal(drawer.draw("ee** f", { ...place, column: 7 }), " \u001B[1mthree\u001B[0m");
    assert.equal(drawer.end(), " f");
    const long = `**${"word ".repeat(100)}`;
    assert.match(new MarkdownDrawer(true).draw(long, place), /^\*\*word word/);
  });

  test("loses no letter, wherever it is cut, and looks as if it had come whole", () => {
    fc.assert(
      fc.property(texts, widths, fc.boolean(), ({ text, cuts }, width, colour) => {
        const whole = draw(text, { width, colour });
        const drawn = marked(text, { width, colour, cuts });
        assert.equal(drawn, marked(text, { width, colour }));
        // A table that is too narrow for its columns repeats its head.
        if (!/-\|/.test(text))
          assert.equal(letters(stripVTControlCharacters(whole)), letters(text.toWellFormed()));
      }),
      { numRuns: 1000 },
    );
  });

  test("has no row that is wider than the terminal, but for code", () => {
    fc.assert(
      fc.property(texts, widths, ({ text }, width) => {
        fc.pre(!/```|~~~/.test(text));
        for (const row of plain(text, { width }).split("\n"))
          assert.ok(cellWidth(row) <= Math.max(width, 24), row);
      }),
      { numRuns: 1000 },
    );
  });
});
