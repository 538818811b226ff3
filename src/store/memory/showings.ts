import { type ChannelId, type Seq, channelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";

/** What another channel was shown of what was said in one. */
export interface Shown {
  readonly channel: ChannelId;
  /** The first message that may have been answered with it. */
  readonly from: Seq;
  /** By which it tells what was said. */
  readonly terms: ReadonlySet<string>;
  /** It stood in notes: any turn there may have been shown it, and no call of one says so. */
  readonly isNoted: boolean;
}

export interface ShownMemory extends Shown {
  readonly id: number;
}

/**
 * The memories of a channel that other channels were shown.
 * @param client in a transaction that holds the channel's row lock, and has taken nothing yet
 */
export async function readShown(client: Queryable, channel: ChannelId): Promise<ShownMemory[]> {
  const rows = await client.query<{
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
    return { id, channel: channelId(shownIn), from: seq, terms, isNoted: false };
  });
}

/** Those of them that are gone since. */
export async function goneOf(client: Queryable, shown: readonly ShownMemory[]): Promise<ShownMemory[]> {
  if (shown.length === 0) return [];
  const left = await client.query<{ id: number }>(
    { name: "memories_shown_left", text: "select id from memories where id = any($1)" },
    [shown.map(({ id }) => id)],
  );
  const ids = new Set(left.map(({ id }) => id));
  return shown.filter(({ id }) => !ids.has(id));
}

/** What lines of notes told that have gone: by their channel, the terms. */
export type Noted = ReadonlyMap<ChannelId, ReadonlySet<string>>;

/**
 * What the threads of a channel were shown of notes that have gone: of its own, and of the thread's. Their turns may have been shown it
 * by whoever reads the files, so no row says which.
 */
export async function shownInThreads(client: Queryable, channel: ChannelId, noted: Noted): Promise<Shown[]> {
  if (noted.size === 0) return [];
  const threads = await client.query<{ id: number }>(
    { name: "threads_shown", text: "select id from thread_channels($1) id order by id" },
    [channel],
  );
  const told = (of: ChannelId): ReadonlySet<string> => noted.get(of) ?? new Set();
  return threads
    .map(({ id }) => ({ channel: channelId(id), terms: told(channel).union(told(channelId(id))) }))
    .filter(({ terms }) => terms.size > 0)
    .map((one) => ({ ...one, from: 0, isNoted: true }));
}

/**
 * Takes a channel's row lock, so that nobody writes a note or a call there meanwhile that tells of what goes.
 * @param client in a transaction
 */
export async function lockShownIn(client: Queryable, channel: ChannelId): Promise<void> {
  await client.query({ name: "shown_lock", text: "select lock_shown_in($1)" }, [channel]);
}

/**
 * Turns that run in a channel know nothing of notes that have gone, until they begin again: what they call says nothing.
 * @param client in a transaction that holds the channel's row lock
 */
export async function noteShownGone(client: Queryable, channel: ChannelId): Promise<void> {
  await client.query({ name: "shown_gone", text: "select note_shown_gone($1)" }, [channel]);
}
