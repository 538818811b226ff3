import type { ChannelId, Seq } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { readMerged } from "../compaction/summaries.ts";
import { readCurrentEntries } from "./entry-rows.ts";
import {
  type Digester,
  type Extract,
  mostTokens,
  type ReadyExtracts,
  readyExtracts,
  stateOf,
  type SummaryRange,
} from "../compaction/extracts.ts";
import type { Database, Queryable } from "../database/database.ts";
import {
  blankRetoldCalls,
  findRetoldCalls,
  type FoundCalls,
  takeRetoldMemories,
  termsGone,
} from "../memory/retold.ts";
import { takeRetoldDueWork, takeRetoldBesideLog } from "../memory/retold-due-work.ts";
import { goneOf, lockShownIn, readShown, type ShownMemory } from "../memory/showings.ts";

/** Who makes the extracts of a deletion, and which are made already. */
interface ExtractMakers {
  readonly digester: Digester;
  readonly ready: ReadyExtracts;
}

/** What was done ahead of a deletion. */
interface DoneAhead extends ExtractMakers {
  readonly found: FoundCalls;
}

interface AffectedSummary extends SummaryRange {
  readonly level: number;
  readonly live: boolean;
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
): Promise<Seq | undefined> {
  const { seqs } = await db.transaction(await prepareBlanking(db, channel, [messageId], digester));
  return seqs[0];
}

/**
 * Does ahead what a deletion need not do under its lock.
 * @returns takes the messages back, by a client in a transaction
 */
export async function prepareBlanking(
  db: Database,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
): Promise<(client: Queryable) => Promise<Blanked>> {
  const ready = await readyExtracts(db, channel, messageIds, digester);
  const found = await findRetoldCalls(db, channel, messageIds.map(storableText));
  return async (client) => blankMessages(client, channel, messageIds, { digester, ready, found });
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
  { found, ...makers }: DoneAhead,
): Promise<Blanked> {
  const ids = messageIds.map(storableText);
  const texts = await client.query<{ seq: Seq; text: string }>(
    { name: "texts_to_go", text: "select seq, text from texts_to_go($1, $2)" },
    [channel, ids],
  );
  const seqs = [...new Set(texts.map(({ seq }) => seq))];
  if (seqs.length === 0) return { seqs, memories: 0 };
  const proved = await readProved(client, channel, seqs);
  const shown = await readShown(client, channel);
  for (const id of ids)
    await client.query({ name: "delete_message", text: "select seq from delete_message($1, $2)" }, [
      channel,
      id,
    ]);
  const unsaid = { seqs, terms: termsGone(texts.map(({ text }) => text)) };
  const due = await takeRetoldDueWork(client, channel, unsaid, { kind: "deleted" });
  const taken = await takeRetoldMemories(client, channel, unsaid);
  await takeRetoldBesideLog(client, channel, unsaid, { kind: "deleted" });
  const called = await blankRetoldCalls(client, channel, unsaid, { found });
  await endJobs(client, channel, called);
  const retold = [...due, ...called];
  await client.query(
    {
      name: "images_delete",
      text: `delete from images i using channels c
              where c.id = $1 and i.platform = c.platform and i.message_id = any($2)`,
    },
    [channel, ids],
  );
  for (const summary of await readAffected(client, channel, [...seqs, ...retold])) {
    // What was made ahead may be made of the words of such a call, or of such work.
    const isRetold = retold.some((seq) => seq >= summary.from_seq && seq <= summary.to_seq);
    const ready = isRetold ? new Map() : makers.ready;
    await replaceText(client, summary, await digestOf(client, channel, summary, { ...makers, ready }));
  }
  await takeShown(client, await goneOf(client, shown), unsaid.terms, makers.digester);
  const left = await client.query(
    { name: "memories_left", text: "select from memories where id = any($1)" },
    [proved],
  );
  const unknown = taken.filter((id) => !proved.includes(id));
  return { seqs, memories: proved.length - left.length + unknown.length };
}

/**
 * What other channels' models made of memories that went goes, too: notes, reminders, tool calls with their results, and what was
 * summarised with these. What the agent answered stays, as in their own channel.
 * @param client in the transaction that took the memories
 * @param terms of what is said no more
 */
