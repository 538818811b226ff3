/** A piece of text with one look. */
export interface Run {
  readonly text: string;
  /** SGR parameters, as `1;3`; "": plain. */
  readonly style: string;
}

export const BOLD = "1";
export const DIM = "2";
const ITALIC = "3";
const UNDERLINED = "4";
const STRUCK = "9";
/** Code, which is read letter by letter. */
export const CODE = "36";

/**
 * Longest text between two matching marks, in UTF-16 units. It bounds how much of a growing line waits for its closing mark; a
 * longer text is shown as it was written.
 */
const MAX_SPAN = 240;
const MAX_LINK = 600;

const MARKS = new Set(["\\", "`", "*", "_", "~", "[", "!"]);
const ESCAPABLE = /^[!-/:-@[-`{-~]$/;
const WORD = /^[\p{L}\p{N}_]$/u;
const TEXT_IN_LINK = String.raw`(?:[^\[\]\\]|\\.)*`;
const LINK = new RegExp(
  String.raw`^!?\[(${TEXT_IN_LINK})\]\(<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\)`,
);
const LINK_SO_FAR = new RegExp(
  String.raw`^!?\[${TEXT_IN_LINK}(?:\\|\](?:\(<?[^\s<>]*(?:>?\s+(?:"[^"]*"?)?|>)?)?)?$`,
);

/** The meaning of a mark: pieces in place of `text.slice(at, end)`; "undecided": the rest of the line decides. */
type Reading = { readonly runs: readonly Run[]; readonly end: number } | "undecided";

/** The line that is read, up to `to`; open: it may go on there. */
interface Reach {
  readonly text: string;
  readonly to: number;
  readonly isOpen: boolean;
}

/**
 * Reads emphasis, code and links in one line of Markdown, from `at` on. Its result for the beginning of a line does not depend
 * on later text: the joined pieces of a growing line are the pieces of the whole. Pure.
 * @param isOpen the line may continue
 * @returns the decided pieces, and where they end
 */
export function readInline(
  text: string,
  at: number,
  isOpen: boolean,
  style = "",
): { readonly runs: Run[]; readonly end: number } {
  return walk({ text, to: text.length, isOpen }, at, style);
}

function walk(reach: Reach, from: number, style: string): { runs: Run[]; end: number } {
  const { text, to } = reach;
  const runs: Run[] = [];
  let plain = from;
  let at = from;
  const endPlain = (): void => {
    if (at > plain) runs.push({ text: text.slice(plain, at), style });
  };
  while (at < to) {
    const character = text[at] ?? "";
    if (!MARKS.has(character)) {
      at += 1;
      continue;
    }
    const reading = readMark(reach, at, character, style);
    if (reading === "undecided") break;
    endPlain();
    runs.push(...reading.runs);
    at = reading.end;
    plain = at;
  }
  endPlain();
  return { runs, end: at };
}

function readMark(reach: Reach, at: number, character: string, style: string): Reading {
  const { text, to, isOpen } = reach;
  switch (character) {
    case "\\": {
      if (at + 1 === to && isOpen) return "undecided";
      const next = at + 1 < to ? (text[at + 1] ?? "") : "";
      return ESCAPABLE.test(next)
        ? { runs: [{ text: next, style }], end: at + 2 }
        : literal(text, at, 1, style);
    }
    case "`":
      return readCode(reach, at, style);
    case "[":
    case "!":
      return readLink(reach, at, style);
    default:
      return readEmphasis(reach, at, character, style);
  }
}

function literal(text: string, at: number, length: number, style: string): Reading {
  return { runs: [{ text: text.slice(at, at + length), style }], end: at + length };
}

function styled(style: string, more: string): string {
  return style === "" ? more : `${style};${more}`;
}

/** Length of the row of equal characters that begins at `at`. */
function rowLength({ text, to }: Reach, at: number): number {
  let end = at;
  while (end < to && text[end] === text[at]) end += 1;
  return end - at;
}

/** The part of the line in which a mark at `at` must be closed. It is open only where it reaches the line's end. */
function within(reach: Reach, at: number, length: number): Reach {
  const to = Math.min(reach.to, at + length);
  return { ...reach, to, isOpen: reach.isOpen && to === reach.to };
}

function readCode(outer: Reach, at: number, style: string): Reading {
  const { text } = outer;
  const reach = within(outer, at, MAX_SPAN);
  const length = rowLength(reach, at);
  if (at + length === reach.to && reach.isOpen) return "undecided";
  const close = closeOfCode(reach, at, length);
  if (close === "undecided") return close;
  if (close === null) return literal(text, at, length, style);
  const inner = text.slice(at + length, close);
  return { runs: [{ text: inner, style: styled(style, CODE) }], end: close + length };
}

/** Where the backticks stand that close those at `at`; null: nowhere. */
function closeOfCode(reach: Reach, at: number, length: number): number | null | "undecided" {
  const { text, to, isOpen } = reach;
  for (let next = text.indexOf("`", at + length); next !== -1 && next < to;) {
    const found = rowLength(reach, next);
    if (next + found === to && isOpen) return "undecided";
    if (found === length) return next;
    next = text.indexOf("`", next + found);
  }
  return isOpen ? "undecided" : null;
}

function readLink(outer: Reach, at: number, style: string): Reading {
  const reach = within(outer, at, MAX_LINK);
  const text = reach.text.slice(at, reach.to);
  if (text === "!" && reach.isOpen) return "undecided";
  const match = LINK.exec(text);
  if (match !== null) {
    const [whole, name = "", address = ""] = match;
    const from = at + whole.indexOf("[") + 1;
    const { runs } = walk(
      { text: reach.text, to: from + name.length, isOpen: false },
      from,
      styled(style, UNDERLINED),
    );
    // The address is always shown: a text may pretend to be another.
    const told =
      name === address || address === "" ? [] : [{ text: ` (${address})`, style: styled(style, DIM) }];
    return { runs: [...runs, ...told], end: at + whole.length };
  }
  if (reach.isOpen && LINK_SO_FAR.test(text)) return "undecided";
  return literal(reach.text, at, 1, style);
}

function readEmphasis(outer: Reach, at: number, mark: string, style: string): Reading {
  const { text } = outer;
  const reach = within(outer, at, MAX_SPAN);
  const length = rowLength(reach, at);
  const behind = at + length;
  if (behind === reach.to && reach.isOpen) return "undecided";
  const isPossible =
    (mark === "~" ? length === 2 : length <= 3) &&
    behind < reach.to &&
    !isSpace(text[behind]) &&
    !(mark === "_" && isWordEnd(text, at));
  const close = isPossible ? closeOfEmphasis(reach, behind, { mark, length }) : null;
  if (close === "undecided") return close;
  if (close === null) return literal(text, at, length, style);
  const inner = walk({ text, to: close, isOpen: false }, behind, styled(style, styleOf(mark, length)));
  return { runs: inner.runs, end: close + length };
}

function styleOf(mark: string, length: number): string {
  if (mark === "~") return STRUCK;
  return ["", ITALIC, BOLD, `${BOLD};${ITALIC}`][length] ?? "";
}

/** Where the marks stand that close an emphasis whose text begins at `from`; null: nowhere. */
function closeOfEmphasis(
  reach: Reach,
  from: number,
  { mark, length }: { readonly mark: string; readonly length: number },
): number | null | "undecided" {
  const { text, to, isOpen } = reach;
  for (let at = from; at < to;) {
    const character = text[at] ?? "";
    if (character === "\\") {
      at += 2;
    } else if (character === "`") {
      const run = rowLength(reach, at);
      const close = closeOfCode(reach, at, run);
      if (close === "undecided") return close;
      at = (close ?? at) + run;
    } else if (character === mark) {
      const run = rowLength(reach, at);
      if (at + run === to && isOpen) return "undecided";
      const isLong = run === 3 && length < 3 && mark !== "~";
      const isEnd =
        !isSpace(text[at - 1]) &&
        !(mark === "_" && WORD.test(String.fromCodePoint(text.codePointAt(at + run) ?? 0x20)));
      if ((run === length || isLong) && at > from && isEnd) return at + run - length;
      at += run;
    } else {
      at += 1;
    }
  }
  return isOpen ? "undecided" : null;
}

function isSpace(character: string | undefined): boolean {
  return character === undefined || /^\s$/u.test(character);
}

function isWordEnd(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 2), at);
  return WORD.test(Array.from(before).at(-1) ?? "");
}
