import { isDeepStrictEqual } from "node:util";
import { backoffMs } from "../async/backoff.ts";
import { pause } from "../async/clock.ts";
import { imagesOf } from "../core/canonical.ts";
import type { WindowEvidence } from "./catalog/window-evidence.ts";
import { failureOfCall } from "./http/model-failure.ts";
import {
  ModelError,
  type Model,
  type ModelAnswer,
  type ModelCallOptions,
  type ModelRequest,
} from "./model.ts";
import { notify } from "./notify.ts";
import { lessonOf, mayBeForSize, nextStep, type Refused, standingFailure } from "./window-search.ts";

export interface MadeRequest extends Pick<Refused, "estimated" | "window" | "reserve"> {
  readonly request: ModelRequest;
  /** Its token count may correct our estimates: it has the usual form and size. Default: false. */
  readonly teachesFactor?: true;
}

/** Makes the requests of one answer, for each model that may give it. */
export interface RequestMaker {
  readonly model: string;
  /**
   * @param model that model, or a fallback
   * @param window tokens of the largest window to use; Infinity: the model's own
   * @returns null: it cannot be made to fit
   * @throws ModelError why this model cannot be asked
   */
  make(model: string, window: number): Promise<MadeRequest | null>;
  /**
   * Its caller shortens requests itself: `make` is not called for a smaller one, and a refusal of the size by the first
   * model is thrown at once. Default: false.
   */
  readonly isShortenedByCaller?: true;
}

/** A model for calls that somebody waits for. */
export interface RetryingModel {
  /** @throws ModelError, and nothing else */
  answer(asked: ModelRequest | RequestMaker, options: ModelCallOptions): Promise<ModelAnswer>;
}

/** Limits on how long a person waits; all times in milliseconds. */
export interface RetryOptions {
  /** Models to try in order after the requested one has failed. */
  readonly fallbacks: readonly string[];
  readonly maxAttempts: number;
  /** Delay before the second attempt; it doubles with each further one. */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
  /** No retry if the server asks for a longer wait. */
  readonly maxRetryAfterMs: number;
  /**
   * No attempt begins after this time; each model but the last may retry for its share. An attempt in flight continues:
   * it may be writing the answer, and has its own timeouts.
   */
  readonly budgetMs: number;
  /** Called for each answer from a fallback, with the requested model's failure. */
  readonly onPassedOver: (answeredBy: string, first: ModelError) => void;
  /** The evidence on a model's window, which also collects new evidence; default: none. */
  readonly evidenceOf: (model: string) => WindowEvidence | null;
}

const DEFAULTS: RetryOptions = {
  fallbacks: [],
  maxAttempts: 3,
  firstDelayMs: 500,
  maxDelayMs: 8000,
  maxRetryAfterMs: 20_000,
  budgetMs: 120_000,
  onPassedOver: () => undefined,
  evidenceOf: () => null,
};

/**
 * A model for calls that a person waits for: retries with back-off, honours `Retry-After`, sends a smaller request if
 * the size may be the reason of a refusal (`window-search.ts`), then tries the fallbacks, each with its own request.
 *
 * `aborted` and `not_allowed` are thrown at once. Otherwise the last failure is thrown; its message also has the
 * requested model's failure, which the operator has to fix. But if a fallback failed with `context_length`, that
 * failure is thrown.
 */
export function createRetryingModel(model: Model, overrides: Partial<RetryOptions> = {}): RetryingModel {
  const retryOptions = { ...DEFAULTS, ...overrides };
  return {
    async answer(asked, options) {
      const maker = "make" in asked ? asked : plainMaker(asked);
      const names = [...new Set([maker.model, ...retryOptions.fallbacks])];
      const deadline = performance.now() + retryOptions.budgetMs;
      const progress = new ShownText(options);
      let first: ModelError | undefined;
      let last: ModelError | undefined;
      let overflow: ModelError | undefined;
      for (const [position, name] of names.entries()) {
        const left = names.length - position;
        if (last !== undefined && performance.now() >= deadline) break;
        const until = performance.now() + (deadline - performance.now()) / left;
        const rules = { retryOptions, until, hasFallback: left > 1 };
        try {
          const answer = await answerWithRetries(model, maker, name, options.signal, progress, rules);
          // Skips a fallback whose window is too small for the shortest request.
          if (answer === null) continue;
          const failure = first;
          if (failure !== undefined) notify(() => retryOptions.onPassedOver(name, failure));
          return answer;
        } catch (error) {
          if (error instanceof MakerError) throw error.cause;
          last = failureOfCall(error, name, options.signal);
          if (last.kind === "aborted" || last.kind === "not_allowed") throw last;
          const isOverflow = last.kind === "context_length";
          if (isOverflow && position === 0 && maker.isShortenedByCaller === true) throw last;
          if (isOverflow && position > 0) overflow ??= last;
          first ??= last;
        }
      }
      throw (
        overflow ??
        withFirst(last, first) ??
        new ModelError("unavailable", maker.model, "no attempt was made")
      );
    },
  };
}

/** For a finished request without an estimate of its size. */
function plainMaker(request: ModelRequest): RequestMaker {
  return {
    model: request.model,
    isShortenedByCaller: true,
    make: async (model) => ({ request: { ...request, model }, estimated: 0, window: Infinity, reserve: 0 }),
  };
}

