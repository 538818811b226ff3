import { createHash } from "node:crypto";
import { BoundedMap } from "../async/bounded-map.ts";
import type { ChannelId } from "../core/ids.ts";
import type { Author } from "../core/message.ts";
import { displayName, normalForm, sliceWhole, storableText } from "../text/text.ts";
import type { SpeakerStore } from "../store/channels/speakers.ts";

/** People whose name in a channel is remembered; others are looked up. */
const MAX_KNOWN = 20_000;
/** Longest name before what tells it apart, in UTF-16 units. */
const MAX_LENGTH = 60;
/** Names that stand for Weir itself in what a model reads, whatever the agent is called. */
const RESERVED = ["weir", "system", "you", "assistant"];
/** What only Weir writes behind a name. */
const MARK = /[(\uff08]\s*(\d+|a person|a bot)\s*[)\uff09]/giu;

/** What tools do, in the words of a transcript. */
const CALL = /(\bcalled\s+\S*?)\(/giu;
const RESULT = /\breturned$/iu;

/**
 * How people are called in a channel, for whoever reads its log: nobody has the agent's name or somebody else's. It is settled
 * when a message is appended and stands in its row, so the history says the same after a restart, and a line never changes.
 */
export class Speakers {
  readonly #store: SpeakerStore;
  readonly #known = new BoundedMap<string>(MAX_KNOWN);
  /** By channel the last of those whose name is being looked up. */
  readonly #asked = new Map<ChannelId, Promise<string>>();

  constructor(store: SpeakerStore) {
    this.#store = store;
  }

  /**
   * Of one channel they resolve in the order in which they were asked for, so that no message overtakes one whose author has to
   * be looked up.
   * @param agentNames what the agent of the channel is called
   * @throws WeirError if it has to be looked up, and the database does not answer
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
    // Its own asker is told of a failure.
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

/** A name that is not the agent's and has no mark of ours: `Weir (a person)`. Pure. */
export function unreserved(name: string, isBot: boolean, agentNames: readonly string[]): string {
  const unmarked = displayName(name).replaceAll(MARK, "$1").replaceAll(CALL, "$1 ");
  const own = sliceWhole(unmarked, 0, MAX_LENGTH).trim();
  const taken = [...RESERVED, ...agentNames.map((one) => comparable(displayName(one)))];
  return taken.includes(comparable(own)) || RESULT.test(own)
    ? `${own} (${isBot ? "a bot" : "a person"})`
    : own;
}

/** An id that the database can hold and index: a platform of scripts gives any. */
function storableId(id: string): string {
  return id.length <= 200 ? storableText(id) : createHash("sha256").update(id).digest("hex");
}

/** Alike for names that look alike but for case, width and spaces. */
function comparable(name: string): string {
  return normalForm(name, "NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim();
}
