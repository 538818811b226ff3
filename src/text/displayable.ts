import { sliceWhole } from "./text.ts";

/**
 * Text from a model or a person, made safe to show in a terminal: it has no control characters left.
 *
 * New lines and tabs stay. Other control characters become visible: ESC is shown as ␛, NUL as ␀; the C1 controls, which
 * are one-character escape sequences, and lone surrogates become U+FFFD. Embeddings, overrides and isolates of writing
 * direction, by which a text could reorder its surroundings, are removed; letters of any direction stay.
 *
 * It works character by character (except `\r\n`, see {@link heldBack}), so the displayable form of a text's beginning
 * is the beginning of the text's displayable form: a growing answer may be shown piece by piece.
 */
export function displayable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replaceAll(CONTROLS, (control) => picture(control.charCodeAt(0)))
    .replaceAll(DIRECTION_CONTROLS, "");
}

/** {@link displayable} on one line: for names. */
export function displayableLine(text: string): string {
  return displayable(text).replaceAll(/[\n\t]+/g, " ");
}

/** The beginning of a text on one line, with ` …` for the rest. @param limit in UTF-16 units */
export function firstWords(text: string, limit: number): string {
  const line = displayableLine(text).trim();
  return line.length <= limit ? line : `${sliceWhole(line, 0, limit).trimEnd()} …`;
}

/** JSON without control characters for a terminal: JSON itself leaves DEL and the C1 controls unescaped. */
export function displayableJson(
  value: object,
  indent?: number,
  shown: (text: string) => string = (text) => text,
): string {
  const replaced = (_: string, inner: unknown): unknown => (typeof inner === "string" ? shown(inner) : inner);
  return JSON.stringify(value, replaced, indent).replaceAll(UNSAFE_IN_JSON, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Number of characters at the end of an unfinished text that cannot be shown yet: half a pair, or half a `\r\n`. */
export function heldBack(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  const isHighSurrogate = last >= 0xd800 && last <= 0xdbff;
  return isHighSurrogate || last === 0x0d ? 1 : 0;
}

// oxlint-disable-next-line no-control-regex -- control characters are what is being replaced
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// oxlint-disable-next-line no-control-regex -- control characters are what is being escaped
const UNSAFE_IN_JSON = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Unicode has a picture of each C0 control at U+2400 + its code, and of DEL at U+2421. */
function picture(code: number): string {
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\uFFFD";
}

/**
 * The visible part of a server's address, for screens, logs and the database. The rest may hold a secret (a user, a key
 * in the path or in the query).
 * @returns "set" if it is no address
 */
export function originOf(address: string): string {
  return URL.parse(address)?.origin ?? "set";
}
