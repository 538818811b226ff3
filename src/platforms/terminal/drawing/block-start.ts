import { cellWidth } from "../../../text/columns.ts";
import { BOLD, DIM, type Run } from "./inline-marks.ts";

/** The start of a line of Markdown. */
export type BlockStart =
  /** `from`: where the text begins that is read for emphasis and links. */
  | {
      readonly kind: "text";
      readonly from: number;
      /** Stand before its first row, and before the others. */
      readonly first: readonly Run[];
      readonly further: readonly Run[];
      readonly style: string;
      /** It follows a name on the same row; anything but a paragraph begins its own. */
      readonly isParagraph: boolean;
    }
  | { readonly kind: "fence"; readonly fence: string; readonly label: string }
  | { readonly kind: "rule" }
  /** A row of what may be a table. */
  | { readonly kind: "row" };

const QUOTE = /^(?: {0,3}> ?)+/;
/** Starts of lines whose meaning depends on further text. */
const UNDECIDED = /^[ \t]*(?:#{1,6}[ \t]*|(?:[-+*_]|\d{1,9}[.)])[ \t]*|\d{1,9}|-+|\*+|_+|`{1,2}|~{1,2})?$/;
const FENCE = /^[ \t]*(`{3,}|~{3,})([^]*)/;
const FENCE_SO_FAR = /^[ \t]*(?:```|~~~)/;
const RULE = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+/;
const ITEM = /^([ \t]*)([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/;
const BULLET = "•";
const QUOTE_BAR = "│ ";

/**
 * Reads the start of a line, once it is decided. Pure.
 * @param isWhole the line is complete
 * @param keepsMarks the marks are shown as they were written
 * @returns null: later text decides
 */
export function readBlockStart(line: string, isWhole: boolean, keepsMarks: boolean): BlockStart | null {
  const quote = QUOTE.exec(line)?.[0] ?? "";
  const rest = line.slice(quote.length);
  if (!isWhole && UNDECIDED.test(rest)) return null;
  if (quote === "") {
    const block = readWholeLine(line, isWhole);
    if (block !== undefined) return block;
  }
  const depth = quote.replaceAll(" ", "").length;
  const bars: Run[] =
    quote === ""
      ? []
      : [{ text: keepsMarks ? quote : QUOTE_BAR.repeat(depth), style: keepsMarks ? "" : DIM }];
  const heading = HEADING.exec(rest)?.[0];
  if (heading !== undefined) {
    const first = keepsMarks ? [...bars, { text: heading.replaceAll("\t", " "), style: "" }] : bars;
    const style = keepsMarks ? "" : BOLD;
    return {
      kind: "text",
      from: quote.length + heading.length,
      first,
      further: bars,
      style,
      isParagraph: false,
    };
  }
  const item = ITEM.exec(rest);
  const mark = item?.[2] ?? "";
  const space = (item?.[1] ?? /^[ \t]*/.exec(rest)?.[0] ?? "").replaceAll("\t", "    ");
  const shown = mark === "" ? "" : `${/\d/.test(mark) || keepsMarks ? mark : BULLET} `;
  const indent = space + " ".repeat(cellWidth(shown));
  return {
    kind: "text",
    from: quote.length + (item?.[0].length ?? /^[ \t]*/.exec(rest)?.[0].length ?? 0),
    first: [...bars, { text: space + shown, style: "" }],
    further: [...bars, { text: indent, style: "" }],
    style: "",
    isParagraph: quote === "" && mark === "",
  };
}

/**
 * Reads a start that only a whole line decides.
 * @returns null: the line may still become one; undefined: it is none
 */
function readWholeLine(line: string, isWhole: boolean): BlockStart | null | undefined {
  if (/^[ \t]*\|/.test(line)) return isWhole ? { kind: "row" } : null;
  if (!isWhole) return FENCE_SO_FAR.test(line) ? null : undefined;
  if (RULE.test(line)) return { kind: "rule" };
  const [, fence, label = ""] = FENCE.exec(line) ?? [];
  if (fence === undefined || (fence.startsWith("`") && label.includes("`"))) return undefined;
  return { kind: "fence", fence, label: label.trim() };
}
