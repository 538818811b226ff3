import { MIN_WINDOW } from "../config/config.ts";
import { MAX_FACTOR, MIN_FACTOR } from "../core/calibration.ts";
import { windowBeside } from "./http/window-refusal.ts";
import type { LearnedSource, Suspicion, WindowEvidence } from "./catalog/window-evidence.ts";
import type { ModelError } from "./model.ts";

/**
 * Finds a model's window from refusals. Pure: it gets the tried requests, and returns the next one to try and the
 * lessons.
 *
 * After a refusal that may be about size, a smaller request is tried in the same turn, with a view made for that call
 * alone. If the server states its window, it is learned at once. If the wording is unknown, an answer to the smaller
 * request is only a suspicion, since the cause may have passed meanwhile: the next request of its natural size, in any
 * channel, is the test. If it is refused in the same words, the window lies between the two sizes, and is learned; if
 * it is answered, the suspicion is dropped. So a test costs one refused request for each window, which providers do not
 * bill; and no request is made for the test alone.
 */

export interface Refused {
  readonly failure: ModelError;
  /** Estimated tokens of the whole request. */
  readonly estimated: number;
  readonly window: number;
  /** Tokens of that window reserved for the answer. */
  readonly reserve: number;
}

export type Known = Pick<WindowEvidence, "factor" | "answered" | "suspicion">;

/** `smaller`: a request for a window of this size; `unchanged`: the same once more; `over`: a smaller one does not help. */
export type SearchStep =
  | { readonly kind: "smaller"; readonly window: number }
  | { readonly kind: "unchanged" }
  | { readonly kind: "over" };

export type Lesson =
  | { readonly kind: "learn"; readonly tokens: number; readonly source: LearnedSource }
  | { readonly kind: "suspect"; readonly suspicion: Suspicion }
  /** A request as large as the suspected one was answered. */
  | { readonly kind: "clear" };

/** Sizes of the next requests, as shares of the refused one: after a refusal for size, and after one for an unknown reason. */
const SHARES_OF_SIZE = [0.75, 0.5, 0.25] as const;
const SHARES_BY_RULE = [0.75, 0.5] as const;
/** Estimated tokens below which a request fits every model used for conversations. */
const LEAST_SUSPECT = 2048;

/** The next request after refusals, the newest last. */
export function nextStep(refused: readonly Refused[], known: Known): SearchStep {
  const [first, last] = [refused[0], refused.at(-1)];
  if (first === undefined || last === undefined) return { kind: "over" };
  const by = reasonOf(last, known);
  // Each step may cost a call, so no wording and no count allows more than the steps by shares.
  if (by === "no" || refused.length > SHARES_OF_SIZE.length) return { kind: "over" };
  const isNatural = last.window === first.window;
  if (isNatural && refused.length === 1 && mayPass(last.failure)) return { kind: "unchanged" };
  const told =
    toldBy(last, known) ??
    (by === "rule" ? windowBeside(last.failure.message, isSizeOf(last, known)) : undefined);
  if (told !== undefined && told >= MIN_WINDOW && told < last.window)
    return { kind: "smaller", window: told };
  const { suspicion } = known;
  if (
    isNatural &&
    suspicion !== null &&
    isSame(suspicion.words, last.failure) &&
    suspicion.window < last.window
  )
    return { kind: "smaller", window: suspicion.window };
  const shares = last.failure.kind === "context_length" ? SHARES_OF_SIZE : SHARES_BY_RULE;
  const windows = shares
    .map((share) => windowAt(first, share, known))
    .filter((window) => window >= MIN_WINDOW);
  const tried = Math.min(...refused.map(({ window }) => window));
  const window = windows.find((one) => one < tried);
  return window === undefined ? { kind: "over" } : { kind: "smaller", window };
}

/**
 * The lesson of an answered request, perhaps after refusals of larger ones.
 * @param answered.isCounted its provider has counted its tokens, which corrects the estimate
 */
