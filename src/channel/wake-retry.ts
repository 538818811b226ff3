import type { ChannelId } from "../core/ids.ts";
import { BackoffTimer } from "../async/backoff.ts";

const BACKOFF = { fromMs: 500, toMs: 30_000 };

/** Wakes channels again that could not be woken although something is due in them. */
export class WakeRetry {
  /** Channels that failed because the database was away: one failure ends the round. */
  readonly #away: Wakes;
  /** Channels that failed for an unknown reason: the others do not wait for them. */
  readonly #odd: Wakes;

  /** @param wake must not throw: where it fails again, it adds the channel again */
  constructor(wake: (id: ChannelId) => Promise<void>) {
    this.#away = new Wakes(wake);
    this.#odd = new Wakes(wake);
  }

  /** @param isAway the database was */
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
      // Still so, and the next try is set: the others would only wait for the same.
      if (this.#isClosed || this.#channels.has(id)) return;
    }
    if (this.#channels.size === 0) this.#timer.succeeded();
  }
}
