import { backoffMs, jittered } from "../../async/backoff.ts";
import { pause } from "../../async/clock.ts";
import { ABORTED, unlessAborted } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import { type Platform, PlatformError } from "../../platforms/platform.ts";
import { StaleEpochError } from "../../store/database/errors.ts";
import type { Events } from "../../telemetry/events.ts";

/**
 * Repeats a call until it is done.
 * @returns `failed`: the platform refuses it for good; `left`: this daemon is closing, has lost the channel, or no
 * longer serves its platform: the channel's next owner repeats the call
 */
export type Insist = <Result>(
  ask: () => Promise<Result>,
) => Promise<{ readonly result: Result } | "failed" | "left">;

/** First and longest wait before an answer is sent again, give or take a quarter, ms. */
export const BACKOFF = { fromMs: 500, toMs: 20_000 };

export interface InsisterParts {
  readonly address: ChannelAddress;
  readonly platform: Platform;
  readonly events: Events;
  /** Called if another daemon has taken the channel. */
  readonly onLost: (error: StaleEpochError) => void;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

/** Repeats a channel's calls to its platform, and reports their failures. */
export class Insister {
  readonly #parts: InsisterParts;

  constructor(parts: InsisterParts) {
    this.#parts = parts;
  }

  readonly insist: Insist = async (ask) => {
    const { signal } = this.#parts;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        // A platform that never answers must not keep the channel from being released: the next owner asks again.
        const result = await unlessAborted(ask(), signal);
        if (result === ABORTED) break;
        return { result };
      } catch (error) {
        if (error instanceof StaleEpochError) {
          this.#parts.onLost(error);
          return "left";
        }
        const isFinal = error instanceof PlatformError && !error.retryable;
        const retryInMs = isFinal
          ? null
          : ((error instanceof PlatformError ? error.retryAfterMs : undefined) ??
            jittered(backoffMs(BACKOFF, failures)));
        // This process can no longer deliver there: the work stays in the log for a process that can.
        const isLeft = retryInMs !== null && !this.#isServed;
        this.tellFailure(error, isLeft ? null : retryInMs);
        if (retryInMs === null) return "failed";
        if (isLeft) return "left";
        await pause(retryInMs, signal);
      }
    }
    return "left";
  };

  get #isServed(): boolean {
    const { platform, address } = this.#parts;
    return platform.capabilities.serves(address);
  }

  tellFailure(error: unknown, retryInMs: number | null): void {
    const kind = error instanceof PlatformError ? error.kind : "error";
    const channel = formatAddress(this.#parts.address);
    this.#parts.events.emit({ type: "delivery_failed", channel, kind, why: errorMessage(error), retryInMs });
  }
}
