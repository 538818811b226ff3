import { backoffMs } from "../async/backoff.ts";
import { retry } from "../async/retry.ts";

import { classifyFailure } from "./http/model-failure.ts";
import { ModelError } from "./model.ts";
import type { Model, ModelAnswer, ModelCallOptions, ModelRequest } from "./model.ts";
import { notify } from "./notify.ts";

/** Limits on how long a person waits; all times in milliseconds. */
export interface RetryOptions {
  /** Models to try in order when the requested one has failed. */
  readonly fallbacks: readonly string[];
  /** Attempts on each model. */
  readonly maxAttempts: number;
  /** Before the second attempt; doubles with each further one. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** No retry if the server asks for a longer wait. */
  readonly maxRetryAfterMs: number;
  /**
   * No attempt begins after this time; each model but the last may retry for its share. An attempt in flight
   * goes on: it may be writing the answer, and has its own timeouts.
   */
  readonly budgetMs: number;
  /** Called for each answer from a fallback, with the requested model's failure. */
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
 * A model for calls that a person waits for: retries with back-off, honours `Retry-After`, then tries the
 * fallbacks.
 *
 * `aborted` and `not_allowed` are thrown at once. So is `context_length` of the requested model: the caller makes the request
 * smaller and asks again. Otherwise the last failure is thrown; its message also has the requested model's
 * failure, which the operator has to fix. But if a fallback failed with `context_length`, that failure is
 * thrown: a smaller request would help (`model` says whose window it is).
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
          if (last.kind === "aborted" || last.kind === "not_allowed") throw last;
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

/** The last failure; its message, and what is told of it, end with the first failure's if they differ. */
function withFirst(last: ModelError | undefined, first: ModelError | undefined): ModelError | undefined {
  if (last === undefined || first === undefined || first === last) return last;
  const isOurs = last.brief === undefined && first.brief === undefined;
  const brief = isOurs ? undefined : `${shortly(last)}; before it, ${first.model}: ${shortly(first)}`;
  return last.withMessage(`${last.message} (before it, ${first.model}: ${first.message})`, brief);
}

function shortly({ brief, message, reason }: ModelError): string {
  return [reason, brief ?? message].filter((words) => words !== undefined).join(", ");
}

interface RetryRules {
  readonly retryOptions: RetryOptions;
  /** By `performance.now()`. */
  readonly until: number;
  readonly hasFallback: boolean;
}

/** Asks one model, up to `maxAttempts` times. */
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
      // A model that is being loaded answers soon: the time bounds the attempts alone.
      const isLoading = error instanceof ModelError && error.reason === "loading";
      if (signal.aborted || (!isLoading && failures + 1 >= retryOptions.maxAttempts)) return null;
      const waitMs = waitBeforeRetry(error, failures, retryOptions, hasFallback);
      if (waitMs === null || performance.now() + waitMs > until) return null;
      const attempts = Math.max(failures + 2, retryOptions.maxAttempts);
      notify(progress.options.onRetry, failures + 2, attempts);
      return waitMs;
    },
    signal,
  );
}

/**
 * @param retries number of retries so far
 * @returns milliseconds; null: no retry on this model
 */
function waitBeforeRetry(
  error: unknown,
  retries: number,
  retryOptions: RetryOptions,
  hasFallback: boolean,
): number | null {
  if (!(error instanceof ModelError) || !error.retryable) return null;
  // The person has already waited for a whole timeout: try the fallback.
  if (error.kind === "timeout" && hasFallback) return null;
  if (error.retryAfterMs !== undefined) {
    return error.retryAfterMs > retryOptions.maxRetryAfterMs ? null : error.retryAfterMs;
  }
  const waitMs = backoffMs({ fromMs: retryOptions.firstDelayMs, toMs: retryOptions.maxDelayMs }, retries);
  // Jitter of one half: channels that failed together must not retry together.
  return waitMs * (0.5 + Math.random() / 2);
}

/** Tracks whether the person has seen text that another attempt voids. */
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

  /** Voids the text that was shown, if any. */
  restart(): void {
    if (this.#isShown) notify(this.#onRestart);
    this.#isShown = false;
  }
}

function asModelError(error: unknown, model: string, signal: AbortSignal): ModelError {
  if (signal.aborted) return new ModelError("aborted", model, "the caller ended the call", { cause: error });
  return classifyFailure(error, { model, messages: [] }, new Date());
}
