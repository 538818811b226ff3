import { BoundedMap } from "../async/bounded-map.ts";
import type { Events } from "../telemetry/events.ts";

const MAX_KNOWN = 1000;

/**
 * Why models chose not to answer, by turn, for `/why`. In memory, and in no row: a reason is in the model's words, which may be those
 * of people, and a deletion does not look for it.
 */
export class SkipReasons implements Disposable {
  readonly #reasons = new BoundedMap<string>(MAX_KNOWN);
  readonly #end: () => void;

  constructor(events: Pick<Events, "on">) {
    this.#end = events.on((event) => {
      if (event.type === "turn_settled" && event.outcome === "skipped" && event.reason !== null)
        this.#reasons.set(String(event.turn), event.reason);
    });
  }

  of(turn: number): string | null {
    return this.#reasons.get(String(turn)) ?? null;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