export function lessonOf(
  refused: readonly Refused[],
  answered: { readonly estimated: number; readonly window: number; readonly isCounted: boolean },
  known: Known,
): Lesson | null {
  const { suspicion } = known;
  const first = refused.find((one) => reasonOf(one, known) !== "no");
  if (first === undefined || answered.window >= first.window)
    return suspicion !== null && answered.estimated >= suspicion.refused ? { kind: "clear" } : null;
  const { window } = answered;
  const last = refused.findLast((one) => reasonOf(one, known) === "size");
  if (last?.failure.isSurelySize === true) {
    // Without a count, the window must allow for an estimate that is too low.
    const tokens = answered.isCounted ? (toldBy(last, known) ?? window) : window;
    return {
      kind: "learn",
      tokens,
      source: tokens === last.failure.window ? last.failure.windowSource : "guessed",
    };
  }
  const words = wordsOf(first.failure);
  const isRepeated =
    suspicion !== null && isSame(suspicion.words, first.failure) && first.estimated > suspicion.answered;
  if (isRepeated) return { kind: "learn", tokens: window, source: "guessed" };
  return {
    kind: "suspect",
    suspicion: { window, answered: answered.estimated, refused: first.estimated, words },
  };
}

/** HTTP's status for a request that is too large, whatever the wording. */
const TOO_LARGE = 413;

/** The failure to report after refusals: if the smaller request was refused as well, the size was not the reason. */
export function standingFailure([first]: readonly Refused[], known: Known): ModelError | undefined {
  if (first === undefined) return undefined;
  const { failure } = first;
  const isOfSize = failure.status === TOO_LARGE || reasonOf(first, known) === "size";
  return failure.kind === "context_length" && !isOfSize ? failure.asNotForSize() : failure;
}

/** Whether a smaller request may be answered. */
export function mayBeForSize(refused: Refused, known: Known): boolean {
  return reasonOf(refused, known) !== "no";
}

/** `size`: the server's words or counts show it; `rule`: the reason is unknown, and the model has answered none as large. */
function reasonOf(refused: Refused, known: Known): "size" | "rule" | "no" {
  const { failure, estimated } = refused;
  const isOfSize = failure.kind === "context_length";
  if (isOfSize && failure.isSurelySize && isCredible(refused, known)) return "size";
  const isUnexplained = isOfSize || isWithoutReason(failure);
  return isUnexplained && estimated > known.answered && estimated >= LEAST_SUSPECT ? "rule" : "no";
}

/** Statuses of refusals; undefined: an error inside a stream. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 422, undefined]);

function isWithoutReason({ kind, status, reason }: ModelError): boolean {
  if (reason !== undefined) return false;
  if (kind === "empty") return true;
  return kind === "unavailable" ? status === 500 : kind === "rejected" && REFUSALS.has(status);
}

/** A momentary failure: without a message, or with a meaningless one. */
function mayPass({ kind, message }: ModelError): boolean {
  if (kind === "empty") return true;
  if (kind !== "unavailable") return false;
  const words = wordsOf({ message });
  return (
    words.length < 12 ||
    /internal (?:server )?error|server had an error|no body|something went wrong|<html/.test(words)
  );
}

/**
 * Whether the window in an error can be the reason of this refusal. Servers may repeat people's words in an error, so a
 * window in which even a much too low estimate fits does not count.
 */
function isCredible(refused: Refused, known: Known): boolean {
  const { window } = refused.failure;
  return window === undefined || (window >= MIN_WINDOW && window < mostOf(refused, known) + refused.reserve);
}

function toldBy(refused: Refused, known: Known): number | undefined {
  return isCredible(refused, known) ? refused.failure.window : undefined;
}

function mostOf({ estimated }: Pick<Refused, "estimated">, { factor }: Known): number {
  return estimated * (factor === 1 ? MAX_FACTOR : Math.min(MAX_FACTOR, factor * 2));
}

function isSizeOf(refused: Refused, known: Known): (tokens: number) => boolean {
  const least = refused.estimated * Math.max(MIN_FACTOR, known.factor / 2);
  return (tokens) => tokens >= least && tokens <= mostOf(refused, known) + refused.reserve;
}

/** The window for a request of a share of this one's size. At most a quarter of it is reserved for the answer. */
function windowAt({ estimated, window, reserve }: Refused, share: number, { factor }: Known): number {
  const room = Math.floor(estimated * factor * share);
  return Math.min(room + Math.min(reserve, Math.floor(room / 3)), Math.floor(window * share));
}

const LONGEST_WORDS = 200;

/** A refusal's words without its numbers, which may concern the one request only. */
export function wordsOf({ message }: Pick<ModelError, "message">): string {
  return message
    .slice(0, 4 * LONGEST_WORDS)
    .replaceAll(/\d+/g, "#")
    .toLowerCase()
    .replaceAll(/[^\p{L}#<]+/gu, " ")
    .trim()
    .slice(0, LONGEST_WORDS);
}

function isSame(words: string, failure: ModelError): boolean {
  return words === wordsOf(failure);
}
