import { BoundedMap } from "../../../async/bounded-map.ts";

const MAX_CHANNELS = 1000;
const MAX_NAMES = 200;

/** Who was heard of in which channel, so that `@name` in an answer can mention the person. */
export class People {
  readonly #channels = new BoundedMap<BoundedMap<string | null>>(MAX_CHANNELS);

  /**
   * Anybody may take a name that somebody else has: from then on it stands for nobody.
   * @param channel Slack's id of it, of a thread that of its channel
   */
  met(channel: string, id: string, name: string): void {
    const names = this.#channels.get(channel) ?? new BoundedMap<string | null>(MAX_NAMES);
    const key = name.toLowerCase();
    const known = names.get(key);
    names.set(key, known === undefined || known === id ? id : null);
    this.#channels.set(channel, names);
  }

  /** Ids by name in lower case; null: of several. */
  of(channel: string): ReadonlyMap<string, string | null> {
    return new Map(this.#channels.get(channel)?.entries());
  }
}
