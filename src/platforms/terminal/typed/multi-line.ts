const QUOTES = '"""';

/**
 * Joins typed lines to one text: a line that ends with a backslash continues in the next, and three quotation marks begin a
 * text that ends with the next three.
 */
export class MultiLine {
  #lines: string[] = [];
  #isQuoted = false;

  /** Are further lines to come? */
  get isOpen(): boolean {
    return this.#isQuoted || this.#lines.length > 0;
  }

  /** @returns the whole text; null: more lines are to come */
  add(line: string): string | null {
    if (this.#isQuoted) return this.#addQuoted(line);
    const begun = line.trimStart();
    if (!this.isOpen && begun.startsWith(QUOTES)) {
      this.#isQuoted = true;
      return this.#addQuoted(begun.slice(QUOTES.length), true);
    }
    if (!/(?<!\\)(?:\\\\)*\\$/.test(line)) return this.#end(line);
    this.#lines.push(line.slice(0, -1));
    return null;
  }

  /** Drops what was typed so far. */
  clear(): void {
    this.#lines = [];
    this.#isQuoted = false;
  }

  #addQuoted(line: string, isFirst = false): string | null {
    const text = line.trimEnd();
    if (text.endsWith(QUOTES)) {
      const last = text.slice(0, -QUOTES.length);
      return this.#end(...(last === "" ? [] : [last]));
    }
    if (!isFirst || line !== "") this.#lines.push(line);
    return null;
  }

  #end(...last: readonly string[]): string {
    const text = [...this.#lines, ...last].join("\n");
    this.clear();
    return text;
  }
}
