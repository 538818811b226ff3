import type { History } from "../core/history.ts";
import type { Thoughts } from "../llm/model.ts";

/**
 * What the model has thought in a running turn before its calls. It is dropped whole as soon as anything that the model had seen is edited,
 * deleted or covered by a summary: nobody can read in it what it holds.
 */
export class TurnThoughts {
  #kept: readonly Thoughts[] = [];
  #seen: readonly string[] = [];

  /** Those that a request for this history may show. */
  of(history: History): readonly Thoughts[] {
    if (this.#kept.length === 0) return this.#kept;
    const now = seenIn(history);
    if (!this.#seen.every((one, place) => now[place] === one)) this.#kept = [];
    return this.#kept;
  }

  /** @param history as the request showed it that these are an answer to */
  add(thoughts: Thoughts | undefined, history: History): void {
    if (thoughts === undefined) return;
    this.#kept = [...this.#kept, thoughts];
    this.#seen = seenIn(history);
  }

  /** The calls behind the newest thoughts stand in the log under these ids. */
  renamed(callIds: readonly string[]): void {
    const newest = this.#kept.at(-1);
    if (newest !== undefined) this.#kept = [...this.#kept.slice(0, -1), { ...newest, callIds }];
  }
}

/** What a model sees of a history, piece by piece. */
function seenIn({ summaries, omittedTo, entries }: History): readonly string[] {
  return [
    String(omittedTo),
    ...summaries.map(({ fromSeq, toSeq, text }) => `${fromSeq}-${toSeq} ${text}`),
    ...entries.map(({ seq, text }) => `${seq} ${text}`),
  ];
}
