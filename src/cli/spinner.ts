const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const INTERVAL_MS = 100;

/** Says what is being waited for: a line that moves on a terminal, one plain line on anything else. */
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

  /** The moving line is gone. */
  [Symbol.dispose](): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#stream.write("\r\u001B[K");
  }

  #draw(text: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(0);
    this.#stream.write(`\r${FRAMES[this.#frame++ % FRAMES.length]} ${text} … ${seconds} s\u001B[K`);
  }
}
