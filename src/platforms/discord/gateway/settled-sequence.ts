import type { GatewayPlace } from "../../../core/gateway.ts";

/** An event of a session. */
type Place = Pick<GatewayPlace, "session" | "sequence">;

/**
 * Up to which event of a session everything is taken, while events are taken side by side. Events of a session before count as well: what
 * is still being taken of them would be behind whoever goes on with the new session.
 */
export class SettledSequence {
  /** Events that are being taken, in order of arrival, so that the first is the oldest. */
  readonly #takings = new Set<Place>();
  #session: string | null = null;
  #newest = 0;
  #idle: PromiseWithResolvers<void> | null = null;

  /** A session begins, or goes on behind that event. */
  begin(session: string, sequence: number): void {
    this.#session = session;
    this.#newest = sequence;
  }

  /** An event came. @returns to be called once it is taken */
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

  /** Resolves when nothing is being taken. */
  async idle(): Promise<void> {
    if (this.#takings.size === 0) return;
    this.#idle = Promise.withResolvers<void>();
    await this.#idle.promise;
  }

  /** Everything up to there is taken. Null: no session has begun, or something of an earlier one is still being taken. */
  get settled(): Place | null {
    if (this.#session === null) return null;
    const [oldest] = this.#takings;
    if (oldest === undefined) return { session: this.#session, sequence: this.#newest };
    return oldest.session === this.#session
      ? { session: oldest.session, sequence: oldest.sequence - 1 }
      : null;
  }
}
