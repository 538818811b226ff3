import type { History, Omission, Stretch, Summary } from "../../core/history.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { NOTHING_LEARNED } from "../../core/learned.ts";
import { type ChannelRow, readChannel } from "../channels/channels.ts";
import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Extract } from "./extracts.ts";
import type { LearnedRows } from "./learned-rows.ts";

/**
 * What of a channel's log is not shown as it was said, covered by summaries or omitted, and what was learned of what is covered.
 */
export type Coverage = Pick<History, "coveredTo" | "summaries" | "omission" | "ahead" | "learned">;

export async function loadCoverage(db: Database, id: ChannelId, learned: LearnedRows): Promise<Coverage> {
  return db.snapshot(async (client) => readCoverage(client, id, await readChannel(client, id), learned));
}

export async function readCoverage(
  client: Queryable,
  id: ChannelId,
  { coveredTo, omittedTo, kind }: Pick<ChannelRow, "coveredTo" | "omittedTo" | "kind">,
  rows: LearnedRows,
): Promise<Coverage> {
  const summaries = coveredTo === 0 ? [] : await readSummaries(client, id);
  const omission = omittedTo > coveredTo ? await readOmission(client, id, coveredTo, omittedTo) : null;
  // It comes with summaries; a thread has that of its channel, too.
  const learned = coveredTo === 0 && kind !== "thread" ? NOTHING_LEARNED : await rows.read(client, id);
  return { coveredTo, summaries, omission, ahead: await readAhead(client, id), learned };
}

interface RawSummary extends Omit<Summary, "span"> {
  readonly messages: number | null;
  readonly firstAt: Date | null;
  readonly lastAt: Date | null;
}

const COLUMNS = "from_seq, to_seq, level, kind, text, tokens, needs_redo, messages, first_at, last_at";

function toSummary({ messages, firstAt, lastAt, ...rest }: RawSummary): Summary {
  const span =
    messages === null || firstAt === null || lastAt === null ? null : { messages, firstAt, lastAt };
  return { ...rest, span };
}

/** @param as as the view shows them; or as whoever summarises reads them, without what was edited since */
export async function readSummaries(
  client: Queryable,
  id: ChannelId,
  as: "shown" | "current" = "shown",
): Promise<Summary[]> {
  const rows = await client.query<RawSummary & { substitute: Extract | null }>(
    "summaries_live",
    `select ${COLUMNS}, substitute from summaries where channel_id = $1 and live order by from_seq`,
    [id],
  );
  return rows.map(({ substitute, ...row }) =>
    toSummary(as === "current" && substitute !== null ? { ...row, ...substitute } : row),
  );
}

/**
 * The summaries that were live at a time, by seq, with the texts that they have now, without what was edited since. A later one that covers
 * at least as much has taken the place of an earlier one, so of those that there were then the widest were live.
 */
export async function readSummariesAt(client: Queryable, id: ChannelId, at: Date): Promise<Summary[]> {
  const rows = await client.query<RawSummary & { substitute: Extract | null }>(
    "summaries_at",
    `select ${COLUMNS}, substitute from summaries s join (
       select id, to_seq > coalesce(max(to_seq) over (
                order by from_seq, to_seq desc, id desc rows between unbounded preceding and 1 preceding), 0) as is_widest
         from summaries where channel_id = $1 and created_at <= $2) then_there using (id)
      where is_widest order by from_seq`,
    [id, at],
  );
  return rows.map(({ substitute, ...row }) =>
    toSummary(substitute === null ? row : { ...row, ...substitute }),
  );
}

/**
 * The summaries that a merged one was made of, as they were last: the largest that lie within its range and are
 * shorter than it.
 */
export async function readMerged(
  client: Queryable,
  id: ChannelId,
  range: { readonly fromSeq: Seq; readonly toSeq: Seq },
): Promise<Summary[]> {
  const rows = await client.query<RawSummary>(
    "summaries_merged",
    `select distinct on (s.from_seq) ${COLUMNS} from summaries s
      where s.channel_id = $1 and s.kind <> 'reset' and s.from_seq >= $2 and s.to_seq <= $3
        and (s.from_seq, s.to_seq) <> ($2, $3)
        and not exists (
          select from summaries w where w.channel_id = $1 and w.kind <> 'reset'
             and w.from_seq >= $2 and w.to_seq <= $3 and (w.from_seq, w.to_seq) <> ($2, $3)
             and w.from_seq <= s.from_seq and w.to_seq >= s.to_seq
             and (w.from_seq, w.to_seq) <> (s.from_seq, s.to_seq))
      order by s.from_seq, s.id desc`,
    [id, range.fromSeq, range.toSeq],
  );
  return rows.map(toSummary);
}

export async function readOmission(
  client: Queryable,
  id: ChannelId,
  coveredTo: Seq,
  toSeq: Seq,
): Promise<Omission | null> {
  const [row] = await client.query<Omission>(
    "omission_read",
    `select $2::bigint + 1 as from_seq, $3::bigint as to_seq, count(*) filter (where kind <> 'notice') as count,
            coalesce(sum(tokens), 0)::bigint as tokens,
            min(at) filter (where kind <> 'notice') as first_at, max(at) filter (where kind <> 'notice') as last_at
       from entries where channel_id = $1 and seq > $2 and seq <= $3 having bool_or(kind <> 'notice')`,
    [id, coveredTo, toSeq],
  );
  return row ?? null;
}

/** What is written ahead and waits for its commit, by seq. */
async function readAhead(client: Queryable, channel: ChannelId): Promise<Stretch[]> {
  return client.query<Stretch>(
    "jobs_ahead",
    "select kind, from_seq, to_seq from jobs where channel_id = $1 and state = 'ahead' order by from_seq",
    [channel],
  );
}
