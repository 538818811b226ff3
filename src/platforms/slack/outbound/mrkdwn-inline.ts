import type { KnownNames } from "../../shared/known-people.ts";

export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** One kind of inline markup: its pattern (sticky) and its conversion. */
interface Rule {
  readonly pattern: RegExp;
  readonly show: (match: RegExpExecArray, names: KnownNames) => string | null;
}

const SAFE_URL = /^(?:https?:\/\/|mailto:)[^\s<>|]+$/i;

/** In the order of attempts. None matches across a line's end. */
const RULES: readonly Rule[] = [
  { pattern: /\\([\\`*_{}[\]()#+\-.!~>|])/y, show: ([, char = ""]) => escapeText(char) },
  { pattern: /(?<!(?<!\\)`)(`+)(?!`)(.+?)(?<!`)\1(?!`)/y, show: ([, , code = ""]) => codeSpan(code) },
  {
    pattern:
      /!?\[([^\][\n]{0,300})\]\(\s*<?([^\s()<>]{1,1000}(?:\([^\s()<>]*\)[^\s()<>]*)?)>?(?:\s+"[^"\n]*")?\s*\)/y,
    show: ([, words = "", url = ""]) => link(url, words),
  },
  { pattern: /<((?:https?:\/\/|mailto:)[^\s<>]+)>/iy, show: ([, url = ""]) => link(url, "") },
  { pattern: /https?:\/\/[^\s<>|]+/iy, show: ([url]) => escapeText(url) },
  {
    pattern: /\*\*\*(?=\S)((?:\\.|[^*\\\n]){1,500}?)(?<=\S)\*\*\*/y,
    show: ([, inner = ""], names) => `*_${emphasised(inner, names, true)}_*`,
  },
  {
    pattern: /\*\*(?=\S)((?:\\.|[^*\\\n]|\*(?!\*)){1,500}?)(?<=\S)\*\*/y,
    show: ([, inner = ""], names) => `*${emphasised(inner, names, true)}*`,
  },
  {
    pattern: /__(?=\S)((?:\\.|[^_\\\n]){1,500}?)(?<=\S)__(?![\p{L}\p{N}])/uy,
    show: ([, inner = ""], names) => `*${emphasised(inner, names, true)}*`,
  },
  {
    pattern: /~~(?=\S)((?:\\.|[^~\\\n]){1,500}?)(?<=\S)~~/y,
    show: ([, inner = ""], names) => `~${emphasised(inner, names, true)}~`,
  },
  {
    pattern: /_(?=[^\s_])((?:\\.|[^_\\\n]){1,500}?)(?<=\S)_(?![\p{L}\p{N}_])/uy,
    show: ([, inner = ""], names) => `_${emphasised(inner, names, true)}_`,
  },
  {
    // `5*x and 3*y` is a product.
    pattern: /(?<![A-Za-z0-9])\*(?=\S)((?:\\.|[^*\\\n]){1,500}?)(?<=\S)\*(?![*A-Za-z0-9])/y,
    show: ([, inner = ""], names) => `_${emphasised(inner, names, true)}_`,
  },
];

const WORD = /[\p{L}\p{N}_]/u;
/** A character that rules a mention out if it follows a name: `@types/node` is a package. */
const GOES_ON = /[\p{L}\p{N}_/]/u;
/** Where markup can begin. */
const BEGINNINGS = /[\\`![<h*_~@]/gi;

/** A piece of a converted line. Literal: as it was written, and no markup. */
interface Piece {
  readonly text: string;
  readonly isLiteral: boolean;
}

/**
 * Converts one line's inline Markdown to mrkdwn and escapes the rest. Pure.
 * @param isInner the text stands between two marks
 */
export function emphasised(text: string, names: KnownNames, isInner = false): string {
  const pieces: Piece[] = [];
  let plainFrom = 0;
  let last = "";
  const add = (piece: string, isLiteral: boolean): void => {
    pieces.push({ text: piece, isLiteral });
    last = piece === "" ? last : piece;
  };
  for (let index = nextBeginning(text, 0); index >= 0;) {
    const found = matchAt(text, index, names);
    if (found === null) {
      index = nextBeginning(text, index + 1);
      continue;
    }
    add(text.slice(plainFrom, index), true);
    plainFrom = index + found.length;
    const isEscape = text[index] === "\\";
    const isMarked = !isEscape && /^[*_~`]/.test(found.shown);
    if (isMarked && JOINS.test(last.slice(-1))) add(GUARD, false);
    add(isEscape ? text.slice(index + 1, plainFrom) : found.shown, isEscape);
    if (isMarked && JOINS.test(text[plainFrom] ?? "")) add(GUARD, false);
    index = nextBeginning(text, plainFrom);
  }
  add(text.slice(plainFrom), true);
  return literally(pieces, isInner);
}

