import { BoundedMap } from "../../async/bounded-map.ts";

const MAX_CHANNELS = 2000;
const MAX_NAMES = 200;

/** Ids of a channel's known people, by lower-case name; null: several people have the name. */
export type KnownNames = ReadonlyMap<string, string | null>;

/** Known people of each channel, so that `@name` in an answer can mention the person. */
export class KnownPeople {
  readonly #channels = new BoundedMap<BoundedMap<string | null>>(MAX_CHANNELS);

  /**
   * If a second person takes a name, the name refers to nobody from then on.
   * @param channel the platform's id; for a thread in Slack, its channel's id
   */
  met(channel: string, id: string, ...names: readonly string[]): void {
    const known = this.#channels.get(channel) ?? new BoundedMap<string | null>(MAX_NAMES);
    for (const key of new Set(names.map((name) => name.toLowerCase()))) {
      const before = known.get(key);
      known.set(key, before === undefined || before === id ? id : null);
    }
    this.#channels.set(channel, known);
  }

  of(channel: string): KnownNames {
    return new Map(this.#channels.get(channel)?.entries());
  }
}