export async function takeShown(
  client: Queryable,
  gone: readonly ShownMemory[],
  terms: ReadonlySet<string>,
  digester: Digester,
): Promise<void> {
  for (const [channel, memories] of Map.groupBy(gone, (one) => one.channel)) {
    const told = new Set(memories.flatMap((one) => [...one.terms])).intersection(terms);
    const unsaid = { seqs: [Math.min(...memories.map(({ from }) => from))], terms: told };
    await lockShownIn(client, channel);
    const due = await takeRetoldDueWork(client, channel, unsaid, { kind: "elsewhere" });
    await takeRetoldBesideLog(client, channel, unsaid, { kind: "elsewhere" });
    const called = await blankRetoldCalls(client, channel, unsaid);
    await endJobs(client, channel, called);
    const retold = [...due, ...called];
    if (retold.length === 0) continue;
    await takeRetoldMemories(client, channel, { seqs: retold, terms: told });
    for (const summary of await readAffected(client, channel, retold))
      await replaceText(
        client,
        summary,
        await digestOf(client, channel, summary, { digester, ready: new Map() }),
      );
  }
}

/** What a job under way has read of these entries is no summary: the job begins again without it. */
async function endJobs(client: Queryable, channel: ChannelId, seqs: readonly Seq[]): Promise<void> {
  if (seqs.length === 0) return;
  await client.query(
    {
      name: "jobs_retelling",
      text: `update jobs set state = 'stale', reason = 'what it had read told of a deleted message', ended_at = clock_timestamp()
              where channel_id = $1 and state in ('running', 'staged')
                and exists (select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)`,
    },
    [channel, seqs],
  );
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

/**
 * What an edit took is to leave the summaries of it, too: those that no view shows become the extract of what their range says
 * now, and the others have it ready for when they are replaced.
 * @param client in the transaction of the edit
 * @param seq of the edited message
 */
export async function renewSummaries(
  client: Queryable,
  channel: ChannelId,
  seq: Seq,
  digester: Digester,
): Promise<void> {
  const notes = await client.query<{ seq: Seq }>(
    {
      name: "notes_of_entry",
      text: "select noted_seq as seq from revisions where channel_id = $1 and seq = $2 and noted_seq is not null",
    },
    [channel, seq],
  );
  const affected = await client.query<AffectedSummary & Record<string, unknown>>(
    { name: "summaries_edited", text: selectAffected("from_seq") },
    [channel, [seq, ...notes.map((note) => note.seq)]],
  );
  for (const summary of affected) {
    const extract = await digestOf(client, channel, summary, { digester, ready: new Map() });
    if (!summary.live) await replaceText(client, summary, extract);
    else
      await client.query(
        { name: "summary_substitute", text: "update summaries set substitute = $2 where id = $1" },
        [summary.id, JSON.stringify(extract)],
      );
  }
}

/** The shortest first: what a merged one was made of is without the text before it is read. */
async function readAffected(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<AffectedSummary[]> {
  return client.query<AffectedSummary & Record<string, unknown>>(
    {
      name: "summaries_affected",
      text: selectAffected("coalesce(saw_from, from_seq)"),
    },
    [channel, seqs],
  );
}

/** @param from expression: the first entry that counts */
function selectAffected(from: string): string {
  return `select id, from_seq, to_seq, level, tokens, live from summaries
           where channel_id = $1 and kind <> 'reset' and exists (
             select from unnest($2::bigint[]) seq where seq between ${from} and to_seq)
           order by to_seq - from_seq, id`;
}

async function digestOf(
  client: Queryable,
  channel: ChannelId,
  summary: AffectedSummary,
  { digester, ready }: ExtractMakers,
): Promise<Extract> {
  const made = ready.get(summary.id);
  if (made !== undefined && made.of === (await stateOf(client, channel, summary))) return made.extract;
  const { from_seq: fromSeq, to_seq: toSeq, level } = summary;
  const maxTokens = mostTokens(summary);
  const merged = level === 1 ? [] : await readMerged(client, channel, { fromSeq, toSeq });
  if (merged.length > 0)
    return digester.ofTexts(
      merged.map(({ text }) => text),
      maxTokens,
    );
  return digester.ofEntries(await readCurrentEntries(client, channel, fromSeq, toSeq), maxTokens);
}

async function replaceText(
  client: Queryable,
  { id }: AffectedSummary,
  { text, tokens }: Extract,
): Promise<void> {
  await client.query(
    {
      name: "summary_replace",
      // It has seen no more than what it is made of now: a further deletion before that leaves it alone.
      text: `update summaries s
                set text = $2, tokens = $3, kind = 'digest', model = null, needs_redo = live, substitute = null,
                    saw_from = least(
                      from_seq,
                      (select min((e.data->>'edits')::bigint) from entries e
                        where e.channel_id = s.channel_id and e.seq between s.from_seq and s.to_seq and e.kind = 'notice'),
                      (select min(coalesce(p.saw_from, p.from_seq)) from summaries p
                        where p.channel_id = s.channel_id and p.from_seq >= s.from_seq and p.to_seq <= s.to_seq
                          and p.kind <> 'reset' and p.to_seq - p.from_seq < s.to_seq - s.from_seq and s.level > 1))
              where id = $1`,
    },
    [id, text, tokens],
  );
}
