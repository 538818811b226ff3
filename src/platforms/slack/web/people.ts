import { BoundedMap } from "../../../async/bounded-map.ts";

const MAX_CHANNELS = 1000;
const MAX_NAMES = 200;

/** Known people of each channel, so that `@name` in an answer can mention the person. */
export class People {
  readonly #channels = new BoundedMap<BoundedMap<string | null>>(MAX_CHANNELS);

  /**
   * If a second person takes a name, the name refers to nobody from then on.
   * @param channel Slack's channel id; for a thread, its channel's id
   */
  met(channel: string, id: string, name: string): void {
    const names = this.#channels.get(channel) ?? new BoundedMap<string | null>(MAX_NAMES);
    const key = name.toLowerCase();
    const known = names.get(key);
    names.set(key, known === undefined || known === id ? id : null);
    this.#channels.set(channel, names);
  }

  /** Ids by lower-case name; null: ambiguous. */
  of(channel: string): ReadonlyMap<string, string | null> {
    return new Map(this.#channels.get(channel)?.entries());
  }
}
