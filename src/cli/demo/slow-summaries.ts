import { type Model, ModelError } from "../../llm/model.ts";

/** Messages that pass while a model would write: the stand-in itself takes a few milliseconds. */
const MESSAGES_A_CALL = 8;

/**
 * Gives the stand-in's summaries the time that a model takes, by messages and not by the clock: a demo shows the same at any
 * speed, on any machine, and while it is paused.
 */
export class SlowSummaries {
  readonly model: Model;
  readonly #waiting = new Set<{ readonly until: number; readonly resolve: () => void }>();
  #passed = 0;

  constructor(model: Model) {
    this.model = {
      answer: async (request, options) => {
        if (request.task === "summarise") await this.#pass(request.model, options.signal);
        return model.answer(request, options);
      },
    };
  }

  /** A message was said. */
  step(): void {
    this.#passed++;
    this.#release();
  }

  /** Nothing more is said: what waits is written now. */
  end(): void {
    this.#passed = Infinity;
    this.#release();
  }

  async #pass(model: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const aborted = (): void => reject(new ModelError("aborted", model, "the caller ended the call"));
    if (signal.aborted) aborted();
    signal.addEventListener("abort", aborted, { once: true });
    const waiting = { until: this.#passed + MESSAGES_A_CALL, resolve };
    this.#waiting.add(waiting);
    this.#release();
    try {
      await promise;
    } finally {
      this.#waiting.delete(waiting);
      signal.removeEventListener("abort", aborted);
    }
  }

  #release(): void {
    for (const { until, resolve } of this.#waiting) if (this.#passed >= until) resolve();
  }
}
