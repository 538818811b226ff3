import type { ChannelId, Seq } from "../../core/ids.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Carrier } from "./carrier.ts";
import { NO_TERM_KEYS, type TermKeys } from "./fingerprints.ts";
import { recoverTerms } from "./recovered-terms.ts";
import type { Derived, LookedThrough, Removal } from "./removal.ts";
import {
  lockShownIn,
  noteShownRemoved,
  readShownMemories,
  removedOf,
  type Shown,
  shownInThreads,
} from "./shown-elsewhere.ts";

/**
 * Removes words from everything that can hold them. A deletion, an edit and `/forget` each say which entries of a channel lost which terms;
 * each carrier then removes what repeats them, all in one transaction.
 *
 * Order: the carriers run in the order of their list, since some need what others have found. Then the same is done in the channels
 * that were shown removed memories, and in the threads whose prompts had removed texts.
 *
 * Locks: the channel's row of `search_progress` (`lock_search`), then its row of `channels`; both before the first carrier. Threads are
 * locked after their channel, each in the same way. Carriers lock rows of their own tables by id. Triggers remain only where a late
 * write must lose the words as well, or where words leave without a removal, by expiry or with the view.
 */
export class DeletionEngine {
  readonly #carriers: readonly Carrier[];
  readonly keys: TermKeys;

  /**
   * @param carriers in the order in which words are removed, as `allCarriers` has it
   * @param keys default: none, so that an expired text counts as having said anything
   */
  constructor(carriers: readonly Carrier[], keys: TermKeys = NO_TERM_KEYS) {
    this.#carriers = carriers;
    this.keys = keys;
  }

  /**
   * Finds the terms of expired entries in everything that may repeat them.
   * @param ahead default: nothing was searched before
   */
  async recover(
    client: Queryable,
    channel: ChannelId,
    seqs: readonly Seq[],
    ahead?: LookedThrough,
  ): Promise<ReadonlySet<string>> {
    return recoverTerms(client, { carriers: this.#carriers, keys: this.keys }, channel, seqs, ahead);
  }

  /**
   * Removes words from a channel, and from the channels that it has shown them to.
   * @param tx a transaction that holds the channel's lock
   */
  async remove(tx: Queryable, words: Omit<Removal, "keys" | "recover" | "derived">): Promise<Derived> {
    const { channel, cause } = words;
    const derived: Derived = {
      dueWork: [],
      reworded: [],
      calls: [],
      memories: [],
      promptTerms: new Map(),
      isViewCut: false,
    };
    const shown = cause.kind === "elsewhere" ? [] : await readShownMemories(tx, channel);
    const recover: Removal["recover"] = async (seqs) => this.recover(tx, channel, seqs);
    const removal = { ...words, keys: this.keys, recover, derived };
    for (const carrier of this.#carriers) await carrier.take?.(tx, removal);
    const inThreads = await shownInThreads(tx, channel, derived.promptTerms);
    await this.#removeElsewhere(tx, [...(await removedOf(tx, shown)), ...inThreads], removal);
    return derived;
  }

  /** The answers of the agent stay there, as in the channel itself. */
  async #removeElsewhere(
    tx: Queryable,
    shown: readonly Shown[],
    { terms, digester }: Removal,
  ): Promise<void> {
    for (const [channel, ones] of Map.groupBy(shown, (one) => one.channel)) {
      await lockShownIn(tx, channel);
      const { promptTerms } = await this.remove(tx, {
        channel,
        cause: { kind: "elsewhere" },
        seqs: [Math.min(...ones.map(({ from }) => from))],
        terms: new Set(ones.flatMap((one) => [...one.terms])).intersection(terms),
        digester,
      });
      if (promptTerms.has(channel) || ones.some(({ isInPrompt }) => isInPrompt))
        await noteShownRemoved(tx, channel);
    }
  }
}
