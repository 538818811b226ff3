import type { History, Omission, Summary } from "../core/history.ts";
import { rawFrom } from "../core/history.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { type ChannelRow, readChannel } from "./channels.ts";
import { readEntries } from "./entry-rows.ts";
import type { Database, Queryable } from "./pool.ts";
import { type RunningTurn, readRunningTurn } from "./turns.ts";

/** All that an actor needs of a channel, as of one moment. */
export interface ChannelSnapshot {
  readonly channel: ChannelRow;
  readonly history: History;
  /** The turn that was running, if any: its owner died, or is us. */
  readonly running: RunningTurn | null;
}

/** Loads a channel in one snapshot: the fold of its rows is the history that was in memory before any crash. */
export async function loadSnapshot(db: Database, id: ChannelId): Promise<ChannelSnapshot> {
  return db.snapshot(async (client) => {
    const channel = await readChannel(client, id);
    const { coveredTo, omittedTo, settledTo, lastSeq } = channel;
    const entries = await readEntries(client, id, rawFrom(channel), lastSeq);
    const summaries = coveredTo === 0 ? [] : await readSummaries(client, id);
    const omission = omittedTo > coveredTo ? await readOmission(client, id, coveredTo, omittedTo) : null;
    const history = { summaries, coveredTo, omittedTo, settledTo, lastSeq, omission, entries };
    return { channel, history, running: await readRunningTurn(client, id) };
  });
}

async function readSummaries(client: Queryable, id: ChannelId): Promise<Summary[]> {
  const rows = await client.query<{
    from_seq: number;
    to_seq: number;
    level: number;
    kind: Summary["kind"];
    text: string;
    tokens: number;
    needs_redo: boolean;
  }>(
    {
      name: "summaries_live",
      text: `select from_seq, to_seq, level, kind, text, tokens, needs_redo from summaries
              where channel_id = $1 and live order by from_seq`,
    },
    [id],
  );
  return rows.map(({ from_seq: fromSeq, to_seq: toSeq, needs_redo: needsRedo, ...rest }) => {
    return { fromSeq, toSeq, needsRedo, ...rest };
  });
}

async function readOmission(
  client: Queryable,
  id: ChannelId,
  coveredTo: Seq,
  toSeq: Seq,
): Promise<Omission | null> {
  const [row] = await client.query<{
    count: number;
    tokens: number;
    first_at: Date | null;
    last_at: Date | null;
  }>(
    {
      name: "omission_read",
      text: `select count(*) filter (where kind <> 'notice') as count, coalesce(sum(tokens), 0)::bigint as tokens,
                    min(at) filter (where kind <> 'notice') as first_at, max(at) filter (where kind <> 'notice') as last_at
               from entries where channel_id = $1 and seq > $2 and seq <= $3`,
    },
    [id, coveredTo, toSeq],
  );
  if (row === undefined || row.first_at === null || row.last_at === null) return null;
  const { count, tokens, first_at: firstAt, last_at: lastAt } = row;
  return { fromSeq: coveredTo + 1, toSeq, count, tokens, firstAt, lastAt };
}
