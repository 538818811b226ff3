import type { RememberedStatement } from "../../core/entry.ts";
import {
  type AgentId,
  agentId,
  type ChannelAddress,
  type ChannelId,
  type MemoryId,
  type Seq,
} from "../../core/ids.ts";
import type { DayRange, Memory, MemoryRejection, MemorySource } from "../../core/memory.ts";
import type { ChannelKind } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import type { Database, Queryable } from "../database/database.ts";
import {
  COLUMNS,
  dissentOf,
  OTHERWISE,
  type RawMemory,
  refersOf,
  type ScoredMemory,
  toMemory,
} from "./memory-rows.ts";

/** Who asks, and where: what a conversation may know of. */
export interface AskingChannel {
  readonly agent: AgentId;
  readonly channel: ChannelId;
  /** "" where the platform has no such thing. */
  readonly workspace: string;
  readonly kind: ChannelKind;
}

export interface MemoryQuery {
  /** A tsquery of lexemes; "": no words. */
  readonly words: string;
  /** Parts of words in scripts without spaces, looked for anywhere. */
  readonly pieces: readonly string[];
  /** Days that are asked for: what tells of one of them or was said on it is found, whatever its words. */
  readonly times: readonly DayRange[];
  readonly limit: number;
}

/** A found memory. */
export interface MemoryHit {
  readonly memory: Memory;
  /** How well its words fit, and which share of the query's pieces it holds; each from 0 to 1. */
  readonly words: number;
  readonly pieces: number;
  /** 1: it tells of a time that is asked for; 0.5: it was said then; 0: neither, or no time is asked for. */
  readonly time: number;
  /** Of a term: id of the person who said first what it means; null: the agent, or it is no term. */
  readonly asserter: string | null;
}

/** A memory with everything that is known of it. */
export interface MemoryRecord extends Memory {
  readonly agent: AgentId;
  readonly channel: ChannelAddress;
  readonly sources: readonly (MemorySource & {
    readonly author: string;
    readonly at: Date;
  })[];
}

/** A memory as people of a channel are shown it. */
export interface ListedMemory extends Memory {
  /** Where it was said: in the channel that asks, in the channel of that thread, or elsewhere in the workspace. */
  readonly from: "here" | "parent" | "workspace";
}

/** How many memories of a channel were refused for one reason. */
export interface RejectedMemories {
  readonly channel: ChannelAddress;
  /** A `MemoryRejection`, also one of a newer version. */
  readonly reason: string;
  readonly count: number;
  readonly lastAt: Date;
}

/** A memory of the channel that asks, with whose it is. */
export interface OwnedMemory extends Memory {
  /** Id of the person who said it first; null: the agent itself. */
  readonly asserter: string | null;
  /** The messages of people that prove it. */
  readonly messages: readonly { readonly id: string; readonly author: string }[];
}

interface RawRecord extends RawMemory {
  agent: string;
  platform: string;
  name: string;
  sources: { seq: Seq; quote: string; author: string; at: string }[];
}

const ASSERTER = "memory_asserter(m.id, m.asserted_by)";

/**
 * Scope is privacy, and it is decided here, before anything is compared or ranked: what was said in a DM shows in that DM
 * alone, what was said in a thread in that thread alone, what was said in a channel in that channel and in its threads, what is
 * shared of a public channel in all channels of its workspace, and nothing to another agent. The parameters are SQL: the agent, the channel, its workspace and its kind.
 */
