import { type ChannelId, type Seq, channelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import type { PromptTerms } from "./removal.ts";

/** What another channel was shown. */
export interface Shown {
  readonly channel: ChannelId;
  /** The first message that may have been answered with it. */
  readonly from: Seq;
  /** The terms by which it repeats what was said. */
  readonly terms: ReadonlySet<string>;
  /** It stood in the prompt: any turn there may have been shown it, and its calls do not say so. */
  readonly isInPrompt: boolean;
}

export interface ShownMemory extends Shown {
  readonly id: number;
}

/**
 * The memories of a channel that other channels were shown.
 * @param tx a transaction that holds the channel's lock, and has removed nothing yet
 */
export async function readShownMemories(tx: Queryable, channel: ChannelId): Promise<ShownMemory[]> {
  const rows = await tx.query<{
    id: number;
    subject: string;
    statement: string;
    telling: string[] | null;
    channelId: number;
    seq: Seq;
  }>(
    {
      name: "memories_shown",
      text: `select m.id, m.subject, m.statement, m.telling, s.channel_id, s.seq
               from memories m join memory_showings s on s.memory_id = m.id
              where m.channel_id = $1 order by s.channel_id, m.id`,
    },
    [channel],
  );
  return rows.map(({ id, subject, statement, telling, channelId: shownIn, seq }) => {
    const terms = new Set(telling ?? tellingTerms(`${subject} ${statement}`));
    return { id, channel: channelId(shownIn), from: seq, terms, isInPrompt: false };
  });
}

/** Those of them that have been removed since. */
export async function removedOf(tx: Queryable, shown: readonly ShownMemory[]): Promise<ShownMemory[]> {
  if (shown.length === 0) return [];
  const left = await tx.query<{ id: number }>(
    { name: "memories_shown_left", text: "select id from memories where id = any($1)" },
    [shown.map(({ id }) => id)],
  );
  const ids = new Set(left.map(({ id }) => id));
  return shown.filter(({ id }) => !ids.has(id));
}

/** What prompts in the threads of a channel had of removed texts: its own and the thread's. No row says which turn was shown which. */
export async function shownInThreads(
  tx: Queryable,
  channel: ChannelId,
  removed: PromptTerms,
): Promise<Shown[]> {
  if (removed.size === 0) return [];
  const threads = await tx.query<{ id: number }>(
    { name: "threads_shown", text: "select id from thread_channels($1) id order by id" },
    [channel],
  );
  const termsOf = (of: ChannelId): ReadonlySet<string> => removed.get(of) ?? new Set();
  return threads
    .map(({ id }) => ({ channel: channelId(id), terms: termsOf(channel).union(termsOf(channelId(id))) }))
    .filter(({ terms }) => terms.size > 0)
    .map((one) => ({ ...one, from: 0, isInPrompt: true }));
}

/** Takes a channel's lock, so that no text and no call with the removed words is written there meanwhile. */
export async function lockShownIn(tx: Queryable, channel: ChannelId): Promise<void> {
  await tx.query({ name: "shown_lock", text: "select lock_shown_in($1)" }, [channel]);
}

/** Notes that the running turns of a channel may know removed texts: their calls are logged without words until they begin again. */
export async function noteShownRemoved(tx: Queryable, channel: ChannelId): Promise<void> {
  await tx.query({ name: "shown_gone", text: "select note_shown_gone($1)" }, [channel]);
}
