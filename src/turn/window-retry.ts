import { MIN_WINDOW } from "../config/config.ts";
import type { Budget } from "../context/usage.ts";
import { MAX_FACTOR } from "../core/calibration.ts";

/** A request that was sent, as a refusal of it is judged. */
export interface SentRequest {
  /** The server's name of the model. */
  readonly model: string;
  /** Estimated tokens of the whole request. */
  readonly estimated: number;
  readonly budget: Budget;
}

/** What is sent after a refusal that says nothing more, as a share of what was refused. */
const RETRY_SHARE = 0.75;

/**
 * Can a window of so many tokens be why this request was refused? What an error says may be what a person wrote:
 * servers repeat it. Where even a much too low estimate fits, it is not.
 * @param told undefined: the server named none
 */
export function isCredible(told: number | undefined, { estimated, budget }: SentRequest): boolean {
  return told === undefined || (told >= MIN_WINDOW && told < estimated * MAX_FACTOR + budget.reserve);
}

/**
 * The window, in tokens, that the next request is made for after a refusal.
 * @param told as the server named it, if it did
 * @returns null if no smaller one is of use
 */
export function smallerWindow(told: number | undefined, { estimated, budget }: SentRequest): number | null {
  if (told !== undefined && told < budget.window) return told;
  // The window is what we believed, or nobody knows it: what was sent is more than fits, and that is all there is to
  // go by.
  const room = Math.floor(estimated * budget.calibration.factor * RETRY_SHARE);
  const guess = Math.min(room + Math.min(budget.reserve, room), Math.floor(budget.window * RETRY_SHARE));
  return guess >= MIN_WINDOW ? guess : null;
}