function scopesOf(
  agent: string,
  channel: string,
  workspace: string,
  kind: string,
): Record<ListedMemory["from"], string> {
  return {
    here: `m.agent = ${agent} and m.channel_id = ${channel} and (m.scope <> 'dm' or ${kind} = 'dm')`,
    // A thread's people see its channel.
    parent: `m.agent = ${agent} and m.scope <> 'dm' and m.channel_id = (
      select parent.id from channels thread
        join channels parent on parent.platform = thread.platform and parent.name = thread.place->'parent'->>'id'
                            and parent.workspace = thread.workspace and parent.kind = 'channel'
       where ${kind} = 'thread' and thread.id = ${channel} and thread.kind = 'thread')`,
    // By what the platform says of its channel now, and not only when it was said.
    workspace: `m.agent = ${agent} and m.scope = 'workspace' and m.workspace = ${workspace} and ${workspace} <> '' and ${kind} <> 'dm'
      and exists (
        select from channels source join channels asking on asking.id = ${channel} and asking.platform = source.platform
         where source.id = m.channel_id and source.kind = 'channel' and not source.is_private and source.shares_memory
           and source.gone_at is null)`,
  };
}

function seenBy(...asker: Parameters<typeof scopesOf>): string {
  return `((${Object.values(scopesOf(...asker)).join(")\n      or (")}))`;
}

/** $1 agent, $2 channel, $3 workspace, $4 kind of the channel that asks. */
const SCOPES = scopesOf("$1", "$2", "$3", "$4");
const IN_SCOPE = seenBy("$1", "$2", "$3", "$4");
const VISIBLE = `${IN_SCOPE} and m.valid_to is null`;

/**
 * $5 words, $6 most of them. The parts of what is visible each have an index of their own; one condition with an OR would use
 * none. Together they have each memory once.
 */
const PARTS = [
  SCOPES.here,
  SCOPES.parent,
  `${SCOPES.workspace} and m.channel_id <> $2 and (${SCOPES.parent}) is not true`,
].map((part) => `select * from memories m where ${part} and m.valid_to is null and m.tsv @@ $5::tsquery`);
export const MEMORIES_BY_WORDS = `select ${COLUMNS}, m.score from (
    select visible.*, ts_rank(tsv, $5::tsquery) as score from (
      ${PARTS.join("\n      union all\n      ")}
    ) visible order by score desc, id desc limit $6
  ) m`;

