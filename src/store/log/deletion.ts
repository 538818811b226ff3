import type { ChannelId, Seq } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { type Digester, type ReadyExtracts, readyExtracts, stateOf } from "../compaction/extracts.ts";
import { endJobsReading, replaceSummaries } from "../compaction/renewed-summaries.ts";
import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import {
  blankRetoldCalls,
  findRetoldCalls,
  type FoundCalls,
  takeRetoldMemories,
  termsGone,
  type Unsaid,
} from "../memory/retold.ts";
import { termsOfExpired } from "../memory/recovered-terms.ts";
import { NO_TERM_KEYS, type TermKeys } from "./fingerprints.ts";
import { takeRetoldDueWork, takeRetoldBesideLog } from "../memory/retold-due-work.ts";
import {
  goneOf,
  lockShownIn,
  noteShownGone,
  readShown,
  type Shown,
  shownInThreads,
} from "../memory/showings.ts";

/** Who makes the extracts of a deletion, and what was done ahead of it. */
interface DoneAhead {
  readonly digester: Digester;
  readonly ready: ReadyExtracts;
  readonly found: FoundCalls;
  readonly keys: TermKeys;
}

/** What a deletion took. */
export interface Blanked {
  /** Whose text went. */
  readonly seqs: readonly Seq[];
  /** Memories that told of it, or had no other source. */
  readonly memories: number;
}

/**
 * Takes a message back, in one transaction.
 * @returns the seq whose text went; undefined if there is none (any more)
 */
export async function deleteMessage(
  db: Database,
  channel: ChannelId,
  messageId: string,
  digester: Digester,
  keys: TermKeys,
): Promise<Seq | undefined> {
  const { seqs } = await db.transaction(await prepareBlanking(db, channel, [messageId], digester, keys));
  return seqs[0];
}

/**
 * Does ahead what a deletion need not do under its lock.
 * @param keys default: none, so that a text that is no longer kept may have said anything
 * @returns takes the messages back, by a client in a transaction
 */
export async function prepareBlanking(
  db: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
  keys: TermKeys = NO_TERM_KEYS,
): Promise<(client: Queryable) => Promise<Blanked>> {
  const ready = await readyExtracts(db, channel, messageIds, digester);
  const found = await findRetoldCalls(db, channel, messageIds.map(storableText), keys);
  return async (client) => blankMessages(client, channel, messageIds, { digester, ready, found, keys });
}

/**
 * Takes messages back: their texts go from the log, with the memories, notes and arguments of tool calls that tell of them, and
 * each summary that may hold words of them, live or not, is replaced by the extract of what remains over the same span; live
 * ones are to be written again.
 * @param client in a transaction
 */
async function blankMessages(
  client: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  { digester, ready, found, keys }: DoneAhead,
): Promise<Blanked> {
  const ids = messageIds.map(storableText);
  const texts = await client.query<{ seq: Seq; text: string }>(
    { name: "texts_to_go", text: "select seq, text from texts_to_go($1, $2)" },
    [channel, ids],
  );
  const seqs = [...new Set(texts.map(({ seq }) => seq))];
  if (seqs.length === 0) return { seqs, memories: 0 };
  const terms = termsGone(texts.map(({ text }) => text)).union(
    await termsOfExpired(client, channel, seqs, keys, found),
  );
  const proved = await readProved(client, channel, seqs);
  const shown = await readShown(client, channel);
  for (const id of ids)
    await client.query({ name: "delete_message", text: "select seq from delete_message($1, $2)" }, [
      channel,
      id,
    ]);
  const unsaid = { seqs, terms, keys };
  const due = await takeRetoldDueWork(client, channel, unsaid, { kind: "deleted" });
  const taken = await takeRetoldMemories(client, channel, unsaid);
  const noted = await takeRetoldBesideLog(client, channel, unsaid, { kind: "deleted" });
  const called = await blankRetoldCalls(client, channel, unsaid, { found });
  await endJobsReading(client, channel, called);
  const retold = [...due, ...called];
  await client.query(
    {
      name: "images_delete",
      text: `delete from images i using channels c
              where c.id = $1 and i.platform = c.platform and i.message_id = any($2)`,
    },
    [channel, ids],
  );
  // What work of Weir's own has said is summarised, too.
  const told = { ...unsaid, terms: terms.union(await termsOfExpired(client, channel, due, keys)) };
  await replaceSummaries(client, channel, told, [...seqs, ...retold], digester, async (summary) => {
    // What was made ahead may be made of the words of such a call, or of such work.
    if (retold.some((seq) => seq >= summary.fromSeq && seq <= summary.toSeq)) return undefined;
    const made = ready.get(summary.id);
    if (made === undefined || made.of !== (await stateOf(client, channel, summary))) return undefined;
    return made.extract;
  });
  const inThreads = await shownInThreads(client, channel, noted);
  await takeShown(client, [...(await goneOf(client, shown)), ...inThreads], unsaid, digester);
  const left = await client.query(
    { name: "memories_left", text: "select from memories where id = any($1)" },
    [proved],
  );
  const unknown = taken.filter((id) => !proved.includes(id));
  return { seqs, memories: proved.length - left.length + unknown.length };
}

/**
 * What other channels' models made of memories and notes that went goes, too: notes, reminders, tool calls with their results, and what was
 * summarised with these. What the agent answered stays, as in their own channel.
 * @param client in the transaction that took them
 * @param unsaid what is said no more in their own channel
 */
export async function takeShown(
  client: Queryable,
  gone: readonly Shown[],
  { terms, keys }: Pick<Unsaid, "terms" | "keys">,
  digester: Digester,
): Promise<void> {
  for (const [channel, shown] of Map.groupBy(gone, (one) => one.channel)) {
    const told = new Set(shown.flatMap((one) => [...one.terms])).intersection(terms);
    const unsaid = { seqs: [Math.min(...shown.map(({ from }) => from))], terms: told, keys };
    await lockShownIn(client, channel);
    const due = await takeRetoldDueWork(client, channel, unsaid, { kind: "elsewhere" });
    const noted = await takeRetoldBesideLog(client, channel, unsaid, { kind: "elsewhere" });
    if (noted.has(channel) || shown.some(({ isNoted }) => isNoted)) await noteShownGone(client, channel);
    const called = await blankRetoldCalls(client, channel, unsaid);
    await endJobsReading(client, channel, called);
    const retold = [...due, ...called];
    if (retold.length > 0) await takeRetoldMemories(client, channel, { ...unsaid, seqs: retold });
    await replaceSummaries(client, channel, unsaid, retold, digester);
    await takeShown(client, await shownInThreads(client, channel, noted), unsaid, digester);
  }
}

/** The memories that entries prove. */
async function readProved(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<readonly number[]> {
  const rows = await client.query<{ id: number }>(
    {
      name: "memories_proved",
      text: "select distinct memory_id as id from memory_sources where channel_id = $1 and seq = any($2)",
    },
    [channel, seqs],
  );
  return rows.map(({ id }) => id);
}
