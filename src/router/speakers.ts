import { createHash } from "node:crypto";
import { BoundedMap } from "../async/bounded-map.ts";
import type { ChannelId } from "../core/ids.ts";
import type { Author } from "../core/message.ts";
import { displayName, normalForm, sliceWhole, storableText } from "../text/text.ts";
import { withoutUnseen } from "../text/unseen.ts";
import type { SpeakerStore } from "../store/channels/names.ts";

/** People whose name in a channel is remembered; others are looked up. */
const MAX_KNOWN = 20_000;
/** Longest name without its mark, in UTF-16 units. */
const MAX_LENGTH = 60;
/** Names that mean Weir itself to a model, whatever the agent's name is. */
const RESERVED = ["weir", "system", "you", "assistant"];
/** Marks that only Weir adds to a name. */
const MARK = /[(\uff08]\s*(\d+|a person|a bot)\s*[)\uff09]/giu;

/** A transcript's words for tool calls. */
const CALL = /(\bcalled\s+\S*?)\(/giu;
const RESULT = /\breturned$/iu;

/**
 * The names of people in a channel's log: each is unlike the agent's and other people's. A name is settled when a message is
 * appended, and is in its row. So the history is the same after a restart, and a line never changes.
 */
export class Speakers {
  readonly #store: SpeakerStore;
  readonly #known = new BoundedMap<string>(MAX_KNOWN);
  /** By channel: the latest look-up of a name. */
  readonly #asked = new Map<ChannelId, Promise<string>>();

  constructor(store: SpeakerStore) {
    this.#store = store;
  }

  /**
   * Names of one channel resolve in the order of the calls, so that no message overtakes another whose author
   * has to be looked up.
   * @param agentNames the names of the channel's agent
   * @throws WeirError if the name has to be looked up and the database does not answer
   */
  async nameIn(
    channel: ChannelId,
    author: Pick<Author, "id" | "name" | "isBot">,
    agentNames: readonly string[],
  ): Promise<string> {
    const before = this.#asked.get(channel);
    const asked = this.#nameBehind(before, channel, author, agentNames);
    this.#asked.set(channel, asked);
    try {
      return await asked;
    } finally {
      if (this.#asked.get(channel) === asked) this.#asked.delete(channel);
    }
  }

  async #nameBehind(
    before: Promise<string> | undefined,
    channel: ChannelId,
    { id, name, isBot }: Pick<Author, "id" | "name" | "isBot">,
    agentNames: readonly string[],
  ): Promise<string> {
    // Its own caller gets its error.
    await before?.catch(() => undefined);
    const key = `${channel}\n${id}\n${isBot}\n${name}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const base = unreserved(name, isBot, agentNames);
    const number = await this.#store.number(channel, comparable(base), storableId(id));
    const shown = number === 1 ? base : `${base} (${number})`;
    this.#known.set(key, shown);
    return shown;
  }
}

/** Removes fake marks of a name, and marks an agent's name: `Weir (a person)`. Pure. */
export function unreserved(name: string, isBot: boolean, agentNames: readonly string[]): string {
  const unmarked = displayName(name).replaceAll(MARK, "$1").replaceAll(CALL, "$1 ");
  const own = sliceWhole(unmarked, 0, MAX_LENGTH).trim();
  const taken = [...RESERVED, ...agentNames.map((one) => comparable(displayName(one)))];
  return taken.includes(comparable(own)) || RESULT.test(own)
    ? `${own} (${isBot ? "a bot" : "a person"})`
    : own;
}

/** An id that the database can hold and index: a scripted platform gives any. */
function storableId(id: string): string {
  return id.length <= 200 ? storableText(id) : createHash("sha256").update(id).digest("hex");
}

/** Equal for names that differ only in case, width, spaces and invisible characters. */
function comparable(name: string): string {
  return normalForm(withoutUnseen(name), "NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}
