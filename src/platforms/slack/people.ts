import { BoundedMap } from "../../core/bounded-map.ts";

const MAX_CHANNELS = 1000;
const MAX_NAMES = 200;

/** Who was heard of in which channel, so that `@name` in an answer can mention the person. */
export class People {
  readonly #channels = new BoundedMap<BoundedMap<string>>(MAX_CHANNELS);

  /** @param channel Slack's id of it, of a thread that of its channel */
  met(channel: string, id: string, name: string): void {
    const names = this.#channels.get(channel) ?? new BoundedMap<string>(MAX_NAMES);
    names.set(name.toLowerCase(), id);
    this.#channels.set(channel, names);
  }

  /** Ids by name in lower case. */
  of(channel: string): ReadonlyMap<string, string> {
    return new Map(this.#channels.get(channel)?.entries());
  }
}
