import { type Readable, Transform, type TransformCallback } from "node:stream";
import { StringDecoder } from "node:string_decoder";

const BEGIN = "\u001B[200~";
const END = "\u001B[201~";
const INTERRUPT = "\u0003";
/** Stands for a line break in a line that is being edited: the picture that Unicode has of one. */
export const LINE_BREAK = "␤";
/** Longer pastes are not edited: a few words stand for them in the line. */
const MAX_EDITED = { length: 2000, lines: 20 };
// oxlint-disable-next-line no-control-regex -- control characters are what is being removed: an editor would obey them
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A terminal's input, or what stands for one in tests. */
export type TerminalInput = Readable & { setRawMode?(isRaw: boolean): unknown };

/**
 * Stands between a terminal and its line editor, and makes one line of a pasted text: an editor would take each line break for
 * Enter, and each tab for a request to complete. `restore` returns the breaks.
 */
export class PasteFilter extends Transform {
  readonly #source: TerminalInput;
  readonly #decoder = new StringDecoder("utf8");
  /** Pastes by the words that stand for them. */
  readonly #stored = new Map<string, string>();
  /** The pasted text so far; null: no paste is under way. */
  #pasted: string | null = null;
  /** A possible beginning of a mark. */
  #rest = "";

  constructor(source: TerminalInput) {
    super({ decodeStrings: false, encoding: "utf8" });
    this.#source = source;
    source.pipe(this);
  }

  /** The editor asks for it, as of any terminal. */
  setRawMode(isRaw: boolean): void {
    this.#source.setRawMode?.(isRaw);
  }

  /** The text that a submitted line stands for. */
  restore(line: string): string {
    let text = line.replaceAll(LINE_BREAK, "\n");
    for (const [words, pasted] of this.#stored) text = text.replaceAll(words, () => pasted);
    return text;
  }

  /** Forgets what was pasted: the line is submitted, or dropped. */
  forget(): void {
    this.#stored.clear();
  }

  /** Lets go of the terminal; it stays open. */
  release(): void {
    this.#source.unpipe(this);
    this.#source.pause();
  }

  override _transform(chunk: Buffer | string, _encoding: BufferEncoding, done: TransformCallback): void {
    const typed = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    // The end of a paste may never come; a key that is pressed alone comes alone.
    if (this.#pasted !== null && typed === INTERRUPT) this.#pasted = null;
    this.#read(this.#rest + typed);
    done();
  }

  #read(text: string): void {
    const mark = this.#pasted === null ? BEGIN : END;
    const at = text.indexOf(mark);
    const end = at === -1 ? text.length - lengthOfBeginning(text, mark) : at;
    const before = text.slice(0, end);
    this.#rest = at === -1 ? text.slice(end) : "";
    if (this.#pasted === null) {
      if (before !== "") this.push(before);
      if (at !== -1) this.#pasted = "";
    } else {
      this.#pasted += before;
      if (at !== -1) this.#endPaste(this.#pasted);
    }
    if (at !== -1) this.#read(text.slice(at + mark.length));
  }

  #endPaste(raw: string): void {
    this.#pasted = null;
    const text = raw.replaceAll(/\r\n?/g, "\n").replaceAll(CONTROLS, "");
    const lines = text.trimEnd().split("\n").length;
    if (text.length > MAX_EDITED.length || lines > MAX_EDITED.lines) {
      const words = `[paste ${this.#stored.size + 1}: ${lines === 1 ? `${text.length} characters` : `${lines} lines`}]`;
      this.#stored.set(words, text);
      this.push(words);
    } else if (text !== "") {
      // A tab alone would ask for a completion.
      this.push(text === "\t" ? "    " : text.replaceAll("\n", LINE_BREAK));
    }
  }
}

/** How many characters at the end of a text may begin the mark; the Escape key alone begins nothing. */
function lengthOfBeginning(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 1; length -= 1)
    if (text.endsWith(mark.slice(0, length))) return length;
  return 0;
}
