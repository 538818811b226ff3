import { once } from "../core/once.ts";
import { escaped } from "./unseen.ts";

/**
 * A text for a person's decision: everything in it is visible, and nothing looks like something else. Escaped as
 * `\u{202E}` are
 *
 * - invisible characters, and special characters that look like a space;
 * - excessive marks, and marks without a letter;
 * - in a word, the letters of another script than most of it has: `p\u{430}ypal`. Latin beside Chinese, Japanese or
 *   Korean is one script;
 * - variants of ASCII's letters, digits and signs, such as mathematical and full-width ones;
 * - Cyrillic and Greek letters that look like Latin ones, in a text without others of their script.
 *
 * Emoji stay, and so do words of one language. Pure, in linear time.
 */
export function visible(text: string): string {
  return PLAIN.test(text) ? text : marksOf(text).write(escaped);
}

/** The same as a JSON string, in which no escape can be imitated: a backslash is doubled. */
export function visibleString(text: string): string {
  const written = (character: string): string => IN_STRING.get(character) ?? escaped(character);
  const quoted = (piece: string): string => piece.replaceAll(/["\\]/g, String.raw`\$&`);
  return `"${PLAIN.test(text) ? quoted(text) : marksOf(text).write(written, quoted)}"`;
}

/** The beginning of a visible text up to this weight, without a cut escape. */
export function sliceVisible(text: string, limit: number): string {
  let weight = 0;
  let end = 0;
  for (const [part] of text.matchAll(PART)) {
    weight += weightOf(part);
    if (weight > limit) break;
    end += part.length;
  }
  return text.slice(0, end);
}

/** UTF-16 units of a text on a platform that escapes these three. */
export function weightOf(text: string): number {
  return text.length + 4 * (text.match(/[&<>]/g)?.length ?? 0);
}

/** An escape, or a character. */
const PART = /\\u\{[0-9A-F]{1,6}\}|\\.|[^]/gu;

/** Nothing in it is escaped. */
const PLAIN = /^[ -~]*$/;

/** Well-known escapes of JSON. */
const IN_STRING: ReadonlyMap<string, string> = new Map([
  ["\n", String.raw`\n`],
  ["\r", String.raw`\r`],
  ["\t", String.raw`\t`],
]);

function marksOf(text: string): Marked {
  const marked = new Marked(text);
  if (EMOJI_PART.test(text)) marked.keep(text.matchAll(emoji()));
  marked.escape(text.matchAll(UNSEEN));
  for (const { 0: marks, index } of text.matchAll(MARKS)) markMarks(marked, text, marks, index);
  for (const { 0: word, index } of text.matchAll(WORDS)) markMixed(marked, word, index);
  markShapes(marked, text);
  markWhole(marked, text, 0);
  for (const { 0: token, index } of text.matchAll(TOKENS))
    if (/[A-Za-z]/.test(token)) markWhole(marked, token, index);
  return marked;
}

/** The characters of a text to escape. */
class Marked {
  readonly #text: string;
  readonly #kept: Uint8Array;
  readonly #escaped: Uint8Array;

  constructor(text: string) {
    this.#text = text;
    this.#kept = new Uint8Array(text.length);
    this.#escaped = new Uint8Array(text.length);
  }

  keep(found: Iterable<RegExpExecArray>): void {
    for (const { 0: part, index } of found) this.#kept.fill(1, index, index + part.length);
  }

  escape(found: Iterable<RegExpExecArray>): void {
    for (const { index } of found) this.escapeAt(index);
  }

  escapeAt(index: number): void {
    this.#escaped[index] = 1;
  }

  /** @param plain the form of the others */
  write(write: (character: string) => string, plain = (character: string) => character): string {
    let shown = "";
    let index = 0;
    for (const character of this.#text) {
      const isEscaped = this.#escaped[index] === 1 && this.#kept[index] === 0;
      shown += isEscaped ? write(character) : plain(character);
      index += character.length;
    }
    return shown;
  }
}

const emoji = once(() => /\p{RGI_Emoji}/gv);
/** Without one of these, an emoji needs no escape. */
const EMOJI_PART = /\u200d|\u20e3|\ufe0f|\u{e007f}/u;
const UNSEEN = /[[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]--[ ]]/gv;
const MARKS = /[\p{M}--\p{Default_Ignorable_Code_Point}]+/gv;
/** Most marks on one letter by UTS #39. */
const MOST_MARKS = 4;

function markMarks(marked: Marked, text: string, marks: string, from: number): void {
  const hasLetter = /[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, from - 2), from));
  let index = from;
  let count = 0;
  let before = "";
  for (const mark of marks) {
    if (!/\p{Mc}/u.test(mark)) count++;
    if (!hasLetter || count > MOST_MARKS || mark === before || /\p{Me}/u.test(mark)) marked.escapeAt(index);
    before = mark;
    index += mark.length;
  }
}

