import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { sliceVisible, visible, visibleString, weightOf } from "../../src/text/visible.ts";
import { cpuMs } from "../support/cpu-time.ts";

describe("for who decides, is escaped", () => {
  const cases: readonly (readonly [what: string, text: string, shown: string])[] = [
    ["a Cyrillic letter in a Latin word", "p\u0430ypal", String.raw`p\u{430}ypal`],
    ["a Latin letter in a Cyrillic word", "приx", String.raw`при\u{78}`],
    ["a Greek letter in a Latin word", "g\u03bf", String.raw`g\u{3BF}`],
    [
      "an address of letters that all look like Latin ones",
      "\u0430\u0440\u0440\u04cf\u0435.com",
      String.raw`\u{430}\u{440}\u{440}\u{4CF}\u{435}.com`,
    ],
    [
      "the same beside other Cyrillic words",
      "Для \u0441\u043e\u0440.com",
      String.raw`Для \u{441}\u{43E}\u{440}.com`,
    ],
    ["Latin of full width", "\uff50\uff41y", String.raw`\u{FF50}\u{FF41}y`],
    ["signs of full width in a path", "\uff0fetc", String.raw`\u{FF0F}etc`],
    ["mathematical letters and digits", "\u{1d429}\u{1d7cf}", String.raw`\u{1D429}\u{1D7CF}`],
    ["a digit of another script", "1\u09ea", String.raw`1\u{9EA}`],
    ["spaces that are none", "a\u00a0b\u3000c\u2009d", String.raw`a\u{A0}b\u{3000}c\u{2009}d`],
    ["tabs and ends of lines", "a\tb\r\n", String.raw`a\u{9}b\u{D}\u{A}`],
    ["joiners, also where a language needs them", "می\u200cخ", String.raw`می\u{200C}خ`],
    ["a soft hyphen", "co\u00adop", String.raw`co\u{AD}op`],
    ["tags", "a\u{e0041}", String.raw`a\u{E0041}`],
    ["directions", "\u202ea\u2067\u200e", String.raw`\u{202E}a\u{2067}\u{200E}`],
    ["a selector behind a letter", "a\ufe0f", String.raw`a\u{FE0F}`],
    [
      "halves of pairs, private and unassigned characters",
      "\udc00\ue000\u0378",
      String.raw`\u{DC00}\u{E000}\u{378}`,
    ],
    ["fillers and blanks", "\u115f\u17b4\u3164\u2800", String.raw`\u{115F}\u{17B4}\u{3164}\u{2800}`],
    ["a mark on no letter", "a = \u0338b", String.raw`a = \u{338}b`],
    [
      "the same mark again, and the fifth",
      "a\u0301\u0301\u0302\u0303\u0304\u0305",
      `a\u0301${String.raw`\u{301}`}\u0302\u0303${String.raw`\u{304}\u{305}`}`,
    ],
    ["a mark that goes round", "a\u20dd", String.raw`a\u{20DD}`],
  ];
  for (const [what, text, shown] of cases) test(what, () => assert.equal(visible(text), shown));
});

describe("for who decides, stays as it is", () => {
  const cases: readonly (readonly [what: string, text: string])[] = [
    ["English, and a path", "rm -rf /srv/notes_2026-11 && echo done"],
    ["European words", "naïve Straße Ångström Łódź İstanbul e\u0301"],
    ["small letters and digits above a line", "m² 1ª 2º XIXᵉ ① ½"],
    ["Vietnamese", "Tiếng Việt"],
    ["Russian, and a file of it", "Отправь отчёт_v2.pdf сегодня"],
    ["Greek", "Καλημέρα κόσμε"],
    ["Hebrew and Arabic", "שלום עולם, مرحبا ٢٠٢٦"],
    ["Hindi and Thai", "नमस्ते สวัสดี"],
    ["Japanese with Latin, and its digits and signs", "東京のABCテストです（１２月）！"],
    ["Korean and Chinese", "한국어ABC 中文，你好"],
    ["emoji", "👩\u200d⚕\ufe0f ❤\ufe0f 1\ufe0f\u20e3 🇩🇪 👍🏽"],
  ];
  for (const [what, text] of cases) test(what, () => assert.equal(visible(text), text));
});

test("a string of JSON feigns no escape, and says each line's end", () => {
  assert.equal(visibleString('a"\\u{430}\n\t\r'), String.raw`"a\"\\u{430}\n\t\r"`);
  assert.equal(visibleString("p\u0430y\n\\"), String.raw`"p\u{430}y\n\\"`);
});

test("two texts are never shown alike", () => {
  const unit = fc.constantFrom(
    "\\",
    "u",
    "{",
    "}",
    "4",
    "3",
    "0",
    "\u0430",
    "a",
    "\u202e",
    '"',
    "n",
    "\n",
    "\u0301",
  );
  const text = fc.string({ unit, maxLength: 12 });
  fc.assert(
    fc.property(text, text, (one, other) => {
      assert.equal(visibleString(one) === visibleString(other), one === other);
    }),
  );
});

test("is cut between escapes, by what it takes on a platform", () => {
  assert.equal(sliceVisible(String.raw`ab\u{202E}c`, 9), "ab");
  assert.equal(sliceVisible(String.raw`ab\u{202E}c`, 10), String.raw`ab\u{202E}`);
  assert.equal(weightOf("a<&b"), 12);
  assert.equal(sliceVisible("a<&b", 6), "a<");
});

test("any text is shown in short time", () => {
  const pieces = [
    "a\u200b",
    "\u{e0041}",
    "a\u0301",
    "\u0301",
    "👩\u200d",
    "\u0430a",
    "\u0430",
    "日本",
    "\ud800",
    "#\ufe0f",
    "\\",
    "`",
  ];
  for (const piece of pieces) {
    const text = piece.repeat(100_000 / piece.length);
    const ms = cpuMs(() => void visibleString(text));
    assert.ok(ms < 2000, `${JSON.stringify(piece)}: ${ms} ms`);
  }
});