/** A character beside which Slack reads no mark: a letter, a digit, or punctuation without spaces around it, as 「. */
const JOINS = /[\p{L}\p{N}\p{M}]|[^\p{ASCII}\s\u200B]/u;
/** Zero width: Slack reads a mark beside it. */
const GUARD = "\u200B";
/** Slack knows no escape of its marks. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  "*": "\u2217",
  _: "\u02CD",
  "~": "\u223C",
  "`": "\u02CB",
};
const MARK = /[*_~`]/g;

/** Joins the pieces, and replaces the marks of literal ones that Slack could read as markup by look-alikes. */
function literally(pieces: readonly Piece[], isInner: boolean): string {
  const line = pieces.map(({ text }) => text).join("");
  let from = 0;
  return pieces
    .map(({ text, isLiteral }) => {
      const at = from;
      from += text.length;
      if (!isLiteral) return text;
      const safe = text.replaceAll(MARK, (mark, offset: number) =>
        mayBeMarkup(line, at + offset, isInner) ? (LOOK_ALIKES[mark] ?? mark) : mark,
      );
      return escapeText(safe);
    })
    .join("");
}

/** Whether Slack could read the mark there as markup, together with another one of the line. */
function mayBeMarkup(line: string, at: number, isInner: boolean): boolean {
  const mark = line[at] ?? "";
  if (!isInner && line.indexOf(mark) === line.lastIndexOf(mark)) return false;
  // Slack strikes out what stands between two tildes, also in `(~20 lines) and (~50 lines)`.
  if (mark === "~") return true;
  const [before = "", after = ""] = [line[at - 1], line[at + 1]];
  const mayOpen = !JOINS.test(before) && /\S/.test(after);
  const mayClose = !JOINS.test(after) && /\S/.test(before);
  return mayOpen || mayClose;
}

function nextBeginning(text: string, from: number): number {
  BEGINNINGS.lastIndex = from;
  return BEGINNINGS.exec(text)?.index ?? -1;
}

function matchAt(
  text: string,
  index: number,
  names: KnownNames,
): { readonly shown: string; readonly length: number } | null {
  if (text[index] === "@") return mention(text, index, names);
  // `snake_case_name` and `5h` are words.
  if ((text[index] === "_" || /h/i.test(text[index] ?? "")) && WORD.test(text[index - 1] ?? "")) return null;
  for (const { pattern, show } of RULES) {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    const shown = match === null ? null : show(match, names);
    if (match !== null && shown !== null) return { shown, length: match[0].length };
  }
  return null;
}

function codeSpan(code: string): string {
  const inner = code.replaceAll("`", "\u02CB");
  const trimmed =
    inner.startsWith(" ") && inner.endsWith(" ") && /[^ ]/.test(inner) ? inner.slice(1, -1) : inner;
  return `\`${escapeText(trimmed)}\``;
}

/** Null: Slack would misread the address. */
function link(url: string, words: string): string | null {
  if (!SAFE_URL.test(url)) return null;
  const label = escapeText(
    words
      .replaceAll(/[*_~`]/g, "")
      .replaceAll("|", "\u00A6")
      .trim(),
  );
  return label === "" ? `<${escapeText(url)}>` : `<${escapeText(url)}|${label}>`;
}

/** The longest name after an `@`, case-insensitive. */
export function mention(
  text: string,
  index: number,
  names: KnownNames,
): { readonly shown: string; readonly length: number } | null {
  if (names.size === 0 || WORD.test(text[index - 1] ?? "")) return null;
  const rest = text.slice(index + 1, index + 100).toLowerCase();
  let longest: { readonly name: string; readonly id: string | null } | null = null;
  for (const [name, id] of names) {
    const isThere = rest.startsWith(name) && !GOES_ON.test(rest[name.length] ?? "");
    if (isThere && name.length > (longest?.name.length ?? 0)) longest = { name, id };
  }
  if (longest === null || longest.id === null) return null;
  return { shown: `<@${longest.id}>`, length: longest.name.length + 1 };
}
