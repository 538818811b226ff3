import { setTimeout as delay } from "node:timers/promises";

/**
 * Milliseconds since 1970 by a clock that does not jump: for durations. Times for people and models come from the injected
 * `now`, which a replay sets to the time of its recording.
 */
export function steadyNow(): number {
  return performance.timeOrigin + performance.now();
}

/** Longest wait of one timer, ms: a longer one would be over at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Longest drain, ms. Process managers kill a process that takes longer, and so does Weir itself. */
export const MAX_DRAIN_MS = 100_000;

/** Resolves after this time, or when the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
