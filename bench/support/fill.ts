import { agentId, type ChannelId } from "../../src/core/ids.ts";
import type { Database } from "../../src/store/database/database.ts";
import { createTalk, PEOPLE } from "./conversation.ts";
import type { BenchDaemon } from "./daemon.ts";

/** Rows per statement. */
const BATCH = 5000;

export interface Filling {
  readonly channel: number;
  readonly count: number;
  readonly textLength: number;
  readonly seed: number;
  /** Makes texts of about this many characters; default: the usual talk. */
  readonly talk?: (length: number) => string;
}

/**
 * Puts messages without questions into a channel's log, without the triggers that count them one by one: for a database
 * that is large before the measurement begins.
 */
async function fillLog(database: Database, filling: Filling): Promise<void> {
  const { channel, count, textLength, seed, talk = createTalk(seed) } = filling;
  const insert = `insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, author_bot, message_id)
    select $1, t.seq, 'user', now(), t.text, length(t.text) / 3, 'u' || t.seq % 8, t.author, false, 'fill-' || t.seq
      from unnest($2::bigint[], $3::text[], $4::text[]) as t (seq, text, author)`;
  for (let from = 1; from <= count; from += BATCH) {
    const seqs = Array.from({ length: Math.min(BATCH, count - from + 1) }, (_, index) => from + index);
    const texts = seqs.map(() => talk(textLength));
    const authors = seqs.map((seq) => PEOPLE[seq % PEOPLE.length]);
    await database.transaction(async (client) => {
      await client.query("bench_no_triggers", "set local session_replication_role = replica");
      await client.query("bench_fill", insert, [channel, seqs, texts, authors]);
      await client.query("bench_last", "update channels set last_seq = $2 where id = $1", [
        channel,
        seqs.at(-1),
      ]);
    });
  }
}

/** Writes the search rows of all filled messages; with many rows the indexes are built at the end. */
export async function indexAll(database: Database): Promise<void> {
  await database.script(`
    drop index entry_search_words;
    select index_entries(id, 1, last_seq) from channels where last_seq > 0;
    insert into search_progress (channel_id, indexed_to) select id, last_seq from channels where last_seq > 0
      on conflict (channel_id) do update set indexed_to = excluded.indexed_to;
    create index entry_search_words on entry_search using gin ((channel_id + 0), tsv) with (fastupdate = on);
  `);
  await database.script("vacuum analyze entries");
  await database.script("vacuum analyze entry_search");
}

export interface OpenedChannel extends Omit<Filling, "channel"> {
  /** Agent and platform share one name here. */
  readonly agent: string;
  readonly name: string;
}

/** Makes a channel with this many messages in its log. @returns its id */
export async function openChannel(
  weir: BenchDaemon,
  { agent, name, ...filling }: OpenedChannel,
): Promise<ChannelId> {
  const channel = await weir.daemon.store.channels.open({
    address: { platform: agent, name },
    kind: "channel",
    workspace: "",
    agent: agentId(agent),
  });
  await fillLog(weir.database, { channel, ...filling });
  return channel;
}

/** Live summaries of a filled log, all of one length, up to an entry. */
export async function coverLog(database: Database, channel: ChannelId, coveredTo: number): Promise<void> {
  const talk = createTalk(channel);
  const bounds = Array.from({ length: SUMMARIES + 1 }, (_, index) =>
    Math.floor((coveredTo * index) / SUMMARIES),
  );
  await database.transaction(async (client) => {
    await client.query("bench_no_triggers", "set local session_replication_role = replica");
    for (const [index, from] of bounds.slice(0, -1).entries()) {
      await client.query(
        "bench_summary",
        `insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, model)
         values ($1, $2, $3, $4, 'model', $5, 250, 'summary')`,
        [channel, from + 1, bounds[index + 1], LEVELS[index], talk(900)],
      );
    }
    await client.query("bench_covered", "update channels set covered_to = $2 where id = $1", [
      channel,
      coveredTo,
    ]);
  });
}

/** The number of live summaries in a long channel between two merges. */
const SUMMARIES = 6;
const LEVELS = [3, 2, 2, 2, 1, 1];
