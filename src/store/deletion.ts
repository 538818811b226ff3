import type { Entry } from "../core/entry.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { storableText } from "../core/text.ts";
import { readMerged } from "./coverage.ts";
import { readCurrentEntries } from "./entry-rows.ts";
import type { Database, Queryable } from "./pool.ts";

/**
 * Makes an extract without a model: of entries, or of the summaries that a merged one was made of. It takes its time, a
 * second for some thousands, and holds up nobody else meanwhile.
 */
export interface Digester {
  ofEntries(entries: readonly Entry[], maxTokens: number): Promise<Extract>;
  ofTexts(texts: readonly string[], maxTokens: number): Promise<Extract>;
}

interface Extract {
  readonly text: string;
  /** Estimated. */
  readonly tokens: number;
}

interface AffectedSummary {
  readonly id: number;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly level: number;
  readonly tokens: number;
}

/** An extract may always be so long, tokens. */
const MIN_DIGEST_TOKENS = 64;

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
  const [seq] = await db.transaction(async (client) => blankMessages(client, channel, [messageId], digester));
  return seq;
}

/**
 * Takes messages back: their texts go from the log, and each summary that may hold words of them, live or not, is
 * replaced by the extract of what remains over the same span; live ones are to be written again.
 * @param client in a transaction
 * @returns the seqs whose text went
 */
export async function blankMessages(
  client: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
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
    await replaceText(client, summary, await digestOf(client, channel, summary, digester));
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
  digester: Digester,
): Promise<Extract> {
  const { from_seq: fromSeq, to_seq: toSeq, level } = summary;
  const maxTokens = Math.max(summary.tokens, MIN_DIGEST_TOKENS);
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
