import type { GatewayPlace } from "../../../core/gateway.ts";

type Place = Pick<GatewayPlace, "session" | "sequence">;

/**
 * The last event of a session up to which all are processed, while events are processed concurrently. Unfinished events
 * of an earlier session count as well: a successor that resumes the new session would not receive them again.
 */
export class SettledSequence {
  /** Unfinished events in order of arrival, the oldest first. */
  readonly #takings = new Set<Place>();
  #session: string | null = null;
  #newest = 0;
  #idle: PromiseWithResolvers<void> | null = null;

  /** A session begins, or continues after that event. */
  begin(session: string, sequence: number): void {
    this.#session = session;
    this.#newest = sequence;
  }

  /** An event has arrived. @returns a function to call once it is processed */
  came(sequence: number): () => void {
    this.#newest = Math.max(this.#newest, sequence);
    if (this.#session === null) return () => undefined;
    const taking = { session: this.#session, sequence };
    this.#takings.add(taking);
    return () => {
      this.#takings.delete(taking);
      if (this.#takings.size === 0) this.#idle?.resolve();
    };
  }

  /** Resolves when no event is unfinished. */
  async idle(): Promise<void> {
    if (this.#takings.size === 0) return;
    this.#idle = Promise.withResolvers<void>();
    await this.#idle.promise;
  }

  /** All events up to here are processed. Null: no session has begun, or an earlier one has unfinished events. */
  get settled(): Place | null {
    if (this.#session === null) return null;
    const [oldest] = this.#takings;
    if (oldest === undefined) return { session: this.#session, sequence: this.#newest };
    return oldest.session === this.#session
      ? { session: oldest.session, sequence: oldest.sequence - 1 }
      : null;
  }
}
