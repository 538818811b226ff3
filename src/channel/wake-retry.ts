import type { ChannelId } from "../core/ids.ts";
import { BackoffTimer } from "../async/backoff.ts";

const BACKOFF = { fromMs: 500, toMs: 30_000 };

/** Retries failed wakes of channels with due work. */
export class WakeRetry {
  /** Channels that failed because the database was away: one failure ends the round. */
  readonly #away: Wakes;
  /** Channels that failed for an unknown reason: the others do not wait for them. */
  readonly #odd: Wakes;

  /** @param wake must not throw; after a failure it calls {@link add} again */
  constructor(wake: (id: ChannelId) => Promise<void>) {
    this.#away = new Wakes(wake);
    this.#odd = new Wakes(wake);
  }

  /** @param isAway whether the database was away */
  add(id: ChannelId, isAway: boolean): void {
    (isAway ? this.#away : this.#odd).add(id);
  }

  close(): void {
    this.#away.close();
    this.#odd.close();
  }
}

class Wakes {
  readonly #wake: (id: ChannelId) => Promise<void>;
  readonly #channels = new Set<ChannelId>();
  readonly #timer = new BackoffTimer(BACKOFF);
  #isClosed = false;

  constructor(wake: (id: ChannelId) => Promise<void>) {
    this.#wake = wake;
  }

  add(id: ChannelId): void {
    this.#channels.add(id);
    if (!this.#isClosed) this.#timer.schedule(() => void this.#retry());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer.cancel();
  }

  async #retry(): Promise<void> {
    for (const id of Array.from(this.#channels)) {
      this.#channels.delete(id);
      await this.#wake(id);
      // The failure persists and the next attempt is scheduled: the other channels would fail as well.
      if (this.#isClosed || this.#channels.has(id)) return;
    }
    if (this.#channels.size === 0) this.#timer.succeeded();
  }
}
