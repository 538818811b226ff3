import { formatNumber } from "./format.ts";
import { replaceUnseen } from "./unseen.ts";
/**
 * Pure functions on texts: terms, sentences, tokens, dates, tables, and safe forms. The room has no effects, and
 * imports only `core` and `async`. This file makes text from outside safe to store and to show.
 */

/**
 * Makes a text storable in Postgres and JSON: NUL (which Postgres refuses) and lone surrogates (which are not UTF-8)
 * become U+FFFD. The rest stays unchanged.
 */
export function storableText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes("\0") ? withoutNul(wellFormed) : wellFormed;
}

/** The same on one line. */
export function storableLine(text: string): string {
  return storableText(text).replaceAll(/\s+/g, " ").trim();
}

/**
 * Fast removal of NULs: `replaceAll` takes a second for a paste with five million, and as long for UTF-16 that was read
 * as bytes.
 */
function withoutNul(text: string): string {
  const bytes = Buffer.from(text, "utf16le");
  for (let at = 0; at < bytes.length; at += 2) {
    if (bytes[at] === 0 && bytes[at + 1] === 0) bytes.writeUInt16LE(0xfffd, at);
  }
  return bytes.toString("utf16le");
}

/** More marks on one letter than any language uses; UAX #15 has the same number. */
const MANY_MARKS = /[\p{M}--\u{34f}]{30}(?=[\p{M}--\u{34f}])/gv;

/**
 * A text's normal form, in linear time: the sorting of 200,000 marks on one letter takes 13 s. A combining grapheme
 * joiner after each thirty marks restarts the sorting.
 */
export function normalForm(text: string, form: "NFC" | "NFD" | "NFKC"): string {
  return text.replaceAll(MANY_MARKS, "$&\u034f").normalize(form);
}

/** A text with the digits of all scripts as ASCII digits: ٤٧ becomes 47. */
export function plainDigits(text: string): string {
  return text.replaceAll(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let before = 0;
    // Each script has its ten digits in a row; mathematics has five adjacent rows.
    while (/\p{Nd}/u.test(String.fromCodePoint(code - before - 1))) before++;
    return String(before % 10);
  });
}

/**
 * Keeps 70 % of `limit` from the head and 20 % from the tail, around a marker with the original size.
 * @param size the original size, for a text that lacks its middle already
 */
export function truncateMiddle(text: string, limit: number, size = text.length): string {
  if (text.length <= limit) return text;
  const { head, tail } = headAndTail(text, limit);
  // A part of a line must not become the beginning of one.
  return `${head}\n[… cut: ${size} characters in all …] ${tail}`;
}

/** 70 % of `limit` from the head of a text, and 20 % from its tail. An escape keeps its backslash. */
export function headAndTail(text: string, limit: number): { head: string; tail: string } {
  const from = text.length - Math.floor(limit * 0.2);
  return {
    head: sliceWhole(text, 0, Math.floor(limit * 0.7)),
    tail: sliceWhole(text, text[from - 1] === "\\" ? from + 1 : from, text.length),
  };
}

/** `slice` that never splits a surrogate pair. */
export function sliceWhole(text: string, from: number, to: number): string {
  return text.slice(isInsidePair(text, from) ? from + 1 : from, isInsidePair(text, to) ? to - 1 : to);
}

/**
 * The end of a text in storable form: a question's newest words come last. Pure.
 * @param most in UTF-16 units
 */
export function newestWords(text: string, most: number): string {
  return storableText(sliceWhole(text, Math.max(0, text.length - most), text.length));
}

function isInsidePair(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return false;
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/**
 * The beginning of a text that fits once each character is escaped, with an ellipsis for the rest. Pure.
 * @param limit of the escaped text, in UTF-16 units
 */
export function fitEscaped(text: string, limit: number, escape: (character: string) => string): string {
  let fitting = "";
  let cut = "";
  for (const character of text) {
    fitting += escape(character);
    if (fitting.length < limit) cut = fitting;
    else if (fitting.length > limit) return `${cut}…`;
  }
  return fitting;
}

/**
 * The lines that fit once each character is escaped, and the number of left-out ones. A line takes at most a third of
 * the room. Pure.
 * @param limit of the escaped text, in UTF-16 units; at least 60
 */
export function fitLines(
  lines: readonly string[],
  limit: number,
  escape: (character: string) => string,
): string {
  const shown = lines.map((line) => fitEscaped(line, Math.floor(limit / 3), escape));
  const all = shown.join("\n");
  if (all.length <= limit) return all;
  let fitting = "";
  for (const [index, line] of shown.entries()) {
    const more = `… and ${formatNumber(lines.length - index)} more`;
    if (fitting.length + line.length + 1 + more.length + 1 > limit) return fitting + more;
    fitting += `${line}\n`;
  }
  return fitting;
}

/** A text that cannot end the Markdown code block around it. */
export function insideCodeBlock(text: string): string {
  return text.replaceAll(/`(?=``)/g, "`\u200b");
}

/** A text as a Markdown code block, which it cannot end. */
export function codeBlock(text: string): string {
  return `\`\`\`\n${insideCodeBlock(text)}\n\`\`\``;
}

/** `1 message`, `1,024 messages`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatNumber(count)} ${count === 1 ? noun : plural}`;
}

/**
 * Members of a class of characters: the colon and what looks like one. They are the signs that Unicode calls a colon,
 * and those that UTS #39 takes for one, except tones and vowels, which names are written with. Needs the flag `u` or
 * `v`.
 */
export const COLONS = String.raw`:\u02d0\u02d1\u02f8\u0589\u05c3\u0703-\u0709\u1361\u1365\u1366\u16ec\u1803\u1804\u1809\u205a\u205d\u2236\u2982\u2af6\ua6f4\ua789\ufe13\ufe30\ufe55\uff1a\u{10781}\u{10782}\u{12471}-\u{12474}`;
const COLON_AT_END = new RegExp(String.raw`[${COLONS}](?!\d)`, "gv");
const COLON_IN_NUMBER = new RegExp(String.raw`[${COLONS}](?=\d)`, "gv");

const NAME_END = new RegExp(String.raw`(?<![${COLONS}\s\u200c\u200d])[${COLONS}\s\u200c\u200d]+$`, "v");

/**
 * A name on one line, at most 80 characters: without invisible characters (except joiners of letters or emoji), line
 * breaks, the end of a name (a colon; `10:30` becomes `10.30`), and the beginnings of labels and roles (`[`, `<|`,
 * `<s>`).
 */
export function displayName(name: string): string {
  return shortLine(storableText(name).replaceAll(COLON_IN_NUMBER, "."));
}

/** The same for a title of Weir's own in a name's place, which keeps its times of day: `… was due 2026-11-21 10:30`. */
export function displayTitle(title: string): string {
  return shortLine(storableText(title));
}

function shortLine(name: string): string {
  const line = replaceUnseen(name, () => " ")
    .replaceAll(/[\p{Cc}\[\]]|[[\p{Cf}\u034f]--\p{Join_Control}--[\u{e0000}-\u{e007f}]]/gv, " ")
    .replaceAll(COLON_AT_END, " ")
    .replaceAll(/<[|｜]|[|｜]>|<\/?\w+>/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return sliceWhole(line, 0, 80).replace(NAME_END, "") || "someone";
}
