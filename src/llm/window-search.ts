import { MIN_WINDOW } from "../config/config.ts";
import { MAX_FACTOR, MIN_FACTOR } from "../core/calibration.ts";
import { windowBeside } from "./http/window-refusal.ts";
import type { LearnedSource, Suspicion } from "./catalog/window-evidence.ts";
import type { ModelError } from "./model.ts";

/**
 * Finds a model's window by what it refuses. Pure: what was tried goes in, what to try next and what was learned come out.
 *
 * A refusal that may be about size is tried with less, in the same turn, by a view that is made for that call alone. Words of the server
 * teach its window at once. Where the words are unknown, an answer to the smaller request is only a suspicion, for the cause may have
 * passed meanwhile: the next request of its natural size, of whatever channel, is the proof. If it is refused in the same words, the
 * window lies between, and is learned; if it is answered, the suspicion is dropped. So the proof costs one refused request, which
 * providers do not bill, once for each window; and nobody waits for a request that is made for the proof alone.
 */

/** A request that was refused. */
export interface Refused {
  readonly failure: ModelError;
  /** Estimated tokens of the whole request. */
  readonly estimated: number;
  /** Tokens of the window that it was made for. */
  readonly window: number;
  /** Tokens of that window that were kept free for the answer. */
  readonly reserve: number;
}

/** What is known of the model that is asked. */
export interface Known {
  /** Real tokens per estimated token. */
  readonly factor: number;
  /** Estimated tokens of the largest request that it has answered. */
  readonly answered: number;
  readonly suspicion: Suspicion | null;
}

/** `smaller`: a request for a window of so many tokens; `unchanged`: the same once more; `over`: a smaller one is of no use. */
export type SearchStep =
  | { readonly kind: "smaller"; readonly window: number }
  | { readonly kind: "unchanged" }
  | { readonly kind: "over" };

/** What a request teaches that was answered. */
export type Lesson =
  | { readonly kind: "learn"; readonly tokens: number; readonly source: LearnedSource }
  | { readonly kind: "suspect"; readonly suspicion: Suspicion }
  /** A request as large as the suspected one was answered. */
  | { readonly kind: "clear" };

/** Sizes of the next requests, as shares of the refused one: after a refusal for size, and after one for an unknown reason. */
const SHARES_OF_SIZE = [0.75, 0.5, 0.25] as const;
const SHARES_BY_RULE = [0.75, 0.5] as const;
/** A smaller request, in estimated tokens, fits each model that people use for conversations. */
const LEAST_SUSPECT = 2048;

/** The next request after refusals of one, the newest last. */
export function nextStep(refused: readonly Refused[], known: Known): SearchStep {
  const [first, last] = [refused[0], refused.at(-1)];
  if (first === undefined || last === undefined) return { kind: "over" };
  const by = reasonOf(last, known);
  // Each step is a call that may be paid: no wording and no count makes more of them than the steps by shares.
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
 * What is learned where a request is answered, after refusals of larger ones or after none.
 * @param answered.isCounted its provider has counted its tokens, so the estimate is corrected by that
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
    // Where nobody counts, the window has to stand for an estimate that is too low as well.
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

/** A server's way to say that a request is too large, whatever its words. */
const TOO_LARGE = 413;

/** The failure that stands after refusals: where the smaller one was refused as well, its size was not the reason. */
export function standingFailure([first]: readonly Refused[], known: Known): ModelError | undefined {
  if (first === undefined) return undefined;
  const { failure } = first;
  const isOfSize = failure.status === TOO_LARGE || reasonOf(first, known) === "size";
  return failure.kind === "context_length" && !isOfSize ? failure.asNotForSize() : failure;
}

/** May a smaller request than this one be answered? */
export function mayBeForSize(refused: Refused, known: Known): boolean {
  return reasonOf(refused, known) !== "no";
}

/** `size`: the server says so, by its words or its counts; `rule`: nobody knows, and the model has answered none as large. */
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

/** A failure of the moment: it says nothing, or nothing but that there was one. */
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
 * Can the window that an error tells be why this request was refused? What an error says may be what a person wrote: servers repeat it.
 * Where even a much too low estimate fits, it is not.
 */
function isCredible(refused: Refused, known: Known): boolean {
  const { window } = refused.failure;
  return window === undefined || (window >= MIN_WINDOW && window < mostOf(refused, known) + refused.reserve);
}

function toldBy(refused: Refused, known: Known): number | undefined {
  return isCredible(refused, known) ? refused.failure.window : undefined;
}

/** The most tokens that a request may have that was estimated so. */
function mostOf({ estimated }: Pick<Refused, "estimated">, { factor }: Known): number {
  return estimated * (factor === 1 ? MAX_FACTOR : Math.min(MAX_FACTOR, factor * 2));
}

function isSizeOf(refused: Refused, known: Known): (tokens: number) => boolean {
  const least = refused.estimated * Math.max(MIN_FACTOR, known.factor / 2);
  return (tokens) => tokens >= least && tokens <= mostOf(refused, known) + refused.reserve;
}

/** The window in which a request has room for a share of what this one takes. A quarter of it at most is kept free for the answer. */
function windowAt({ estimated, window, reserve }: Refused, share: number, { factor }: Known): number {
  const room = Math.floor(estimated * factor * share);
  return Math.min(room + Math.min(reserve, Math.floor(room / 3)), Math.floor(window * share));
}

const LONGEST_WORDS = 200;

/** What a refusal says, without its numbers, which may be of the one request alone. */
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
