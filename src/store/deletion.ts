import type { ChannelId, Seq } from "../core/ids.ts";
import { storableText } from "../core/text.ts";
import { readMerged } from "./coverage.ts";
import { readCurrentEntries } from "./entry-rows.ts";
import {
  type Digester,
  type Extract,
  mostTokens,
  type ReadyExtracts,
  readyExtracts,
  stateOf,
  type SummaryRange,
} from "./extracts.ts";
import type { Database, Queryable } from "./pool.ts";

/** Who makes the extracts of a deletion, and which are made already. */
interface ExtractMakers {
  readonly digester: Digester;
  readonly ready: ReadyExtracts;
}

interface AffectedSummary extends SummaryRange {
  readonly level: number;
}

/**
 * Takes a message back, in one transaction.
 * @returns the seq whose text went; undefined where there is none (any more)
 */
export async function deleteMessage(
  db: Database,
  channel: ChannelId,
  messageId: string,
  digester: Digester,
): Promise<Seq | undefined> {
  const [seq] = await db.transaction(await prepareBlanking(db, channel, [messageId], digester));
  return seq;
}

/**
 * Does ahead what a deletion need not do under its lock.
 * @returns takes the messages back, by a client in a transaction, and tells the seqs whose text went
 */
export async function prepareBlanking(
  db: Database,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
): Promise<(client: Queryable) => Promise<Seq[]>> {
  const ready = await readyExtracts(db, channel, messageIds, digester);
  return async (client) => blankMessages(client, channel, messageIds, { digester, ready });
}

/**
 * Takes messages back: their texts go from the log, and each summary that may hold words of them, live or not, is
 * replaced by the extract of what remains over the same span; live ones are to be written again.
 * @param client in a transaction
 * @returns the seqs whose text went
 */
async function blankMessages(
  client: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  makers: ExtractMakers,
): Promise<Seq[]> {
  const seqs: Seq[] = [];
  for (const messageId of messageIds) {
    const [row] = await client.query<{ seq: number | null }>(
      { name: "delete_message", text: "select seq from delete_message($1, $2)" },
      [channel, storableText(messageId)],
    );
    if (row !== undefined && row.seq !== null) seqs.push(row.seq);
  }
  if (seqs.length === 0) return [];
  await client.query(
    {
      name: "images_delete",
      text: `delete from images i using channels c
              where c.id = $1 and i.platform = c.platform and i.message_id = any($2)`,
    },
    [channel, messageIds.map(storableText)],
  );
  for (const summary of await readAffected(client, channel, seqs)) {
    await replaceText(client, summary, await digestOf(client, channel, summary, makers));
  }
  return seqs;
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
      text: `select id, from_seq, to_seq, level, tokens from summaries
              where channel_id = $1 and kind <> 'reset' and exists (
                select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)
              order by to_seq - from_seq, id`,
    },
    [channel, seqs],
  );
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
                set text = $2, tokens = $3, kind = 'digest', model = null, needs_redo = live,
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
