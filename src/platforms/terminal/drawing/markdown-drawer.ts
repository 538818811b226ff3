import { alignColumns, cellsOf, isTableRule } from "../../../text/markdown-table.ts";
import { cellWidth } from "../../../text/columns.ts";
import { displayable } from "../../../text/displayable.ts";
import { BOLD, CODE, DIM, readInline, type Run } from "./inline-marks.ts";
import { RowFiller } from "./row-filler.ts";

export interface Place {
  /** Where the cursor stands, in cells from the left. */
  readonly column: number;
  /** Cells of a row; no row grows wider, but for code. */
  readonly width: number;
}

/** Rows of a table that are held until it is whole; more are drawn in parts. */
const MAX_TABLE_ROWS = 200;
const RULE_WIDTH = 24;
const TABLE_STYLE = { gap: "  ", ruleGap: "  ", minWidth: 3 };
/** A line that may become the end of a code block. */
const CLOSE_SO_FAR = /^[ \t]*(?:(?:`+|~+)[ \t]*)?$/;

/** Where in a line the drawing is. */
type LineState =
  | { readonly kind: "undecided" }
  | { readonly kind: "inline"; readonly style: string; readonly at: number }
  | { readonly kind: "code"; readonly at: number };

const UNDECIDED: LineState = { kind: "undecided" };

/**
 * Draws an answer in Markdown for a terminal while it is being written. What was drawn stays: a mark that waits for
 * its end is held back, a line at the most, and a table until it is whole. Parsers for whole documents would hold
 * back paragraphs, or draw a growing one anew with each word.
 *
 *     line:  undecided ──▶ inline (a paragraph, a heading, an item, a quote) ──┬─▶ next line
 *                │    └──▶ code (inside a fence) ──────────────────────────────┤
 *                └─ whole: a rule, a fence, a row of a table ──────────────────┘
 *
 * The text is made displayable first, so nothing in it is obeyed.
 */
export class MarkdownDrawer {
  readonly #colour: boolean;
  readonly #rows = new RowFiller();
  #line = "";
  #state: LineState = UNDECIDED;
  /** The fence of the code block that the text is in. */
  #fence: string | null = null;
  #table: string[] = [];
  #hasDrawn = false;
  #width = 0;

  /** @param colour false: no escape sequences; the marks stay, since they say what colours would */
  constructor(colour: boolean) {
    this.#colour = colour;
  }

  /**
   * @param text the addition to the answer; no half of a character
   * @returns the output at the cursor
   */
  draw(text: string, { column, width }: Place): string {
    this.#width = width;
    this.#rows.place(column, width);
    const lines = displayable(text).split("\n");
    for (const [index, line] of lines.entries()) {
      this.#line += line;
      const isWhole = index < lines.length - 1;
      if (this.#line !== "" || isWhole) this.#drawLine(isWhole);
      if (isWhole) this.#nextLine();
    }
    return this.#take();
  }

  /** The word that is held back, where the answer pauses. */
  pause({ column, width }: Place): string {
    this.#rows.place(column, width);
    this.#rows.showWord();
    return this.#take();
  }

  /** The text that was held back, at the end of the answer; to be written directly after the last result of `draw`. */
  end(): string {
    if (this.#line !== "") this.#drawLine(true);
    this.#drawTable();
    this.#rows.endWord();
    this.#line = "";
    this.#state = UNDECIDED;
    return this.#take();
  }

  /** The following text starts a row, after the caller's mark. */
  restart(): void {
    this.#rows.restart();
  }

  #take(): string {
    return this.#rows
      .take()
      .map(({ text, style }) => (style === "" || !this.#colour ? text : `\u001B[${style}m${text}\u001B[0m`))
      .join("");
  }

  #drawLine(isWhole: boolean): void {
    if (this.#state.kind === "undecided") this.#decide(isWhole);
    const state = this.#state;
    if (state.kind === "inline") {
      const { runs, end } = this.#colour
        ? readInline(this.#line, state.at, !isWhole, state.style)
        : { runs: [{ text: this.#line.slice(state.at), style: "" }], end: this.#line.length };
      for (const run of runs) this.#rows.add(run);
      this.#state = { ...state, at: end };
    } else if (state.kind === "code") {
      this.#rows.addWhole({ text: this.#line.slice(state.at), style: CODE });
      this.#state = { kind: "code", at: this.#line.length };
    }
  }

  #nextLine(): void {
    // A row of a table gives no output until the table is drawn.
    if (this.#table.length === 0) this.#rows.endRow();
    this.#line = "";
    this.#state = UNDECIDED;
  }

  #decide(isWhole: boolean): void {
    if (this.#fence !== null) return this.#decideInCode(this.#fence, isWhole);
    const start = readBlockStart(this.#line, isWhole, !this.#colour);
    if (start === null) return;
    if (start.kind === "row") {
      this.#table.push(this.#line);
      if (this.#table.length >= MAX_TABLE_ROWS) this.#drawTable();
      return;
    }
    if (this.#table.length > 0) {
      this.#drawTable();
      this.#rows.endRow();
    }
    this.#begin(start);
  }

  #decideInCode(fence: string, isWhole: boolean): void {
    if (!isWhole && CLOSE_SO_FAR.test(this.#line)) return;
    const line = this.#line.trim();
    if (isWhole && line.length >= fence.length && line === fence.charAt(0).repeat(line.length)) {
      this.#fence = null;
      this.#rows.addWhole({ text: this.#colour ? "─".repeat(RULE_WIDTH) : line, style: DIM });
    } else {
      this.#state = { kind: "code", at: 0 };
    }
  }

  #begin(start: Exclude<BlockStart, { kind: "row" }>): void {
    const isParagraph = start.kind === "text" && start.isParagraph;
    if (!this.#hasDrawn && !isParagraph) this.#rows.endRow();
    this.#hasDrawn = true;
    if (start.kind === "text") {
      this.#rows.beginParagraph(start.first, start.further);
      this.#state = { kind: "inline", style: start.style, at: start.from };
      return;
    }
    const text = this.#colour ? frame(start) : this.#line;
    if (start.kind === "fence") this.#fence = start.fence;
    this.#rows.beginParagraph([], []);
    this.#rows.addWhole({ text, style: DIM });
  }

  #drawTable(): void {
    const lines = this.#table.splice(0);
    if (lines.length === 0) return;
    if (!this.#hasDrawn) this.#rows.endRow();
    this.#hasDrawn = true;
    const [head = "", separator = "", ...body] = lines;
    const isTable = isTableRule(separator);
    const aligned = isTable ? this.#aligned([head, ...body].map(cellsOf)) : null;
    if (aligned !== null) return this.#addRows(aligned, true);
    if (isTable && body.length > 0)
      return this.#addRows(this.#records(cellsOf(head), body.map(cellsOf)), false);
    this.#addRows(
      lines.map((line) => this.#read(line.trim())),
      false,
    );
  }

  #addRows(rows: readonly (readonly Run[])[], isAligned: boolean): void {
    this.#rows.beginParagraph([], []);
    for (const [index, runs] of rows.entries()) {
      for (const run of runs)
        if (isAligned) this.#rows.addWhole(run);
        else this.#rows.add(run);
      if (index < rows.length - 1) this.#rows.endRow();
    }
  }

  /** A table in columns; null: it is too wide for that. */
  #aligned(table: readonly (readonly string[])[]): Run[][] | null {
    const texts = table.map((cells) => cells.map((cell) => textOf(this.#read(cell))));
    const lines = alignColumns(texts, TABLE_STYLE);
    if (Math.max(...lines.map(cellWidth)) > this.#width) return null;
    return lines.map((text, index) => [{ text, style: [BOLD, DIM][index] ?? "" }]);
  }

  /** A table as a list: each cell on a line of its own, after its column's head. */
  #records(head: readonly string[], body: readonly (readonly string[])[]): Run[][] {
    const heads = head.map((cell) => textOf(this.#read(cell)));
    return body.flatMap((cells, index) => [
      ...(index === 0 ? [] : [[]]),
      ...cells.map((cell, column) => [
        { text: heads[column] === undefined ? "" : `${heads[column]}: `, style: BOLD },
        ...this.#read(cell),
      ]),
    ]);
  }

  #read(text: string): Run[] {
    return this.#colour ? readInline(text, 0, false).runs : [{ text, style: "" }];
  }
}

function textOf(runs: readonly Run[]): string {
  return runs.map(({ text }) => text).join("");
}

/** The upper edge of a code block, which says the language, or a line between two parts. */
function frame(start: Extract<BlockStart, { kind: "fence" | "rule" }>): string {
  const label = start.kind === "fence" && start.label !== "" ? `── ${start.label} ` : "";
  return label + "─".repeat(Math.max(2, RULE_WIDTH - cellWidth(label)));
}

/** The start of a line of Markdown. */
type BlockStart =
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
const MAY_OPEN = /^[ \t]*(?:#{1,6}[ \t]*|(?:[-+*_]|\d{1,9}[.)])[ \t]*|\d{1,9}|-+|\*+|_+|`{1,2}|~{1,2})?$/;
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
function readBlockStart(line: string, isWhole: boolean, keepsMarks: boolean): BlockStart | null {
  const quote = QUOTE.exec(line)?.[0] ?? "";
  const rest = line.slice(quote.length);
  if (!isWhole && MAY_OPEN.test(rest)) return null;
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
