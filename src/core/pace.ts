import type { History } from "./history.ts";

/** How often a channel's agent is asked, as far as its view tells. */
export interface Pace {
  /** Its last request, ms since 1970; null: none is known. */
  readonly lastAt: number | null;
  /** Waits between the turns in view, ms, the newest last. */
  readonly waits: readonly number[];
}

/** Pure. What each turn has left in the log tells when it was; a turn that left nothing is not known. */
export function paceOf({ entries }: Pick<History, "entries">): Pace {
  const ends = new Map<number, number>();
  for (const entry of entries)
    if (entry.kind === "assistant" || entry.kind === "tool_call") ends.set(entry.turnId, entry.at.getTime());
  const times = [...ends.values()].toSorted((a, b) => a - b);
  return {
    lastAt: times.at(-1) ?? null,
    waits: times.slice(1).map((time, index) => time - (times[index] ?? time)),
  };
}
