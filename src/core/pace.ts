import type { TurnId } from "./ids.ts";

/** When a turn sent its first request, ms since 1970. */
export interface TurnTime {
  readonly id: TurnId;
  readonly at: number;
}

export const PACED_TURNS = 21;

export class Pace {
  #turns: readonly TurnTime[];

  /** @param turns the newest earlier ones, oldest first */
  constructor(turns: readonly TurnTime[] = []) {
    this.#turns = turns.slice(-PACED_TURNS);
  }

  /** Notes a turn's request; only its first counts. */
  note(id: TurnId, at: number): void {
    if (this.#turns.at(-1)?.id !== id) this.#turns = [...this.#turns, { id, at }].slice(-PACED_TURNS);
  }

  /** The turns before this one; default: all. */
  before(turn?: TurnId): PastPace {
    const times = this.#turns.filter(({ id }) => id !== turn).map(({ at }) => at);
    return { lastAt: times.at(-1) ?? null, waits: waitsBetween(times) };
  }

  /** Waits before the turns up to this one, which asks now, ms; its own is the last. */
  waitsUpTo({ id, at }: TurnTime): readonly number[] {
    const times = this.#turns.filter((one) => one.id !== id).map((one) => one.at);
    return waitsBetween([...times, at]);
  }
}

export interface PastPace {
  /** Start of the last turn, ms since 1970; null: unknown. */
  readonly lastAt: number | null;
  /** Waits between turns, ms, the newest last. */
  readonly waits: readonly number[];
}

function waitsBetween(times: readonly number[]): number[] {
  return times.slice(1).map((time, index) => Math.max(0, time - (times[index] ?? time)));
}
