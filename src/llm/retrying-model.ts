import { backoffMs } from "../async/backoff.ts";
import { retry } from "../async/retry.ts";

import { classifyFailure } from "./http/model-failure.ts";
import { ModelError } from "./model.ts";
import type { Model, ModelAnswer, ModelCallOptions, ModelRequest } from "./model.ts";
import { notify } from "./notify.ts";

/** How long a person is let wait; all times in milliseconds. */
export interface RetryOptions {
  /** Models to try in order when the requested one has failed. */
  readonly fallbacks: readonly string[];
  /** Attempts on each model. */
  readonly maxAttempts: number;
  /** Before the second attempt; doubles with each further one. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** A server that asks for more than this is given up at once. */
  readonly maxRetryAfterMs: number;
  /**
   * After this no attempt begins; each model but the last may retry for its share. One in flight is not cut: it
   * may be writing the answer, and has its own timeouts.
   */
  readonly budgetMs: number;
  /** Called for each answer that came from a fallback, with what the requested model failed by. */
  readonly onPassedOver: (answeredBy: string, first: ModelError) => void;
}

const DEFAULTS: RetryOptions = {
  fallbacks: [],
  maxAttempts: 3,
  firstDelayMs: 500,
  maxDelayMs: 8000,
  maxRetryAfterMs: 20_000,
  budgetMs: 120_000,
  onPassedOver: () => undefined,
};

/**
 * A model for the path that a person waits on: retries with back-off, honours `Retry-After`, then goes through
 * the fallbacks.
 *
 * Thrown at once are `aborted`, and `context_length` of the requested model: the caller makes the request smaller
 * and asks again. Everything else ends in the last failure, whose message also says what the requested model failed by:
 * that is what the operator has to mend. But if a fallback answered `context_length`, that is thrown, for it names what
 * would help (`model` says whose window it is).
 */
export function createRetryingModel(model: Model, overrides: Partial<RetryOptions> = {}): Model {
  const retryOptions = { ...DEFAULTS, ...overrides };
  return {
    async answer(request, options) {
      const names = [...new Set([request.model, ...retryOptions.fallbacks])];
      const deadline = performance.now() + retryOptions.budgetMs;
      const progress = new ShownText(options);
      let first: ModelError | undefined;
      let last: ModelError | undefined;
      let overflow: ModelError | undefined;
      for (const [position, name] of names.entries()) {
        const left = names.length - position;
        if (last !== undefined && performance.now() >= deadline) break;
        const until = performance.now() + (deadline - performance.now()) / left;
        try {
          const answer = await answerWithRetries(
            model,
            { ...request, model: name },
            options.signal,
            progress,
            {
              retryOptions,
              until,
              hasFallback: left > 1,
            },
          );
          const failure = first;
          if (failure !== undefined) notify(() => retryOptions.onPassedOver(name, failure));
          return answer;
        } catch (error) {
          last = asModelError(error, name, options.signal);
          if (last.kind === "aborted") throw last;
          if (last.kind === "context_length" && position === 0) throw last;
          if (last.kind === "context_length") overflow ??= last;
          first ??= last;
        }
      }
      throw (
        overflow ??
        withFirst(last, first) ??
        new ModelError("unavailable", request.model, "no attempt was made")
      );
    },
  };
}

/** The last failure, and behind it in words the first one, where that is another. */
function withFirst(last: ModelError | undefined, first: ModelError | undefined): ModelError | undefined {
  if (last === undefined || first === undefined || first === last) return last;
  return last.withMessage(`${last.message} (before it, ${first.model}: ${first.message})`);
}

interface RetryRules {
  readonly retryOptions: RetryOptions;
  /** By `performance.now()`. */
  readonly until: number;
  readonly hasFallback: boolean;
}

/** One model, up to `maxAttempts` times. */
async function answerWithRetries(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  progress: ShownText,
  { retryOptions, until, hasFallback }: RetryRules,
): Promise<ModelAnswer> {
  return retry(
    async () => {
      progress.restart();
      return model.answer(request, progress.options);
    },
    (error, failures) => {
      if (signal.aborted || failures + 1 >= retryOptions.maxAttempts) return null;
      const waitMs = waitBeforeRetry(error, failures, retryOptions, hasFallback);
      return waitMs === null || performance.now() + waitMs > until ? null : waitMs;
    },
    signal,
  );
}

/**
 * @param retries how many there were already
 * @returns milliseconds; null: no retry on this model
 */
function waitBeforeRetry(
  error: unknown,
  retries: number,
  retryOptions: RetryOptions,
  hasFallback: boolean,
): number | null {
  if (!(error instanceof ModelError) || !error.retryable) return null;
  // A model that was silent for a whole timeout has used up the person's patience with it.
  if (error.kind === "timeout" && hasFallback) return null;
  if (error.retryAfterMs !== undefined) {
    return error.retryAfterMs > retryOptions.maxRetryAfterMs ? null : error.retryAfterMs;
  }
  const waitMs = backoffMs({ fromMs: retryOptions.firstDelayMs, toMs: retryOptions.maxDelayMs }, retries);
  // Half of it at random, or many channels that failed together would come back together.
  return waitMs * (0.5 + Math.random() / 2);
}

/** Knows whether the person has seen text that a further attempt makes void. */
class ShownText {
  readonly options: ModelCallOptions;
  readonly #onRestart: (() => void) | undefined;
  #isShown = false;

  constructor(options: ModelCallOptions) {
    this.#onRestart = options.onRestart;
    this.options = {
      ...options,
      onText: (delta) => {
        this.#isShown = true;
        options.onText?.(delta);
      },
      onRestart: () => {
        this.restart();
      },
    };
  }

  /** What was shown, if anything, is void. */
  restart(): void {
    if (this.#isShown) notify(this.#onRestart);
    this.#isShown = false;
  }
}

function asModelError(error: unknown, model: string, signal: AbortSignal): ModelError {
  if (signal.aborted) return new ModelError("aborted", model, "the caller ended the call", { cause: error });
  return classifyFailure(error, { model, messages: [] }, new Date());
}
