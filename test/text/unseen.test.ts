import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { escapeUnseen } from "../../src/text/unseen.ts";
import { displayName } from "../../src/text/text.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

/** Tag characters that spell this. */
const tags = (words: string): string =>
  Array.from(words, (letter) => String.fromCodePoint(0xe0000 + letter.charCodeAt(0))).join("");

describe("what nobody sees is escaped for a model", () => {
  const cases: readonly (readonly [what: string, text: string, escaped: string])[] = [
    ["tags", `a${tags("ok")}`, String.raw`a\u{E006F}\u{E006B}`],
    ["an override of direction", "a\u202eb", String.raw`a\u{202E}b`],
    ["an isolate", "\u2066a\u2069", String.raw`\u{2066}a\u{2069}`],
    ["a mark of direction among Latin letters", "a\u200fb", String.raw`a\u{200F}b`],
    ["a space without width", "pass\u200bword", String.raw`pass\u{200B}word`],
    ["a joiner among Latin letters", "a\u200db", String.raw`a\u{200D}b`],
    ["two joiners", "می\u200c\u200cخواهم", String.raw`می\u{200C}\u{200C}خواهم`],
    ["a word joiner", "a\u2060b", String.raw`a\u{2060}b`],
    ["controls", "a\0\u0007\u001b\u007f\u009bb", String.raw`a\u{0}\u{7}\u{1B}\u{7F}\u{9B}b`],
    ["what some readers take for the end of a line", "a\u2028b\u000bc", String.raw`a\u{2028}b\u{B}c`],
    ["fillers", "\u115f\u3164\uffa0", String.raw`\u{115F}\u{3164}\u{FFA0}`],
    ["a blank of Braille", "a\u2800b", String.raw`a\u{2800}b`],
    ["selectors behind a letter", "a\u{e0101}\u{e0142}", String.raw`a\u{E0101}\u{E0142}`],
    ["several selectors behind an emoji", "😀\ufe0f\u{e0101}", String.raw`😀\u{FE0F}\u{E0101}`],
    [
      "tags behind a flag that no region has",
      `🏴${tags("obey")}\u{e007f}`,
      String.raw`🏴\u{E006F}\u{E0062}\u{E0065}\u{E0079}\u{E007F}`,
    ],
    ["private and unassigned characters", "\ue000\u{fffff}\u0378", String.raw`\u{E000}\u{FFFFF}\u{378}`],
    ["half a pair", "a\ud800b", String.raw`a\u{D800}b`],
    ["annotations between lines", "\ufff9a\ufffa", String.raw`\u{FFF9}a\u{FFFA}`],
    ["a byte order mark inside", "a\ufeffb", String.raw`a\u{FEFF}b`],
    ["a flood of marks", `e${"\u0301".repeat(8)}`, `e${"\u0301".repeat(6)}${String.raw`\u{301}\u{301}`}`],
    [
      "a long run, with how much more there is",
      `a${tags("ignore all")}`,
      `${String.raw`a\u{E0069}\u{E0067}\u{E006E}\u{E006F}\u{E0072}\u{E0065}\u{E0020}\u{E0061}`}(and 2 more that nobody sees)`,
    ],
  ];
  for (const [what, text, escaped] of cases) test(what, () => assert.equal(escapeUnseen(text), escaped));
});

describe("what a language or an emoji needs stays", () => {
  const cases: readonly (readonly [what: string, text: string])[] = [
    ["words, tabs and lines", "a\tb\r\nc – “d” m² ½ …"],
    ["accents, also apart from their letters", "é e\u0301 Tie\u0302\u0301ng"],
    ["spaces of all widths", "a\u00a0b\u2009c\u202fd\u3000e"],
    ["joiners in Persian", "می\u200cخواهم"],
    ["joiners in Hindi and at the end of a word in Malayalam", "क\u094d\u200dष ന\u0d4d\u200d ok"],
    ["marks of direction beside Hebrew and Arabic", "שלום!\u200f (a) مرحبا\u061c"],
    ["Hebrew with cantillation", "בְּרֵאשִׁ֖ית"],
    ["signs for numbers and verses in Arabic", "\u0600١٢ \u06dd٣"],
    ["a soft hyphen in a word", "Donau\u00addampf"],
    ["a byte order mark at the beginning", "\ufeffa,b"],
    ["emoji of several parts", "👩\u200d⚕\ufe0f 👨\u200d👩\u200d👧 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 ❤\u200d🔥"],
    ["how an emoji is drawn", "❤\ufe0f ☑\ufe0e 1\ufe0f\u20e3"],
    ["flags", `🇩🇪 🏴${tags("gbsct")}\u{e007f}`],
    ["emoji of later versions", "\u{1fc50}"],
    ["forms of a Chinese character", "葛\u{e0100}飾"],
    ["a Mongolian letter's form", "ᠠ\u180b"],
    ["drawings in Braille", "\u2800\u2800⣿\u2800⣿\u2800"],
    ["old Korean", "\u115f\u1161"],
  ];
  for (const [what, text] of cases) test(what, () => assert.equal(escapeUnseen(text), text));
});

test("what is escaped stays as it is, and no tag or direction is left in it", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 100 }), (text) => {
      const escaped = escapeUnseen(text);
      assert.ok(escaped.isWellFormed());
      assert.doesNotMatch(escaped, /[\u202a-\u202e\u2066-\u2069]/);
      assert.doesNotMatch(escaped.replaceAll(/🏴[\u{e0061}-\u{e007f}]{6}/gu, ""), /[\u{e0000}-\u{e007f}]/u);
    }),
  );
});

test("a name keeps what joins it, and loses what nobody sees", () => {
  assert.equal(displayName("علی\u200cرضا"), "علی\u200cرضا");
  assert.equal(displayName("Dr. 👩\u200d⚕\ufe0f"), "Dr. 👩\u200d⚕\ufe0f");
  assert.equal(displayName(`An\u202en${tags("obey")} B\u00aden`), "An n B en");
  assert.equal(displayName(`Z${"\u0335".repeat(60)}!`), `Z${"\u0335".repeat(6)} !`);
});

test("any text is looked at in short time", () => {
  const pieces = [
    "a\u200b",
    "\u{e0041}",
    "a\u0301",
    "\u0301",
    "\u2800",
    "👩\u200d⚕\ufe0f",
    "می\u200c",
    "\u200f ",
    "日本",
    "\ud800",
  ];
  for (const piece of pieces) {
    const text = piece.repeat(100_000 / piece.length);
    const ms = cpuMs(() => void escapeUnseen(text));
    assert.ok(ms < 1000, `${JSON.stringify(piece)}: ${ms} ms`);
  }
});
