import type { Entry } from "../../core/entry.ts";
import type { ChannelId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";
import type { Queryable } from "../database/queryable.ts";

/**
 * Makes an extract without a model: of entries, or of the summaries that a merged one was made of. It takes its time, a
 * second for some thousands, in slices: only who waits for its result waits.
 */
export interface Digester {
  /** @param focus what is asked: what has to do with it goes before other things */
  ofEntries(entries: readonly Entry[], maxTokens: number, focus?: string): Promise<Extract>;
  ofTexts(texts: readonly string[], maxTokens: number): Promise<Extract>;
}

export interface Extract {
  readonly text: string;
  /** Estimated. */
  readonly tokens: number;
}

/** Extracts made ahead of a deletion, by summary. */
export type ReadyExtracts = ReadonlyMap<number, ReadyExtract>;

interface ReadyExtract {
  readonly extract: Extract;
  /** What the summary and its entries were like before they were read, as {@link stateOf} says it. */
  readonly of: string;
}

export interface SummaryRange {
  readonly id: number;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly tokens: number;
}

/** An extract may always be so long, tokens. */
const MIN_DIGEST_TOKENS = 64;

/** Longest extract in the place of a summary, estimated tokens. */
export function mostTokens({ tokens }: Pick<SummaryRange, "tokens">): number {
  return Math.max(tokens, MIN_DIGEST_TOKENS);
}

/**
 * The extracts that a deletion is going to want, as far as they can be made before it and without its lock: whoever
 * writes to the channel waits for that. They are those of the summaries behind the messages, each of which has read the
 * one before it; not of those that hold one of them or tell of its edits, nor of merged ones, which are made of the others, nor of those
 * whose texts are no longer kept.
 */
export async function readyExtracts(
  db: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
): Promise<ReadyExtracts> {
  const summaries = await db.query<SummaryRange>(
    {
      name: "summaries_behind",
      text: `with gone as materialized (
               select e.seq from entries e
                where e.channel_id = $1 and e.message_id = any($2) and e.deleted_at is null),
             shown as materialized (
               select gone.seq from gone
                union all
               select r.noted_seq from gone join revisions r using (seq)
                where r.channel_id = $1 and r.noted_seq is not null)
             select s.id, s.from_seq, s.to_seq, s.tokens from summaries s
              where s.channel_id = $1 and s.kind <> 'reset' and s.level = 1 and s.texts_gone_at is null
                and exists (select from gone where gone.seq between s.saw_from and s.from_seq - 1)
                and not exists (select from shown where shown.seq between s.from_seq and s.to_seq)`,
    },
    [channel, messageIds.map(storableText)],
  );
  const ready = new Map<number, ReadyExtract>();
  for (const summary of summaries) {
    const of = await stateOf(db, channel, summary);
    const entries = await readCurrentEntries(db, channel, summary.fromSeq, summary.toSeq);
    ready.set(summary.id, { of, extract: await digester.ofEntries(entries, mostTokens(summary)) });
  }
  return ready;
}

/** Differs as soon as an extract would: texts are only ever taken back, or get one more revision. */
export async function stateOf(client: Queryable, channel: ChannelId, range: SummaryRange): Promise<string> {
  const [row] = await client.query<{ deleted: number; revisions: number }>(
    {
      name: "summary_state",
      // The note of an edit shows what the message says now, wherever that stands.
      text: `with shown as materialized (
               select distinct unnest(array[e.seq, case when e.kind = 'notice' then (e.data->>'edits')::bigint end]) as seq
                 from entries e where e.channel_id = $1 and e.seq between $2 and $3)
             select (select count(*) from shown join entries e using (seq)
                      where e.channel_id = $1 and e.deleted_at is not null) as deleted,
                    (select count(*) from shown join revisions r using (seq) where r.channel_id = $1) as revisions`,
    },
    [channel, range.fromSeq, range.toSeq],
  );
  return `${range.tokens} tokens, ${row?.deleted ?? "?"} deleted, ${row?.revisions ?? "?"} revisions`;
}
