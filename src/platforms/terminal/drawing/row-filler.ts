import { cellWidth } from "../../../text/columns.ts";
import type { Run } from "./inline-marks.ts";

/** Least cells for words, whatever the indentation. */
const LEAST_ROOM = 12;
const TAB = "    ";
/** Characters that may start a row without a space before them: those of scripts without spaces. */
const BREAKABLE =
  /^[\u2e80-\u2fff\u3012-\u303e\u3041-\ua4cf\uf900-\ufaff\ufe30-\ufe6f\uff10-\uff60\u{20000}-\u{3fffd}]$/u;
/** Those that belong to the character before them. */
const CLOSING = /^[々〻ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮー゛゜ゝゞヽヾ〕〗〙〛〟：；？］｝｠]$/u;

/**
 * Fills rows of a terminal with words, and breaks between them. Text comes piece by piece: the last word waits until it
 * is whole, since only then it is known whether it fits; a word that is longer than a row is broken where the row
 * ends. Pieces, put together, give the same rows as the whole text. Libraries such as wrap-ansi take whole texts, and have no
 * indentation for further rows.
 */
export class RowFiller {
  #width = 0;
  #column = 0;
  /** The indentation of each further row of the paragraph. */
  #indent: readonly Run[] = [];
  #indentWidth = 0;
  /** The word that may still grow, and its cells. */
  #word: Run[] = [];
  #wordWidth = 0;
  /** The word is longer than a row: its characters are placed as they come. */
  #isLong = false;
  /** The spaces between the last word and the next; dropped where the row is broken. */
  #spaces: Run[] = [];
  /** Row ends that are written before the next text: there may be no next text. */
  #breaks = 0;
  /** Other output has ended the row in the middle of a paragraph. */
  #isCut = false;
  #out: Run[] = [];

  /** The cursor's column now: other output may come between two pieces. */
  place(column: number, width: number): void {
    this.#isCut ||= column === 0 && this.#column > 0 && this.#breaks === 0;
    this.#column = column;
    this.#width = Math.max(2, width);
  }

  /** The following text continues at the cursor, in a row of its own. */
  restart(): void {
    this.#breaks = 0;
    this.#spaces = [];
    this.#isCut = false;
  }

  /** @param first stands before the first row, `further` before the others of this paragraph */
  beginParagraph(first: readonly Run[], further: readonly Run[]): void {
    this.#indentWidth = widthOf(further);
    this.#indent = further;
    if (this.#width - this.#indentWidth < LEAST_ROOM) {
      this.#indent = [];
      this.#indentWidth = 0;
    }
    for (const run of first) this.#emit(run);
  }

  /** Text on one line, which is broken into rows. */
  add({ text, style }: Run): void {
    for (const [part] of text.matchAll(/[ \t]+|[^ \t]+/g)) {
      if (part.startsWith(" ") || part.startsWith("\t")) {
        this.endWord();
        this.#spaces.push({ text: part.replaceAll("\t", TAB), style });
      } else {
        for (const character of part) this.#addCharacter(character, style);
      }
    }
  }

