/** An answer that has not grown for so long lets through what waits for its end, ms. */
const STALLED_MS = 5000;

/** Keeps output from standing inside an answer that is being written: it is printed after the answer's end. */
export class HeldOutput {
  /** Ids of the answers that are being written. */
  readonly #answers = new Set<string>();
  readonly #held: (() => Promise<void>)[] = [];
  readonly #onStall: () => void;
  #stall: NodeJS.Timeout | undefined;

  /** @param onStall prints what is held, by `release` */
  constructor(onStall: () => void) {
    this.#onStall = onStall;
  }

  /** Whether output waits now. */
  get isHolding(): boolean {
    return this.#answers.size > 0;
  }

  /** An answer has begun, has grown or, if `isFinal`, has ended. */
  grown(answer: string, isFinal: boolean): void {
    if (isFinal) this.#answers.delete(answer);
    else this.#answers.add(answer);
    clearTimeout(this.#stall);
    if (this.isHolding) this.#stall = setTimeout(this.#onStall, STALLED_MS).unref();
  }

  /** No answer is being written any more. */
  ended(): void {
    this.#answers.clear();
    clearTimeout(this.#stall);
  }

  /** Prints now, after what is held, or once `release` is called. @throws as `print` does */
  async add(print: () => Promise<void>): Promise<void> {
    this.#held.push(print);
    if (!this.isHolding) await this.release();
  }

  /** Prints what is held. */
  async release(): Promise<void> {
    for (let print = this.#held.shift(); print !== undefined; print = this.#held.shift()) await print();
  }
}
