/** Timeouts of a call, in milliseconds. */
export interface ModelTimeouts {
  /** From the request to the first piece of the answer, thinking included. */
  readonly firstTokenMs: number;
  /** Between two pieces. */
  readonly idleMs: number;
  /** For one whole attempt, even if pieces come. */
  readonly totalMs: number;
}

/** After its last piece an answer is complete; only the usage may follow, which is worth only a short wait. */
const FINISH_GRACE_MS = 2000;

/**
 * Aborts a request if the caller aborts or the server falls silent. The client's own timeout ends with the
 * response's headers, so it cannot see a stalled stream.
 */
export class Watchdog implements Disposable {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timeouts: ModelTimeouts;
  readonly #total: NodeJS.Timeout;
  #silence: NodeJS.Timeout;
  #isFlowing = false;
  #verdict: string | undefined;

  constructor(caller: AbortSignal, timeouts: ModelTimeouts) {
    this.#caller = caller;
    this.#timeouts = timeouts;
    this.#silence = this.#timer(timeouts.firstTokenMs, `no first token within ${timeouts.firstTokenMs} ms`);
    this.#total = this.#timer(timeouts.totalMs, `no complete answer within ${timeouts.totalMs} ms`);
    caller.addEventListener("abort", this.#onAbort, { once: true });
    if (caller.aborted) this.#onAbort();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the watchdog ended the request; undefined: it did not. */
  get verdict(): string | undefined {
    return this.#verdict;
  }

  /** A piece of the answer has arrived. */
  progress(): void {
    if (this.#isFlowing) {
      this.#silence.refresh();
      return;
    }
    this.#isFlowing = true;
    this.#rearm(this.#timeouts.idleMs, `silent for ${this.#timeouts.idleMs} ms in mid-stream`);
  }

  /** The end of the answer has arrived. */
  finishing(): void {
    const graceMs = Math.min(FINISH_GRACE_MS, this.#timeouts.idleMs);
    this.#rearm(graceMs, `did not close the stream within ${graceMs} ms`);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#total);
    this.#caller.removeEventListener("abort", this.#onAbort);
  }

  #rearm(ms: number, verdict: string): void {
    clearTimeout(this.#silence);
    this.#silence = this.#timer(ms, verdict);
  }

  #timer(ms: number, verdict: string): NodeJS.Timeout {
    return setTimeout(() => {
      this.#verdict ??= verdict;
      this.#controller.abort();
    }, ms);
  }

  readonly #onAbort = (): void => {
    this.#controller.abort();
  };
}
