import { createInterface, type Interface } from "node:readline";
import type { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { endPosition } from "../../text/columns.ts";
import { displayable } from "../../text/displayable.ts";
import { MultiLine } from "./typed/multi-line.ts";
import { type Output, OutputClosedError } from "./output.ts";
import { LINE_BREAK, PasteFilter, type TerminalInput } from "./typed/paste-filter.ts";

interface ScreenHandlers {
  /** A message was submitted: one line, or several that were pasted or joined. */
  onSubmit(text: string): void;
  /** Whether a submitted line leaves no trace yet, as its handler shows it later. */
  isEchoedLater(line: string): boolean;
  /** A typed line now stands where the text above the input would have continued. */
  onEcho(): void;
  /** Ctrl-D, or the end of the input. */
  onEnd(): void;
  /** Ctrl-C. */
  onInterrupt(): void;
}

interface ScreenOptions {
  readonly input: TerminalInput;
  readonly stream: Writable & { readonly columns?: number; readonly rows?: number };
  readonly output: Output;
  /** The prompt before the line that is being typed. */
  readonly prompt: string;
  /** The whole lines that a begun line may become by Tab. */
  readonly complete: (line: string) => string[];
  /** Earlier lines, the newest first. */
  readonly history: readonly string[];
  readonly handlers: ScreenHandlers;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
const HISTORY_SIZE = 500;
/** Longer texts are not offered again. */
const MAX_REMEMBERED_LENGTH = 2000;
const CONTINUATION_PROMPT = "  … ";
const PASTE_MODE_ON = "\u001B[?2004h";
const PASTE_MODE_OFF = "\u001B[?2004l";
const CLEAR_BELOW = "\u001B[J";
const up = (rows: number) => (rows > 0 ? `\u001B[${rows}A` : "");
const right = (columns: number) => (columns > 0 ? `\u001B[${columns}C` : "");

/**
 * A terminal in which text appears above the line that the person is typing, without disturbing that line. The input (prompt
 * and typed text) always stands below the text. To write, the input is erased, the cursor returns to the end of the text
 * (`#column` of the row above, unless that ended with a line break), the text continues from there, and the input is drawn
 * again below.
 */
export class Screen {
  readonly #options: ScreenOptions;
  readonly #readline: Interface;
  #prompt: string;
  /** Stands before the prompt; removed when the line is submitted. */
  #status = "";
  /** Column where the text above the input ends; 0: it ended with a line break, so it continues in the input's own row. */
  #column = 0;
  readonly #input: PasteFilter;
  readonly #multiLine = new MultiLine();
  /** As readline goes through it, the newest first. */
  readonly #history: string[];
  #isClosed = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
    this.#prompt = options.prompt;
    this.#input = new PasteFilter(options.input);
    this.#history = options.history.slice(0, HISTORY_SIZE).map(onOneLine);
    this.#readline = createInterface({
      input: this.#input,
      output: options.stream,
      prompt: options.prompt,
      terminal: true,
      history: this.#history,
      historySize: HISTORY_SIZE,
      crlfDelay: Number.POSITIVE_INFINITY,
      completer: (line: string) => {
        const lines = options.complete(line);
        // readline lists them below the input: what was above has moved.
        if (lines.length > 1) this.#column = 0;
        return [lines, line];
      },
    });
    this.#readline.on("line", this.#onLine);
    this.#readline.on("close", this.#onClose);
    this.#readline.on("SIGINT", () => options.handlers.onInterrupt());
    // readline's entries are single lines; a message may have several.
    this.#readline.on("history", (lines) => lines.shift());
    this.#input.on("keypress", this.#onKeypress);
    // Before readline's own listener, which draws the line again.
    options.stream.prependListener("resize", this.#onResize);
  }

  /** Where the text above the input ends, in cells from the left; 0: in a row of its own. */
  get column(): number {
    return this.#column;
  }

  get width(): number {
    return this.#options.stream.columns ?? DEFAULT_COLUMNS;
  }

  /** Shows a text of whole rows, and the input line below it. */
  open(text: string): void {
    this.#options.stream.write(`${PASTE_MODE_ON}${text.replaceAll("\n", "\r\n")}`);
    this.#readline.prompt();
  }

  /**
   * Writes a text (already displayable, perhaps coloured) above the input, right where the last one ended.
   * @throws OutputClosedError
   */
  async write(text: string): Promise<void> {
    if (text === "") return;
    const rows = this.#isClosed ? 0 : this.#readline.getCursorPos().rows;
    const back = this.#isClosed ? "" : this.#backToText(rows);
    const end = endPosition(this.#column, stripVTControlCharacters(text), this.width).column;
    const body = text.replaceAll("\n", "\r\n");
    if (this.#isClosed) {
      this.#column = end;
      return await this.#options.output.write(body);
    }
    // In a row that is exactly full the cursor can't return to the place after the last cell: the next text starts a new row.
    this.#column = end >= this.width ? 0 : end;
    const lineEnd = end > 0 ? "\r\n" : "";
    // readline believes the cursor to be `rows` below its prompt, and goes up as much before it draws.
    const written = this.#options.output.write(`${back}${body}${lineEnd}${"\n".repeat(rows)}`);
    this.#readline.prompt(true);
    await written;
  }

  /** Changes what stands in front of the line that is being typed. */
  setPrompt(prompt: string, status: string): void {
    if (prompt === this.#prompt && status === this.#status) return;
    this.#prompt = prompt;
    this.#status = status;
    if (this.#isClosed || this.#multiLine.isOpen) return;
    this.#redraw(`${status}${prompt}`);
  }

  /** Drops what is being typed. @returns false: there was nothing */
  clearInput(): boolean {
    const isTyped = this.#readline.line !== "" || this.#multiLine.isOpen;
    this.#multiLine.clear();
    this.#input.forget();
    // As its keys for "delete to the end" and "delete to the beginning" do.
    this.#readline.write(null, { ctrl: true, name: "k" });
    this.#readline.write(null, { ctrl: true, name: "u" });
    this.#synchroniseRows();
    this.#redraw(`${this.#status}${this.#prompt}`);
    return isTyped;
  }

  /** Removes all earlier lines from the history. */
  forgetHistory(): void {
    this.#history.length = 0;
  }

  /** Removes the input line; later text is written plainly. */
  close(): void {
    if (!this.#isClosed) this.#readline.close();
  }

  #backToText(rows: number): string {
    const textRow = this.#column > 0 ? `${up(1)}${right(this.#column)}` : "";
    return `${up(rows)}\r${CLEAR_BELOW}${textRow}`;
  }

  #redraw(prompt: string): void {
    const { rows } = this.#readline.getCursorPos();
    this.#readline.setPrompt(prompt);
    // readline goes up by the rows of the old prompt.
    this.#options.stream.write(`${up(rows)}\r${CLEAR_BELOW}${"\n".repeat(rows)}`);
    this.#readline.prompt(true);
  }

  readonly #onLine = (line: string): void => {
    this.#tidyEcho(line);
    const text = this.#multiLine.add(this.#input.restore(line));
    const prompt = text === null ? CONTINUATION_PROMPT : `${this.#status}${this.#prompt}`;
    this.#readline.setPrompt(prompt);
    this.#readline.prompt();
    if (text === null) return;
    this.#input.forget();
    this.#remember(text);
    if (text !== "") this.#options.handlers.onSubmit(text);
  };

  #remember(text: string): void {
    const entry = onOneLine(text);
    if (entry.trim() === "" || entry.length > MAX_REMEMBERED_LENGTH || entry === this.#history[0]) return;
    this.#history.unshift(entry);
    this.#history.length = Math.min(this.#history.length, HISTORY_SIZE);
  }

  /** readline has left the line where it was typed, and the cursor below: redraws it without the status, as it is read. */
  #tidyEcho(line: string): void {
    const isContinuation = this.#multiLine.isOpen;
    const prompt = isContinuation ? CONTINUATION_PROMPT : this.#prompt;
    const before = isContinuation ? prompt : stripVTControlCharacters(`${this.#status}${prompt}`);
    const end = endPosition(0, `${before}${displayable(line)}`, this.width);
    // readline gives a row that is exactly full a new row for the cursor.
    const rows = end.rows + (end.column === this.width ? 2 : 1);
    const isErasable = rows < (this.#options.stream.rows ?? DEFAULT_ROWS);
    const isLater = !isContinuation && isErasable && this.#options.handlers.isEchoedLater(line);
    // An empty line leaves no trace.
    const leavesTrace = isContinuation || (line !== "" && !isLater);
    if (isErasable) {
      const echo = displayable(line).replaceAll(LINE_BREAK, `\r\n${CONTINUATION_PROMPT}`);
      const text = leavesTrace ? `${prompt}${echo}\r\n` : "";
      this.#options.stream.write(`${up(rows)}\r${CLEAR_BELOW}${text}`);
    }
    if (!leavesTrace) return;
    this.#column = 0;
    this.#options.handlers.onEcho();
  }

  readonly #onKeypress = (
    _text: unknown,
    key: { readonly ctrl?: boolean; readonly name?: string } | undefined,
  ): void => {
    // readline has cleared the screen, and the text above with it.
    if (key?.ctrl === true && key.name === "l") this.#column = 0;
    this.#synchroniseRows();
  };

  /**
   * readline does not count the rows that a line wraps into when many characters come at once, as in a paste; and it leaves the
   * cursor after the last cell of a full row, where no row below exists yet.
   */
  #synchroniseRows(): void {
    if (this.#isClosed) return;
    const { rows, cols } = this.#readline.getCursorPos();
    if (Reflect.get(this.#readline, "prevRows") === rows) return;
    if (cols === 0) this.#options.stream.write(" \r");
    Reflect.set(this.#readline, "prevRows", rows);
  }

  /**
   * The terminal has wrapped its rows again: the end of the text is unknown, so the text continues in a new row. readline moves
   * up by the rows that its line had before, which would erase the text above a line that has fewer rows now. A terminal that
   * does not wrap again keeps a piece of the old line instead.
   */
  readonly #onResize = (): void => {
    this.#column = 0;
    Reflect.set(this.#readline, "prevRows", this.#readline.getCursorPos().rows);
  };

  readonly #onClose = (): void => {
    const { rows } = this.#readline.getCursorPos();
    this.#isClosed = true;
    this.#input.off("keypress", this.#onKeypress);
    this.#input.release();
    this.#options.stream.off("resize", this.#onResize);
    const { output, handlers } = this.#options;
    output.write(`${this.#backToText(rows)}${PASTE_MODE_OFF}`).catch((error: unknown) => {
      if (!(error instanceof OutputClosedError)) throw error;
    });
    handlers.onEnd();
  };
}

/** Editors of a line have no line breaks. */
function onOneLine(text: string): string {
  return text.replaceAll("\n", LINE_BREAK);
}
