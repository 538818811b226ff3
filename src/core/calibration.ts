/**
 * Calibration of our estimates by a provider's own counts. Tokens are "estimated" by the formula of `tokens.ts`, or "real": as
 * the model's provider counts them.
 */

/** A request that a provider has counted. */
export interface Anchor {
  /** Our estimate of the whole request. */
  readonly estimated: number;
  /** The provider's count of it. */
  readonly reported: number;
}

/** A request that this model's provider has counted. */
export interface ReportedUsage extends Anchor {
  readonly model: string;
}

/** How estimates of one channel's requests to one model become real tokens. */
export interface Calibration {
  /** Real tokens per estimated token of this model, > 0. */
  readonly factor: number;
  /** The channel's last request with a count from this model's provider; null: none. */
  readonly anchor: Anchor | null;
}

/** Without a report, estimates count unchanged. */
export const UNCALIBRATED: Calibration = { factor: 1, anchor: null };

/** Estimates are assumed to be at most twice too high. */
export const MIN_FACTOR = 0.5;
/** Estimates are assumed to be at most four times too low. */
export const MAX_FACTOR = 4;
/** Share of the difference by which the factor falls at one report. */
const FALL = 0.04;
/** In smaller requests, the provider's own wrapping is too large a part. */
const MIN_ESTIMATED = 200;
/** Reported per estimated token. A lower ratio comes from a provider that leaves out cached tokens; a higher one is a mistake. */
const MIN_RATIO = 0.4;
const MAX_RATIO = 8;

/** Whether a report is plausible, and its request large enough to calibrate by. */
export function isTelling({ estimated, reported }: Anchor): boolean {
  return estimated >= MIN_ESTIMATED && reported >= estimated * MIN_RATIO && reported <= estimated * MAX_RATIO;
}

/**
 * A model's factor after one more report. It rises at once, since an under-estimate no longer fits the window, and
 * falls slowly, since the next channel may use another language.
 */
export function nextFactor(factor: number, anchor: Anchor): number {
  if (!isTelling(anchor)) return factor;
  const seen = Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, anchor.reported / anchor.estimated));
  return seen >= factor ? seen : factor - (factor - seen) * FALL;
}

/**
 * Real tokens of a request. Tokens above the anchor are counted by the factor. A request below the anchor has lost content of
 * an unknown kind: all of it is counted by the factor or at the anchor's rate, whichever is more, but as no more than the
 * anchor; otherwise a slightly smaller request would count for more. Rises with `estimated`.
 */
export function realTokens(estimated: number, { factor, anchor }: Calibration): number {
  if (anchor === null) return estimated * factor;
  const above = estimated - anchor.estimated;
  if (above >= 0) return anchor.reported + above * factor;
  return Math.min(anchor.reported, estimated * Math.max(factor, anchor.reported / anchor.estimated));
}

/** The largest request, in estimated tokens, with at most this many real ones: the inverse of `realTokens`. */
export function estimatedRoom(real: number, { factor, anchor }: Calibration): number {
  if (anchor === null) return real / factor;
  const above = real - anchor.reported;
  if (above >= 0) return anchor.estimated + above / factor;
  return real / Math.max(factor, anchor.reported / anchor.estimated);
}