const WORDS = /[\p{L}\p{M}\p{N}]+/gu;

/** Scripts that one word may mix (UTS #39, highly restrictive); unlisted ones count as one. */
const SCRIPTS: readonly RegExp[] = [
  /[\p{sc=Latn}\p{sc=Hani}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Hang}]/u,
  ...(
    "Cyrl Grek Arab Hebr Deva Thai Armn Geor Ethi Beng Guru Gujr Orya Taml " +
    "Telu Knda Mlym Sinh Laoo Tibt Mymr Khmr Thaa Cher Copt Lisu Syrc Mong"
  )
    .split(" ")
    .map((script) => new RegExp(String.raw`\p{sc=${script}}`, "u")),
];
const OF_ANY = /[\p{sc=Common}\p{sc=Inherited}]/u;
const NO_SCRIPT = -1;
/** Cached by character. */
const SCRIPT_OF = new Map<string, number>();

function scriptOf(character: string): number {
  const known = SCRIPT_OF.get(character);
  if (known !== undefined) return known;
  const found = OF_ANY.test(character)
    ? NO_SCRIPT
    : (SCRIPTS.findIndex((script) => script.test(character)) + SCRIPTS.length + 1) % (SCRIPTS.length + 1);
  SCRIPT_OF.set(character, found);
  return found;
}

/** Marks the letters of a word outside its majority script, and digits of another kind than the others. */
function markMixed(marked: Marked, word: string, from: number): void {
  if (PLAIN.test(word)) return;
  const counts = new Map<number, number>();
  const scripts = Array.from(word, scriptOf);
  for (const script of scripts) if (script !== NO_SCRIPT) counts.set(script, (counts.get(script) ?? 0) + 1);
  // At a tie, the Latin ones stay.
  const [most = NO_SCRIPT] = [...counts].toSorted(([a, m], [b, n]) => n - m || a - b)[0] ?? [];
  const hasPlainDigits = /[0-9]/.test(word);
  let index = from;
  for (const [place, character] of Array.from(word).entries()) {
    const script = scripts[place] ?? NO_SCRIPT;
    const isOtherDigit = hasPlainDigits && /(?![0-9])\p{Nd}/u.test(character);
    if (isOtherDigit || (script !== NO_SCRIPT && script !== most)) marked.escapeAt(index);
    index += character.length;
  }
}

/** Letters, digits and signs that may be variants of ASCII's. Raised and lowered small ones are recognisable. */
const SHAPED = /[[\p{L}\p{Nd}\p{Nl}\p{S}\p{P}]--\p{Lm}--[\p{ASCII}ªº]]/gv;
const EAST_ASIAN = /[\p{sc=Hani}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]/u;

function markShapes(marked: Marked, text: string): void {
  // Full-width digits and signs are normal in such a text.
  const isEastAsian = EAST_ASIAN.test(text);
  for (const { 0: character, index } of text.matchAll(SHAPED)) {
    const isKept = isEastAsian && /[^\p{L}]/u.test(character);
    if (!isKept && /^[!-~]$/.test(character.normalize("NFKC"))) marked.escapeAt(index);
  }
}

/** Letters of other scripts that look like Latin ones. */
const LIKE_LATIN: readonly (readonly [script: RegExp, like: RegExp])[] = [
  [/\p{sc=Cyrl}/gu, /[асԁеһіјӏорԛѕԝхуьгѵАВСЕНІЈКМОРԚЅТԜХҮУЗ]/u],
  [/\p{sc=Grek}/gu, /[ονιυρϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ]/u],
];

/** Addresses, paths and names: runs between spaces. */
const TOKENS = /\S+/g;

function markWhole(marked: Marked, text: string, from: number): void {
  if (PLAIN.test(text)) return;
  for (const [script, like] of LIKE_LATIN) {
    const letters = [...text.matchAll(script)];
    if (letters.every(([letter]) => like.test(letter)))
      for (const { index } of letters) marked.escapeAt(from + index);
  }
}