/** Rows of `memories`. They are written with what they come from: by `commit_job`, and by `remember_message`. */
export class MemoryStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Memories that the asking channel may see and that share a word or a piece of one with the query.
   * @param signal ends the look-up
   */
  async search(asker: AskingChannel, query: MemoryQuery, signal?: AbortSignal): Promise<MemoryHit[]> {
    // One after the other: a search takes one connection at a time.
    const db = this.#db.lookUps(signal);
    const byWords = query.words === "" ? [] : await byTheirWords(db, asker, query);
    const byPieces = query.pieces.length === 0 ? [] : await byTheirPieces(db, asker, query);
    const byTimes = query.times.length === 0 ? [] : await byTheirTimes(db, asker, query);
    const hits = new Map<number, MemoryHit>();
    for (const row of byWords) hits.set(row.id, toHit(row));
    const add = (row: ScoredMemory, found: Partial<MemoryHit>): void => {
      hits.set(row.id, { ...(hits.get(row.id) ?? { ...toHit(row), words: 0 }), ...found });
    };
    for (const row of byPieces) add(row, { pieces: row.score });
    for (const row of byTimes) add(row, { time: row.score });
    const fit = ({ words, pieces, time }: MemoryHit): number => words + pieces + time;
    return [...hits.values()]
      .toSorted((a, b) => fit(b) - fit(a) || b.memory.id - a.memory.id)
      .slice(0, query.limit);
  }

  /** What the asking channel may see, also what holds no more; the newest first. */
  async inScope(asker: AskingChannel, limit: number): Promise<ListedMemory[]> {
    const rows = await this.#db.query<RawMemory & { from: ListedMemory["from"] }>(
      {
        name: "memories_in_scope",
        text: `select ${COLUMNS}, case when ${SCOPES.here} then 'here' when ${SCOPES.parent} then 'parent' else 'workspace' end as from
                 from memories m where ${IN_SCOPE} order by m.valid_from desc, m.id desc limit $5`,
      },
      [...askedBy(asker), limit],
    );
    return rows.map((row) => ({ ...toMemory(row), from: row.from }));
  }

  /** Those of the channel that asks that this person said first, the newest first. */
  async assertedBy(asker: AskingChannel, person: string, limit: number): Promise<Memory[]> {
    const rows = await this.#db.query<RawMemory>(
      {
        name: "memories_asserted",
        text: `select ${COLUMNS} from memories m where ${IN_SCOPE} and m.channel_id = $2 and ${ASSERTER} = $5
                order by m.valid_from desc, m.id desc limit $6`,
      },
      [...askedBy(asker), storableText(person), limit],
    );
    return rows.map(toMemory);
  }

  /** Which of these the asking channel may see. */
  async visible(asker: AskingChannel, ids: readonly MemoryId[]): Promise<Memory[]> {
    if (ids.length === 0) return [];
    const rows = await this.#db.query<RawMemory>(
      {
        name: "memories_visible",
        text: `select ${COLUMNS} from memories m where ${IN_SCOPE} and m.id = any($5) order by m.id`,
      },
      [...askedBy(asker), ids],
    );
    return rows.map(toMemory);
  }

  /** A memory that comes from the channel that asks; undefined: there is none of this number, or it may not see it. */
  async find(asker: AskingChannel, id: number): Promise<OwnedMemory | undefined> {
    const [row] = await this.#db.query<
      RawMemory & { asserter: string | null; messages: OwnedMemory["messages"] }
    >(
      {
        name: "memory_find",
        text: `select ${COLUMNS}, ${ASSERTER} as asserter,
                      (select coalesce(jsonb_agg(jsonb_build_object('id', e.message_id, 'author', e.author_id) order by s.seq), '[]')
                         from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
                        where s.memory_id = m.id and e.kind = 'user') as messages
                 from memories m where ${IN_SCOPE} and m.channel_id = $2 and m.id = $5`,
      },
      [...askedBy(asker), id],
    );
    return row && { ...toMemory(row), asserter: row.asserter, messages: row.messages };
  }

  /** How often something that was said in a channel, or was shown there of another one, was taken back. */
  async takenBack(channel: ChannelId): Promise<number> {
    const [row] = await this.#db.query<{ taken_back: number }>(
      { name: "channel_taken_back", text: "select taken_back from search_progress where channel_id = $1" },
      [channel],
    );
    return row?.taken_back ?? 0;
  }

  /** Counts refused memories; what they said is kept nowhere. */
  async countRejected(channel: ChannelId, reasons: readonly MemoryRejection[]): Promise<void> {
    if (reasons.length === 0) return;
    await this.#db.query({ name: "memories_rejected", text: "select count_rejected($1, $2)" }, [
      channel,
      reasons,
    ]);
  }

  /** How many memories were refused, by channel and reason. */
  async rejected(filter: { readonly channel?: ChannelId }): Promise<RejectedMemories[]> {
    const rows = await this.#db.query<{
      platform: string;
      name: string;
      reason: string;
      count: number;
      last_at: Date;
    }>(
      {
        name: "memories_rejections",
        text: `select c.platform, c.name, r.reason, r.count, r.last_at from memory_rejections r join channels c on c.id = r.channel_id
                where $1::bigint is null or c.id = $1 order by c.platform, c.name, r.reason`,
      },
      [filter.channel ?? null],
    );
    return rows.map(({ platform, name, reason, count, last_at: lastAt }) => {
      return { channel: { platform, name }, reason, count, lastAt };
    });
  }

  /** For whoever runs Weir: memories of all agents, or of one channel, with their sources; the newest first. */
  async list(filter: { readonly channel?: ChannelId }, limit: number): Promise<MemoryRecord[]> {
    const rows = await this.#db.query<RawRecord>(
      {
        name: "memories_list",
        text: `select ${COLUMNS}, m.agent, c.platform, c.name,
                      (select jsonb_agg(jsonb_build_object('seq', s.seq, 'quote', s.quote, 'at', e.at,
                                                           'author', coalesce(e.author_name, m.agent)) order by s.seq)
                         from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
                        where s.memory_id = m.id) as sources
                 from memories m join channels c on c.id = m.channel_id
                where ($1::bigint is null or m.channel_id = $1)
                order by m.valid_from desc, m.id desc limit $2`,
      },
      [filter.channel ?? null, limit],
    );
    return rows.map((row) => ({
      ...toMemory(row),
      agent: agentId(row.agent),
      channel: { platform: row.platform, name: row.name },
      sources: row.sources.map((source) => ({ ...source, at: new Date(source.at) })),
    }));
  }
}

