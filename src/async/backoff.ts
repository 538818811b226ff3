/** First and longest rest, ms. */
export interface RestBounds {
  readonly fromMs: number;
  readonly toMs: number;
}

/** After a failure, what can wait waits: a while, and longer each time until `succeeded`. */
export class Rest {
  readonly #bounds: RestBounds;
  readonly #onEnd: () => void;
  #timer: NodeJS.Timeout | undefined;
  #waitMs: number;

  /** @param onEnd must not throw */
  constructor(bounds: RestBounds, onEnd: () => void) {
    this.#bounds = bounds;
    this.#onEnd = onEnd;
    this.#waitMs = bounds.fromMs;
  }

  get isResting(): boolean {
    return this.#timer !== undefined;
  }

  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onEnd();
    }, this.#waitMs).unref();
    this.#waitMs = Math.min(this.#waitMs * 2, this.#bounds.toMs);
  }

  succeeded(): void {
    this.#waitMs = this.#bounds.fromMs;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
