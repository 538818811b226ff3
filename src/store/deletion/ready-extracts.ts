import type { ChannelId } from "../../core/ids.ts";
import { type Digester, type Extract, mostTokens, type SummaryRange } from "../compaction/extracts.ts";
import type { Queryable } from "../database/queryable.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";

/** Extracts made ahead of a deletion, by summary. */
export type ReadyExtracts = ReadonlyMap<number, ReadyExtract>;

interface ReadyExtract {
  readonly extract: Extract;
  /** The state of the summary and its entries before they were read, of {@link stateOf}. */
  readonly of: string;
}

/**
 * Makes the extracts that a deletion needs and that do not depend on it, without its lock, for which writers of the channel wait. Each
 * summary has read the one before it, so the summaries after the messages need one. Left out are summaries that cover one of the messages
 * or a notice of its edits, merged summaries, and summaries whose texts have expired.
 */
export async function readyExtracts(
  db: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
): Promise<ReadyExtracts> {
  const summaries = await db.query<SummaryRange>(
    "summaries_after",
    `with removed as materialized (
       select e.seq from entries e
        where e.channel_id = $1 and e.message_id = any($2) and e.deleted_at is null),
     shown as materialized (
       select removed.seq from removed
        union all
       select r.noted_seq from removed join revisions r using (seq)
        where r.channel_id = $1 and r.noted_seq is not null)
     select s.id, s.from_seq, s.to_seq, s.tokens from summaries s
      where s.channel_id = $1 and s.kind <> 'reset' and s.level = 1 and s.texts_gone_at is null
        and exists (select from removed where removed.seq between s.saw_from and s.from_seq - 1)
        and not exists (select from shown where shown.seq between s.from_seq and s.to_seq)`,
    [channel, messageIds],
  );
  const ready = new Map<number, ReadyExtract>();
  for (const summary of summaries) {
    const of = await stateOf(db, channel, summary);
    const entries = await readCurrentEntries(db, channel, summary.fromSeq, summary.toSeq);
    ready.set(summary.id, { of, extract: await digester.ofEntries(entries, mostTokens(summary)) });
  }
  return ready;
}

/** Differs as soon as an extract would: texts are only ever deleted, or get one more revision. */
export async function stateOf(client: Queryable, channel: ChannelId, range: SummaryRange): Promise<string> {
  const [row] = await client.query<{ deleted: number; revisions: number }>(
    // The note of an edit shows what the message says now, wherever that stands.
    "summary_state",
    `with shown as materialized (
       select distinct unnest(array[e.seq, case when e.kind = 'notice' then (e.data->>'edits')::bigint end]) as seq
         from entries e where e.channel_id = $1 and e.seq between $2 and $3)
     select (select count(*) from shown join entries e using (seq)
              where e.channel_id = $1 and e.deleted_at is not null) as deleted,
            (select count(*) from shown join revisions r using (seq) where r.channel_id = $1) as revisions`,
    [channel, range.fromSeq, range.toSeq],
  );
  return `${range.tokens} tokens, ${row?.deleted ?? "?"} deleted, ${row?.revisions ?? "?"} revisions`;
}