  /** Text on one line that is not broken: the terminal may. */
  addWhole(run: Run): void {
    this.endWord();
    for (const spaces of this.#spaces.splice(0)) this.#emit(spaces);
    this.#emit(run);
  }

  endWord(): void {
    if (this.#word.length > 0) this.#placeWord();
    this.#isLong = false;
  }

  /** Shows the begun word after a pause in the text. The rest of the word is written directly after it. */
  showWord(): void {
    if (this.#word.length === 0) return;
    this.#placeWord();
    this.#isLong = true;
  }

  /** Ends the row; twice: an empty one follows. */
  endRow(): void {
    this.endWord();
    this.#spaces = [];
    this.#isCut = false;
    this.#breaks += 1;
  }

  /** The output since the last call. */
  take(): Run[] {
    return this.#out.splice(0);
  }

  #addCharacter(character: string, style: string): void {
    const cells = cellWidth(character);
    if (cells > 0 && BREAKABLE.test(character) && !CLOSING.test(character)) this.endWord();
    else if (cells > 0 && this.#endsBreakable() && !isPunctuation(character)) this.endWord();
    if (this.#isLong) {
      this.#placeCharacter({ text: character, style }, cells);
      return;
    }
    append(this.#word, { text: character, style });
    this.#wordWidth += cells;
    if (this.#wordWidth > this.#width - this.#indentWidth) this.#breakWord();
  }

  #endsBreakable(): boolean {
    const last = Array.from(this.#word.at(-1)?.text.slice(-2) ?? "").at(-1) ?? "";
    return BREAKABLE.test(last) || CLOSING.test(last);
  }

  #placeWord(): void {
    this.#mendRow();
    const spaces = this.#spaces.splice(0);
    if (this.#columnNow + widthOf(spaces) + this.#wordWidth <= this.#width) {
      for (const run of spaces) this.#emit(run);
    } else if (this.#columnNow > this.#indentWidth) {
      this.#newRow();
    }
    for (const run of this.#word.splice(0)) this.#emit(run);
    this.#wordWidth = 0;
  }

  /** The word has outgrown a row: it begins where the last one ended. */
  #breakWord(): void {
    this.#mendRow();
    const spaces = this.#spaces.splice(0);
    if (this.#columnNow + widthOf(spaces) < this.#width) for (const run of spaces) this.#emit(run);
    for (const { text, style } of this.#word.splice(0))
      for (const character of text) this.#placeCharacter({ text: character, style }, cellWidth(character));
    this.#wordWidth = 0;
    this.#isLong = true;
  }

  #placeCharacter(run: Run, cells: number): void {
    this.#mendRow();
    if (this.#columnNow + cells > this.#width && this.#columnNow > this.#indentWidth) this.#newRow();
    this.#emit(run);
  }

  /** Continues a paragraph that was cut, with its indentation. */
  #mendRow(): void {
    if (!this.#isCut) return;
    this.#isCut = false;
    this.#spaces = [];
    for (const run of this.#indent) this.#emit(run);
  }

  #newRow(): void {
    if (this.#column > 0) append(this.#out, { text: "\n", style: "" });
    this.#column = 0;
    for (const run of this.#indent) this.#emit(run);
  }

  /** The column at which the next text will stand. */
  get #columnNow(): number {
    return this.#breaks > 0 ? 0 : this.#column;
  }

  #emit(run: Run): void {
    if (run.text === "") return;
    if (this.#breaks > 0) {
      const ends = this.#breaks - (this.#column > 0 ? 0 : 1);
      if (ends > 0) append(this.#out, { text: "\n".repeat(ends), style: "" });
      this.#breaks = 0;
      this.#column = 0;
    }
    append(this.#out, run);
    this.#column += cellWidth(run.text);
  }
}

/** Western punctuation that may not start a row after a character of a script without spaces. */
function isPunctuation(character: string): boolean {
  return /^[\p{Pe}\p{Pf}\p{Po}]$/u.test(character);
}

function append(runs: Run[], { text, style }: Run): void {
  const last = runs.at(-1);
  if (last?.style === style) runs[runs.length - 1] = { text: last.text + text, style };
  else runs.push({ text, style });
}

function widthOf(runs: readonly Run[]): number {
  return runs.reduce((sum, { text }) => sum + cellWidth(text), 0);
}

/** Where the second column of a line begins: words that belong to it stand below it. */
const SECOND_COLUMN = /^(?:\S.{0,30}?\S|\S) {2,}(?=\S)/u;

/**
 * A displayable text in rows of at most `width` cells. Further rows of a line stand below its first word, or, where it
 * has two columns, below the second. Pure.
 */
export function wrapText(text: string, width: number): string {
  const rows = new RowFiller();
  rows.place(0, width);
  for (const line of text.split("\n")) {
    const space = /^[ \t]*/.exec(line)?.[0].replaceAll("\t", TAB) ?? "";
    const words = line.trimStart();
    const column = SECOND_COLUMN.exec(words)?.[0] ?? "";
    const isNarrow = cellWidth(space + column) > width / 2;
    const further = space + (isNarrow ? "" : " ".repeat(cellWidth(column)));
    rows.beginParagraph([{ text: space, style: "" }], [{ text: further, style: "" }]);
    rows.add({ text: words, style: "" });
    rows.endRow();
  }
  return rows
    .take()
    .map((run) => run.text)
    .join("");
}
