/** The fence of a code block, perhaps in a list or a quotation. */
const FENCE = /^[ \t>]{0,12}(?:```|~~~)/;
const TICKS = /`+/g;
/** Characters at a line's beginning that determine its kind. */
const HEAD = 16;

/** The Markdown context at the end of a text that arrives in pieces. */
export class MarkdownPlace {
  #isFenced = false;
  /** The line's beginning, and its last two characters. */
  #head = "";
  #tail = "";
  /** Backticks at the end of the line, and those that opened the present code span. */
  #run = 0;
  #span = 0;
  #runs = 0;

  pass(text: string): void {
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      this.#passInLine(text.slice(from, end));
      // A line with closing marks on it is no fence.
      if (FENCE.test(this.#head) && this.#runs <= 1) this.#isFenced = !this.#isFenced;
      [this.#head, this.#tail] = ["", ""];
      [this.#run, this.#span, this.#runs] = [0, 0, 0];
      from = end + 1;
    }
    this.#passInLine(text.slice(from));
  }

  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** The backticks that would close the code span here; "": none is open. */
  get openSpan(): string {
    if (this.#run === 0) return "`".repeat(this.#span);
    return this.#run === this.#span ? "" : "`".repeat(this.#span === 0 ? this.#run : this.#span);
  }

  /** In a line of a quotation or a table. */
  get isQuotedLine(): boolean {
    return /^[ \t]{0,3}[>|]/.test(this.#head);
  }

  get isLineStart(): boolean {
    return this.#head.trim() === "" && this.#head.length < HEAD;
  }

  get tail(): string {
    return this.#tail;
  }

  #passInLine(text: string): void {
    if (text === "") return;
    if (!text.startsWith("`")) this.#endRun();
    for (const { index, 0: ticks } of text.includes("`") ? text.matchAll(TICKS) : []) {
      if (this.#run === 0) this.#runs++;
      this.#run += ticks.length;
      if (index + ticks.length < text.length) this.#endRun();
    }
    if (this.#head.length < HEAD) this.#head = (this.#head + text).slice(0, HEAD);
    this.#tail = (this.#tail + text.slice(-2)).slice(-2);
  }

  /** A code span ends with as many backticks as it began with. */
  #endRun(): void {
    if (this.#run > 0 && this.#span === 0) this.#span = this.#run;
    else if (this.#run === this.#span) this.#span = 0;
    this.#run = 0;
  }
}
