import type { History } from "../core/history.ts";
import type { Thoughts } from "../llm/model.ts";

/**
 * The model's thoughts before its calls in a running turn. All are dropped once any text that the model has read is
 * edited, deleted or covered by a summary, since thoughts may repeat it unreadably.
 */
export class TurnThoughts {
  #kept: readonly Thoughts[] = [];
  #seen: readonly string[] = [];

  of(history: History): readonly Thoughts[] {
    if (this.#kept.length === 0) return this.#kept;
    const now = seenIn(history);
    if (!this.#seen.every((one, place) => now[place] === one)) this.#kept = [];
    return this.#kept;
  }

  /** @param history of the request to which the thoughts belong */
  add(thoughts: Thoughts | undefined, history: History): void {
    if (thoughts === undefined) return;
    this.#kept = [...this.#kept, thoughts];
    this.#seen = seenIn(history);
  }

  /** Sets the ids under which the log has the calls after the newest thoughts. */
  renamed(callIds: readonly string[]): void {
    const newest = this.#kept.at(-1);
    if (newest !== undefined) this.#kept = [...this.#kept.slice(0, -1), { ...newest, callIds }];
  }
}

/** The texts of a history that a model sees. */
function seenIn({ summaries, omittedTo, entries }: History): readonly string[] {
  return [
    String(omittedTo),
    ...summaries.map(({ fromSeq, toSeq, text }) => `${fromSeq}-${toSeq} ${text}`),
    ...entries.map(({ seq, text }) => `${seq} ${text}`),
  ];
}
