import { setBounded } from "./cache.ts";

const MAX_CHANNELS = 1000;
const MAX_NAMES = 200;

/** Who was heard of in which channel, so that `@name` in an answer can mention the person. */
export class People {
  readonly #channels = new Map<string, Map<string, string>>();

  /** @param channel Slack's id of it, of a thread that of its channel */
  met(channel: string, id: string, name: string): void {
    const names = this.#channels.get(channel) ?? new Map<string, string>();
    setBounded(names, name.toLowerCase(), id, MAX_NAMES);
    setBounded(this.#channels, channel, names, MAX_CHANNELS);
  }

  /** Ids by name in lower case. */
  of(channel: string): ReadonlyMap<string, string> {
    return this.#channels.get(channel) ?? new Map<string, string>();
  }
}
