import { BoundedMap } from "../async/bounded-map.ts";
import type { TurnId } from "../core/ids.ts";

/** Remembered questions: work that a turn has begun may long outlive it. */
const MOST_QUESTIONS = 10_000;

/**
 * The model calls of each question: of the turn that answers it, of the work that it begins, and of the turns that follow from
 * both. In memory; the log has the stored ones.
 */
export class CallCounts {
  readonly #calls = new BoundedMap<number>(MOST_QUESTIONS);

  /** @param stored the log's number */
  of(question: TurnId, stored = 0): number {
    const calls = Math.max(stored, this.#calls.get(String(question)) ?? 0);
    this.#calls.set(String(question), calls);
    return calls;
  }

  /** Counts one more call. @returns false: the limit is reached */
  take(question: TurnId, most: number): boolean {
    const calls = this.of(question);
    if (calls >= most) return false;
    this.#calls.set(String(question), calls + 1);
    return true;
  }
}
