import type { RunningTurn } from "../../store/turns/turn-rows.ts";

/** Failures of its own after which a turn is settled with a plain sentence. */
const MAX_FAILURES = 3;
/**
 * Process ends after which a turn is settled. Deploys and crashes elsewhere cause most of them; but a message that
 * crashes its process must not do so forever, nor use up a process manager's restarts.
 */
const MAX_DEATHS = 10;
/** Process ends after which a turn waits before its next attempt. */
const CHANCE_DEATHS = 3;
const REST_FROM_MS = 1000;
const REST_TO_MS = 15_000;

/** The reason to settle a begun turn without another attempt; null: it is tried again. Pure. */
export function reasonToGiveUp({
  deaths,
  failures,
}: Pick<RunningTurn, "deaths" | "failures">): string | null {
  if (failures >= MAX_FAILURES) return `gave up: it failed ${failures} times by itself`;
  return deaths >= MAX_DEATHS ? `gave up: ${deaths} processes ended over it` : null;
}

/**
 * The delay before the next attempt of a turn whose processes ended. Meanwhile this process answers other channels, and
 * its own end does not count as an attempt. Pure.
 * @param fromMs the first delay; each further one is twice as long
 * @returns ms
 */
export function restBefore(deaths: number, fromMs: number = REST_FROM_MS): number {
  if (deaths < CHANCE_DEATHS || deaths >= MAX_DEATHS) return 0;
  return Math.min(REST_TO_MS, fromMs * 2 ** (deaths - CHANCE_DEATHS));
}
