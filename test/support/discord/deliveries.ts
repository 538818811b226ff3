import type { WorldEvent } from "./records.ts";

/** Faults of events on their way to a session, over an intact connection. */
export class Deliveries {
  readonly #forward: (event: WorldEvent) => void;
  readonly #duplicates = new Map<string, number>();
  readonly #losses = new Map<string, number>();
  #held: WorldEvent[] | null = null;

  constructor(forward: (event: WorldEvent) => void) {
    this.#forward = forward;
  }

  /** The next events of this type arrive twice, with separate numbers. */
  duplicate(t: string, times = 1): void {
    this.#duplicates.set(t, (this.#duplicates.get(t) ?? 0) + times);
  }

  /** The next events of this type never arrive, not even by a RESUME: they are only in the history. */
  lose(t: string, times = 1): void {
    this.#losses.set(t, (this.#losses.get(t) ?? 0) + times);
  }

  /** Holds all events back until they are released. */
  hold(): void {
    this.#held ??= [];
  }

  release(order: "as-they-came" | "reversed" = "as-they-came"): void {
    const held = this.#held ?? [];
    this.#held = null;
    if (order === "reversed") held.reverse();
    for (const event of held) this.#forward(event);
  }

  offer(event: WorldEvent): void {
    if (takeOne(this.#losses, event.t)) return;
    const times = takeOne(this.#duplicates, event.t) ? 2 : 1;
    for (let index = 0; index < times; index += 1) {
      if (this.#held === null) this.#forward(event);
      else this.#held.push(event);
    }
  }
}

function takeOne(counts: Map<string, number>, t: string): boolean {
  const left = counts.get(t) ?? 0;
  if (left === 0) return false;
  counts.set(t, left - 1);
  return true;
}
