const WIDE = /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uff00-\uff60]$/u;
// oxlint-disable-next-line no-control-regex -- this is what a terminal reads
const TOKEN = /\u001B\[(\??[\d;]*)([A-Za-z])|[^]/gu;

/**
 * What a person sees: enough of a terminal to obey what the screen and readline write, endlessly high. It wraps as
 * terminals do: after the last cell of a row the cursor waits there until the next character comes.
 */
export class FakeScreen {
  readonly #width: number;
  readonly #rows: string[][] = [[]];
  #row = 0;
  #column = 0;

  constructor(width: number) {
    this.#width = width;
  }

  /** The rows without what is blank at their ends, and without blank rows at the end. */
  get text(): string {
    return this.#rows
      .map((row) =>
        Array.from(row, (cell) => cell ?? " ")
          .join("")
          .trimEnd(),
      )
      .join("\n")
      .trimEnd();
  }

  get cursor(): { row: number; column: number } {
    return { row: this.#row, column: this.#column };
  }

  write(text: string): void {
    for (const [token, parameter = "", letter] of text.matchAll(TOKEN)) {
      if (letter === undefined) this.#put(token);
      else this.#obey(letter, parameter);
    }
  }

  #put(character: string): void {
    if (character === "\r") this.#column = 0;
    else if (character === "\n") this.#row += 1;
    else if (character === "\t")
      this.#column = Math.min(this.#width - 1, (Math.floor(this.#column / 8) + 1) * 8);
    else if (character < " ") throw new Error(`the terminal was sent ${JSON.stringify(character)}`);
    else this.#print(character);
    while (this.#rows.length <= this.#row) this.#rows.push([]);
  }

  #print(character: string): void {
    const cells = WIDE.test(character) ? 2 : 1;
    if (this.#column + cells > this.#width) {
      this.#row += 1;
      this.#column = 0;
    }
    this.#rows[this.#row] ??= [];
    const row = this.#rows[this.#row];
    if (row === undefined) return;
    row[this.#column] = character;
    if (cells === 2) row[this.#column + 1] = "";
    this.#column += cells;
  }

  #obey(letter: string, parameter: string): void {
    const count = Number(parameter) || 1;
    switch (letter) {
      case "A":
        this.#row = Math.max(0, this.#row - count);
        return;
      case "B":
        this.#row = Math.min(this.#rows.length - 1, this.#row + count);
        return;
      case "C":
        this.#column = Math.min(this.#width - 1, this.#column + count);
        return;
      case "D":
        this.#column = Math.max(0, Math.min(this.#column, this.#width - 1) - count);
        return;
      case "G":
        this.#column = count - 1;
        return;
      case "J":
        this.#rows.length = this.#row + 1;
        this.#rows[this.#row]?.splice(this.#column);
        return;
      case "K":
        this.#rows[this.#row]?.splice(this.#column);
        return;
      case "h":
      case "l":
      case "m":
        return;
      default:
        throw new Error(`the terminal was sent ESC [ ${parameter} ${letter}`);
    }
  }
}
