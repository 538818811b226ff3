import type { Readable } from "node:stream";

/** A terminal's input, or a pipe, from which no keys are taken. */
type KeySource = Readable & { readonly isTTY?: boolean; setRawMode(isRaw: boolean): unknown };

/** Keys of a demo on a terminal: space pauses and goes on; q and Ctrl-C end. */
export class Keys implements Disposable {
  readonly #stdin: KeySource;
  readonly #onPause: (isPaused: boolean) => void;
  readonly #quit = new AbortController();
  #paused: PromiseWithResolvers<void> | null = null;

  /** @param onPause called when a pause begins and ends */
  constructor(stdin: KeySource, onPause: (isPaused: boolean) => void) {
    this.#stdin = stdin;
    this.#onPause = onPause;
    if (stdin.isTTY !== true) return;
    stdin.setRawMode(true);
    stdin.setEncoding("utf8");
    stdin.on("data", this.#onData);
  }

  /** Aborted once the person wants to end. */
  get quit(): AbortSignal {
    return this.#quit.signal;
  }

  /** Resolves at once, or at the end of a pause. */
  async running(): Promise<void> {
    await this.#paused?.promise;
  }

  [Symbol.dispose](): void {
    this.#goOn();
    if (this.#stdin.isTTY !== true) return;
    this.#stdin.off("data", this.#onData);
    this.#stdin.setRawMode(false);
    this.#stdin.pause();
  }

  readonly #onData = (keys: Buffer | string): void => {
    for (const key of String(keys)) {
      if (key === " ") this.#toggle();
      else if (key === "q" || key === "\u0003" || key === "\u0004") {
        this.#quit.abort();
        this.#goOn();
      }
    }
  };

  #toggle(): void {
    if (this.#paused !== null) {
      this.#goOn();
      this.#onPause(false);
      return;
    }
    this.#paused = Promise.withResolvers();
    this.#onPause(true);
  }

  #goOn(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }
}
