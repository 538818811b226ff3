import type { ChannelId, Seq } from "../../core/ids.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Carrier } from "./carrier.ts";
import { NO_TERM_KEYS, type TermKeys } from "./fingerprints.ts";
import { recoverTerms } from "./recovered-terms.ts";
import type { Derived, LookedThrough, PromptTerms, Removal } from "./removal.ts";
import { tellingTerms } from "../../text/terms.ts";

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
   * @param carriers in the order of `allCarriers`
   * @param keys default: none; without them an expired text may have said anything
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

interface Shown {
  readonly channel: ChannelId;
  /** The first message that may have been answered with it. */
  readonly from: Seq;
  /** The terms by which it repeats what was said. */
  readonly terms: ReadonlySet<string>;
  /** It stood in the prompt: any turn there may have been shown it, and its calls do not say so. */
  readonly isInPrompt: boolean;
}

interface ShownMemory extends Shown {
  readonly id: number;
}

/**
 * The memories of a channel that other channels were shown.
 * @param tx a transaction that holds the channel's lock, and has removed nothing yet
 */
async function readShownMemories(tx: Queryable, channel: ChannelId): Promise<ShownMemory[]> {
  const rows = await tx.query<
    Omit<ShownMemory, "terms" | "isInPrompt"> & {
      subject: string;
      statement: string;
      telling: string[] | null;
    }
  >(
    "memories_shown",
    `select m.id, m.subject, m.statement, m.telling, s.channel_id as channel, s.seq as from
       from memories m join memory_showings s on s.memory_id = m.id
      where m.channel_id = $1 order by s.channel_id, m.id`,
    [channel],
  );
  return rows.map(({ subject, statement, telling, ...shown }) => {
    const terms = new Set(telling ?? tellingTerms(`${subject} ${statement}`));
    return { ...shown, terms, isInPrompt: false };
  });
}

async function removedOf(tx: Queryable, shown: readonly ShownMemory[]): Promise<ShownMemory[]> {
  if (shown.length === 0) return [];
  const left = await tx.query<{ id: number }>(
    "memories_shown_left",
    "select id from memories where id = any($1)",
    [shown.map(({ id }) => id)],
  );
  const ids = new Set(left.map(({ id }) => id));
  return shown.filter(({ id }) => !ids.has(id));
}

/** What prompts in the threads of a channel had of removed texts: its own and the thread's. No row says which turn was shown which. */
async function shownInThreads(tx: Queryable, channel: ChannelId, removed: PromptTerms): Promise<Shown[]> {
  if (removed.size === 0) return [];
  const threads = await tx.query<{ id: ChannelId }>(
    "threads_shown",
    "select id from thread_channels($1) id order by id",
    [channel],
  );
  const termsOf = (of: ChannelId): ReadonlySet<string> => removed.get(of) ?? new Set();
  return threads
    .map(({ id }) => ({ channel: id, terms: termsOf(channel).union(termsOf(id)) }))
    .filter(({ terms }) => terms.size > 0)
    .map((one) => ({ ...one, from: 0, isInPrompt: true }));
}

/** Takes a channel's lock, so that no text and no call with the removed words is written there meanwhile. */
export async function lockShownIn(tx: Queryable, channel: ChannelId): Promise<void> {
  await tx.query("shown_lock", "select lock_shown_in($1)", [channel]);
}

/** Notes that the running turns of a channel may know removed texts: their calls are logged without words until they begin again. */
export async function noteShownRemoved(tx: Queryable, channel: ChannelId): Promise<void> {
  await tx.query("shown_gone", "select note_shown_gone($1)", [channel]);
}
