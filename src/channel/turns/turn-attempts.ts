import type { RunningTurn } from "../../store/turns/turn-rows.ts";

/** Own failures after which a turn is settled with a plain sentence. */
const MAX_FAILURES = 3;
/**
 * Ends of processes after which it is settled. A deploy or a crash elsewhere ends most processes; but a message that ends its process
 * must not do so for ever, nor use up the restarts that a process manager allows.
 */
const MAX_DEATHS = 10;
/** Ends of processes after which a turn waits before it is begun again. */
const CHANCE_DEATHS = 3;
const REST_FROM_MS = 1000;
const REST_TO_MS = 15_000;

/** Whether a turn that was begun is settled without another attempt, and why; null: it is tried. Pure. */
export function reasonToGiveUp({
  deaths,
  failures,
}: Pick<RunningTurn, "deaths" | "failures">): string | null {
  if (failures >= MAX_FAILURES) return `gave up: it failed ${failures} times by itself`;
  return deaths >= MAX_DEATHS ? `gave up: ${deaths} processes ended over it` : null;
}

/**
 * The delay before a turn during which processes have ended is begun again. Meanwhile this process answers the other channels, and its
 * own end does not count as an attempt. Pure.
 * @param fromMs the first delay; each is twice the one before
 * @returns ms
 */
export function restBefore(deaths: number, fromMs: number = REST_FROM_MS): number {
  if (deaths < CHANCE_DEATHS || deaths >= MAX_DEATHS) return 0;
  return Math.min(REST_TO_MS, fromMs * 2 ** (deaths - CHANCE_DEATHS));
}
