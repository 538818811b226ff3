import { createRandom } from "./conversation.ts";

/** Noise of one kind, the same in every run. */
export interface Noise {
  readonly name: string;
  readonly text: string;
}

const ASCII_SIGNS = Array.from("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
const LETTERS = Array.from("abcdefghijklmnopqrstuvwxyz");
const CAPITALS = LETTERS.map((letter) => letter.toUpperCase());
const DIGITS = Array.from("0123456789");
const ZERO_WIDTH = ["\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\ufeff", "\u00ad"];
/** Repeated characters that people type as lines or spacers. */
const REPEATED = [
  ...ASCII_SIGNS,
  ...Array.from(" \n\t\r\0\u00a0\u3000…—•·°€█─═☆★♥あ가中हกعяaAzZé0"),
  ...Array.from("\ue000\u0301\u200b\u200d\ufe0f\ufffd\ud83d"),
  "😂",
  "🇩🇪",
  "❤️",
  "\u{e0061}",
];

/** Unicode blocks, from which each character is drawn with equal probability. */
const BLOCKS: readonly (readonly [name: string, from: number, to: number])[] = [
  ["ASCII", 0x20, 0x7e],
  ["Latin-1 bytes", 0x00, 0xff],
  ["Latin letters with accents", 0xc0, 0x24f],
  ["combining marks", 0x300, 0x36f],
  ["Greek and Cyrillic letters", 0x391, 0x4ff],
  ["Hebrew letters", 0x5d0, 0x5ea],
  ["Arabic letters", 0x621, 0x64a],
  ["Devanagari", 0x904, 0x94d],
  ["Thai", 0xe01, 0xe4e],
  ["Ethiopic", 0x1200, 0x135a],
  ["Cherokee", 0x13a0, 0x13f4],
  ["arrows and mathematics", 0x2190, 0x22ff],
  ["boxes and shapes", 0x2500, 0x25ff],
  ["dingbats", 0x2600, 0x27bf],
  ["kana", 0x3041, 0x30fe],
  ["Chinese characters", 0x4e00, 0x9fff],
  ["Korean syllables", 0xac00, 0xd7a3],
  ["private use", 0xe000, 0xf8ff],
  ["full-width forms", 0xff01, 0xff5e],
  ["any of the first plane", 0x20, 0xd7ff],
  ["mathematical letters", 0x1d400, 0x1d6a3],
  ["emoji", 0x1f300, 0x1f64f],
  ["any plane", 0x10000, 0x10fffd],
];

/** Texts of this length that no person writes, but that channels may get: estimates must be nearly right for them, too. */
export function noise(length: number, seed = 1): Noise[] {
  const random = createRandom(seed);
  const pick = (of: readonly string[]): string => of[Math.floor(random() * of.length)] ?? "";
  const fill = (piece: () => string): string => {
    let text = "";
    while (text.length < length) text += piece();
    return text.slice(0, length);
  };
  const word = (of: readonly string[], letters: number): string =>
    Array.from({ length: letters }, () => pick(of)).join("");
  const repeated = REPEATED.map((sign) => ({
    name: `${JSON.stringify(sign)} repeated`,
    text: fill(() => sign),
  }));
  const pairs = Array.from({ length: 40 }, () => pick(ASCII_SIGNS) + pick(ASCII_SIGNS)).map((pair) => ({
    name: `${pair} repeated`,
    text: fill(() => pair),
  }));
  const blocks = BLOCKS.map(([name, from, to]) => ({
    name: `${name}, at random`,
    text: fill(() => String.fromCodePoint(from + Math.floor(random() * (to - from + 1)))),
  }));
  return [
    ...repeated,
    ...pairs,
    ...blocks,
    { name: "signs, at random", text: fill(() => pick(ASCII_SIGNS)) },
    { name: "words of signs", text: fill(() => `${word(ASCII_SIGNS, 4)} `) },
    { name: "zero-width, at random", text: fill(() => pick(ZERO_WIDTH)) },
    { name: "zero-width between letters", text: fill(() => pick(LETTERS) + pick(ZERO_WIDTH)) },
    { name: "letters with marks", text: fill(() => pick(LETTERS) + word(["\u0301", "\u0327", "\u0335"], 3)) },
    { name: "a word without end", text: fill(() => pick(LETTERS)) },
    { name: "capitals without end", text: fill(() => pick(CAPITALS)) },
    { name: "capitals and letters in turn", text: fill(() => pick(CAPITALS) + pick(LETTERS)) },
    { name: "words of ten letters", text: fill(() => `${word(LETTERS, 10)} `) },
    { name: "words of ten capitals", text: fill(() => `${word(CAPITALS, 10)} `) },
    { name: "single letters", text: fill(() => `${pick(LETTERS)} `) },
    { name: "digits without end", text: fill(() => pick(DIGITS)) },
    { name: "single digits", text: fill(() => `${pick(DIGITS)} `) },
    { name: "letters and digits in turn", text: fill(() => pick(LETTERS) + pick(DIGITS)) },
    { name: "white space, at random", text: fill(() => pick([" ", "\n", "\t"])) },
    { name: "a word a line, far indented", text: fill(() => `\n${" ".repeat(40)}${pick(LETTERS)}`) },
  ];
}