async function byTheirWords(
  db: Queryable,
  asker: AskingChannel,
  query: MemoryQuery,
): Promise<ScoredMemory[]> {
  return db.query({ name: "memories_by_words", text: MEMORIES_BY_WORDS }, [
    ...askedBy(asker),
    query.words,
    query.limit,
  ]);
}

async function byTheirPieces(
  db: Queryable,
  asker: AskingChannel,
  query: MemoryQuery,
): Promise<ScoredMemory[]> {
  return db.query(
    {
      name: "memories_by_pieces",
      text: `select ${COLUMNS}, m.score from (
               select visible.*,
                      (select count(*) from unnest($5::text[]) piece
                        where position(piece in concat_ws(' ', subject, asserted_by, statement)) > 0)
                      / cardinality($5::text[])::float8 as score
                 from (select * from memories m where ${VISIBLE}) visible
             ) m where m.score > 0 order by m.score desc, m.id desc limit $6`,
    },
    [...askedBy(asker), query.pieces, query.limit],
  );
}

async function byTheirTimes(
  db: Queryable,
  asker: AskingChannel,
  query: MemoryQuery,
): Promise<ScoredMemory[]> {
  return db.query(
    {
      name: "memories_by_times",
      text: `select ${COLUMNS}, m.score from (
               select visible.*,
                      (select max(case when refers_from <= asked.until and refers_to >= asked.since then 1.0
                                       when (valid_from at time zone 'UTC')::date between asked.since and asked.until then 0.5
                                       else 0 end)::float8
                         from unnest($5::date[], $6::date[]) asked (since, until)) as score
                 from (select * from memories m where ${VISIBLE}) visible
             ) m where m.score > 0 order by m.score desc, m.id desc limit $7`,
    },
    [...askedBy(asker), query.times.map(({ from }) => from), query.times.map(({ to }) => to), query.limit],
  );
}

/** What stored tool results of a channel quote, by the memory's id; what is gone, or is to be seen there no more, is not there. */
export async function readStatements(
  client: Queryable,
  channel: ChannelId,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RememberedStatement>> {
  if (ids.length === 0) return new Map();
  const rows = await client.query<
    Pick<
      RawMemory,
      "id" | "type" | "asserted_by" | "valid_from" | "statement" | "refers_from" | "refers_to" | "otherwise"
    >
  >(
    {
      name: "memories_read_in",
      text: `select m.id, m.type, m.asserted_by, m.valid_from, m.statement,
                    m.refers_from::text as refers_from, m.refers_to::text as refers_to, ${OTHERWISE}
               from channels here cross join lateral (
                 select * from memories m where m.id = any($2) and ${seenBy("here.agent", "here.id", "here.workspace", "here.kind")}
               ) m where here.id = $1`,
    },
    [channel, [...new Set(ids)]],
  );
  return new Map(
    rows.map((row) => {
      const { id, type, asserted_by: assertedBy, valid_from: at, statement } = row;
      return [id, { type, assertedBy, at: new Date(at), statement, ...refersOf(row), ...dissentOf(row) }];
    }),
  );
}

/** $1 to $4 of what is visible. */
export function askedBy({ agent, channel, workspace, kind }: AskingChannel): unknown[] {
  return [agent, channel, workspace, kind];
}

/** A memory that was found by its words alone. */
export function toHit(row: ScoredMemory): MemoryHit {
  return { memory: toMemory(row), words: row.score, pieces: 0, time: 0, asserter: row.term_by };
}