/** The last failure; its message and its brief end with the first failure's if they differ. */
function withFirst(last: ModelError | undefined, first: ModelError | undefined): ModelError | undefined {
  if (last === undefined || first === undefined || first === last) return last;
  const isOurs = last.brief === undefined && first.brief === undefined;
  const brief = isOurs ? undefined : `${shortly(last)}; before it, ${first.model}: ${shortly(first)}`;
  const both = last.withMessage(`${last.message} (before it, ${first.model}: ${first.message})`, brief);
  return first.mayBeSize ? both.asMaybeSize() : both;
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

/**
 * Asks one model, up to `maxAttempts` times, and more often if a smaller request may be answered.
 * @returns null: no request can be made for it
 */
async function answerWithRetries(
  model: Model,
  maker: RequestMaker,
  name: string,
  signal: AbortSignal,
  progress: ShownText,
  rules: RetryRules,
): Promise<ModelAnswer | null> {
  const { maxAttempts, evidenceOf } = rules.retryOptions;
  let made = await ofMaker(maker.make(name, Infinity));
  if (made === null) return null;
  const evidence = evidenceOf(made.request.model);
  const refused: Refused[] = [];
  for (;;) {
    progress.restart();
    try {
      const answer = await model.answer(made.request, progress.options);
      if (evidence !== null) learn(evidence, refused, made, answer);
      return answer;
    } catch (error) {
      const failure = failureOfCall(error, name, signal);
      if (failure.kind === "aborted" || failure.kind === "not_allowed") throw failure;
      const { estimated, window, reserve } = made;
      refused.push({ failure, estimated, window, reserve });
      const smaller: MadeRequest | "unchanged" | null =
        evidence === null ? null : await smallerRequest(maker, name, made, refused, evidence);
      const waitMs = waitBeforeNext(failure, refused.length, smaller, rules);
      if (signal.aborted || waitMs === null) throw endedBy(refused, evidence, maker);
      if (failure.retryable)
        notify(progress.options.onRetry, refused.length + 1, Math.max(maxAttempts, refused.length + 1));
      await pause(waitMs, signal);
      if (signal.aborted) throw failure;
      if (smaller !== null && smaller !== "unchanged") made = smaller;
    }
  }
}

/**
 * The next request after refusals; null: no smaller one.
 * @param sent the last one that was refused
 */
async function smallerRequest(
  maker: RequestMaker,
  name: string,
  sent: MadeRequest,
  refused: readonly Refused[],
  evidence: WindowEvidence,
): Promise<MadeRequest | "unchanged" | null> {
  if (maker.isShortenedByCaller === true) return null;
  const tried = [...refused];
  for (;;) {
    const last = tried.at(-1);
    const step = nextStep(tried, evidence);
    if (last === undefined || step.kind !== "smaller") return step.kind === "unchanged" ? "unchanged" : null;
    const made = await ofMaker(maker.make(name, step.window));
    // What always stays may leave the same request for two windows. The server would refuse it again.
    if (made === null || !isDeepStrictEqual(made.request, sent.request)) return made;
    tried.push({ ...last, window: step.window });
  }
}

/** A failure of our own, such as of the log: the model did not fail, so no other is asked. */
class MakerError extends Error {}

async function ofMaker(made: ReturnType<RequestMaker["make"]>): ReturnType<RequestMaker["make"]> {
  try {
    return await made;
  } catch (error) {
    throw error instanceof ModelError ? error : new MakerError("no request", { cause: error });
  }
}

/** @returns ms; null: no further attempt */
function waitBeforeNext(
  failure: ModelError,
  failures: number,
  smaller: MadeRequest | "unchanged" | null,
  { retryOptions, until, hasFallback }: RetryRules,
): number | null {
  // If the server may only be down, a fallback is better than more attempts.
  const isEnough = smaller === null || (failure.retryable && hasFallback);
  // A model that is loading answers soon: only the time limits its attempts.
  if (isEnough && failure.reason !== "loading" && failures >= retryOptions.maxAttempts) return null;
  const waitMs =
    smaller === null || failure.retryable
      ? waitBeforeRetry(failure, failures - 1, retryOptions, hasFallback)
      : 0;
  return waitMs === null || performance.now() + waitMs > until ? null : waitMs;
}

/** The failure after the last attempt at a model. */
function endedBy(
  refused: readonly Refused[],
  evidence: WindowEvidence | null,
  maker: RequestMaker,
): ModelError {
  const last = refused.at(-1);
  if (last === undefined) return new ModelError("unavailable", maker.model, "no attempt was made");
  if (evidence === null) return last.failure;
  if (maker.isShortenedByCaller === true)
    return mayBeForSize(last, evidence) ? last.failure.asMaybeSize() : last.failure;
  const wasMadeSmaller = refused.some(({ window }) => window < (refused[0]?.window ?? 0));
  return wasMadeSmaller || last.failure.kind === "context_length"
    ? (standingFailure(refused, evidence) ?? last.failure)
    : last.failure;
}

/** Learns from an answered request, perhaps after refusals of larger ones. */
export function learn(
  evidence: WindowEvidence,
  refused: readonly Refused[],
  made: Pick<MadeRequest, "estimated" | "window" | "request" | "teachesFactor">,
  { usage }: Pick<ModelAnswer, "usage">,
): void {
  const { estimated, window, request, teachesFactor = false } = made;
  const lesson = lessonOf(refused, { estimated, window, isCounted: usage !== undefined }, evidence);
  const hasImages = request.messages.some((message) => imagesOf(message).length > 0);
  evidence.noteAnswer({ estimated, hasImages, teachesFactor }, usage);
  if (lesson?.kind === "learn") evidence.learn(lesson.tokens, lesson.source);
  else if (lesson !== null) evidence.suspect(lesson.kind === "clear" ? null : lesson.suspicion);
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
  // Jitter of one half, since channels that failed together must not retry together.
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

  restart(): void {
    if (this.#isShown) notify(this.#onRestart);
    this.#isShown = false;
  }
}
