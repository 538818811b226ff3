import { formatNumber } from "../../text/format.ts";
const WIDTH = 30;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** Least time between two drawings, ms. */
const INTERVAL_MS = 100;

/** A bar on a terminal; otherwise a line every tenth. */
export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #total: number;
  readonly #startedAt = performance.now();
  #done = 0;
  #drawnAt = 0;
  #toldTenth = 0;

  constructor(stream: NodeJS.WriteStream, total: number) {
    this.#stream = stream;
    this.#total = total;
  }

  step(): void {
    this.#done++;
    if (this.#stream.isTTY) this.#draw();
    else this.#tell();
  }

  end(): void {
    if (!this.#stream.isTTY) return;
    this.#drawnAt = 0;
    this.#draw();
    this.#stream.write("\n");
  }

  #draw(): void {
    const now = performance.now();
    const isLast = this.#done >= this.#total;
    // A terminal that is held (Ctrl-S) needs no picture of each step.
    if (!isLast && (now - this.#drawnAt < INTERVAL_MS || this.#stream.writableNeedDrain)) return;
    this.#drawnAt = now;
    const share = this.#total === 0 ? 1 : this.#done / this.#total;
    const filled = Math.round(share * WIDTH);
    const elapsed = (now - this.#startedAt) / 1000;
    const left = share > 0 ? elapsed / share - elapsed : 0;
    const bar = "█".repeat(filled) + "░".repeat(WIDTH - filled);
    const count = `${formatNumber(this.#done)} of ${formatNumber(this.#total)}`;
    this.#stream.write(
      `\r${bar} ${(share * 100).toFixed(0).padStart(3)} %  ${count}  ${left.toFixed(0)} s left\u001b[K`,
    );
  }

  #tell(): void {
    const tenth = Math.floor((this.#done / this.#total) * 10);
    if (tenth === this.#toldTenth) return;
    this.#toldTenth = tenth;
    this.#stream.write(`${tenth * 10} % (${this.#done} of ${this.#total} messages)\n`);
  }
}

/** Shows the subject of a wait: a moving line on a terminal, otherwise one plain line. */
export class Spinner implements Disposable {
  readonly #stream: NodeJS.WriteStream;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #startedAt = performance.now();
  #frame = 0;

  constructor(stream: NodeJS.WriteStream, text: string) {
    this.#stream = stream;
    if (stream.isTTY) this.#timer = setInterval(() => this.#draw(text), INTERVAL_MS).unref();
    else stream.write(`${text} …\n`);
  }

  /** Removes the moving line. */
  [Symbol.dispose](): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#stream.write("\r\u001B[K");
  }

  #draw(text: string): void {
    if (this.#stream.writableNeedDrain) return;
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    this.#stream.write(`\r${FRAMES[this.#frame++ % FRAMES.length]} ${text} … ${seconds} s\u001B[K`);
  }
}
