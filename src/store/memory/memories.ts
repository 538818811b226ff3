import type { RememberedStatement } from "../../core/entry.ts";
import {
  type AgentId,
  type ChannelAddress,
  type ChannelId,
  type MemoryId,
  type Seq,
} from "../../core/ids.ts";
import type { DayRange, Memory, MemoryRejection, MemorySource } from "../../core/memory.ts";
import { ADDRESS_OF_C } from "../channels/channels.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../database/rows.ts";
import type { Queryable } from "../database/queryable.ts";
import {
  ASSERTER,
  MEMORY_COLUMNS,
  OTHERWISE,
  type RawMemory,
  type ScoredMemory,
  dissentOf,
  memoryOf,
  refersOf,
  toolOf,
} from "./memory-rows.ts";
import {
  type AskingChannel,
  SAID_IN,
  IN_SCOPE,
  IS_FOLDED,
  type SaidIn,
  VISIBLE,
  askedBy,
  seenBy,
  visibleMemories,
} from "./memory-scope.ts";
import { endedBehind, type EndedMemories } from "./ended.ts";
import {
  type FoundPeople,
  foundPeople,
  NO_PEOPLE,
  NOBODY,
  type PeopleWords,
  peopleValues,
  type RawPeople,
  readPeople,
} from "./people.ts";

export interface MemoryQuery {
  /** A tsquery of lexemes; "": no words. */
  readonly words: string;
  /** Parts of words in scripts without spaces, looked for anywhere. */
  readonly pieces: readonly string[];
  /** Days that are asked for: what tells of one of them or was said on it is found, whatever its words. */
  readonly times: readonly DayRange[];
  /** People whose memories are looked for beside the search; default: nobody. */
  readonly people?: PeopleWords;
  readonly limit: number;
}

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

export interface MemoryRecord extends Memory {
  /** It was read from a file. */
  readonly imported?: true;
  readonly agent: AgentId;
  readonly channel: ChannelAddress;
  readonly sources: readonly (MemorySource & { readonly author: string; readonly at: Date })[];
}

/** A memory as people of a channel are shown it. */
export interface ListedMemory extends Memory {
  /** `elsewhere`: in any other place; only its author sees it. */
  readonly from: SaidIn | "elsewhere";
}

/** How many memories of a channel were refused for one reason. */
export interface RejectedMemories {
  readonly channel: ChannelAddress;
  /** A `MemoryRejection`, also one of a newer version. */
  readonly reason: string;
  readonly count: number;
  readonly lastAt: Date;
}

export interface Owned {
  readonly id: MemoryId;
  /** Id of the person who said it first; null: the agent itself. */
  readonly asserter: string | null;
  readonly messages: readonly { readonly id: string; readonly author: string }[];
}

/** A memory of the channel that asks, with whose it is. */
export interface OwnedMemory extends Memory, Owned {
  /** Memories that say the same in other words, in whose place it is shown. */
  readonly standsFor: readonly Owned[];
}

interface RawRecord extends RawMemory, Pick<MemoryRecord, "agent" | "channel"> {
  readonly imported: boolean;
  readonly sources: readonly { seq: Seq; quote: string; author: string; at: string }[];
}

/** $5 words, $6 most of them. */
const MEMORIES_BY_WORDS = `select ${MEMORY_COLUMNS}, m.score from (
    select visible.*, ts_rank(tsv, $5::tsquery) as score from (
      ${visibleMemories("m.tsv @@ $5::tsquery")}
    ) visible order by score desc, id desc limit $6
  ) m`;
/** The same as a column of JSON, for a statement that looks for something else, too. */
export const REMEMBERED = `(select coalesce(json_agg(w), '[]') from (${MEMORIES_BY_WORDS}) w) as remembered`;

/** Rows of `memories`. They are written with what they come from: by `commit_job`, and by `remember_message`. */
export class MemoryStore extends Rows {
  /**
   * Memories that the asking channel may see and that share a word or a piece of one with the query.
   * @param signal ends the look-up
   */
  async search(asker: AskingChannel, query: MemoryQuery, signal?: AbortSignal): Promise<MemoryHit[]> {
    return (await searchBy(this.db.lookUps(signal), asker, { ...query, people: NO_PEOPLE })).hits;
  }

  /** The same, with the memories of the people whose names are looked for. */
  async searchWithPeople(
    asker: AskingChannel,
    query: MemoryQuery,
    signal?: AbortSignal,
  ): Promise<{ hits: MemoryHit[]; about: FoundPeople }> {
    return searchBy(this.db.lookUps(signal), asker, query);
  }

  /** As {@link endedBehind}. @param signal ends the look-up */
  async ended(
    asker: AskingChannel,
    words: string,
    replacing: readonly MemoryId[],
    signal?: AbortSignal,
  ): Promise<EndedMemories[]> {
    return endedBehind(this.db.lookUps(signal), asker, words, replacing);
  }

  /** Memories that the asking channel may see, replaced ones included; the newest first, without repetitions. */
  async inScope(asker: AskingChannel, limit: number): Promise<ListedMemory[]> {
    const rows = await this.db.query<RawMemory & { from: ListedMemory["from"] }>(
      "memories_in_scope",
      `select ${MEMORY_COLUMNS}, ${SAID_IN} as from
         from memories m where ${IN_SCOPE} and not (m.valid_to is null and ${IS_FOLDED})
        order by m.valid_from desc, m.id desc limit $5`,
      [...askedBy(asker), limit],
    );
    return rows.map((row) => ({ ...memoryOf(row), from: row.from }));
  }

  /** Those of the channel that asks that this person said first (null: whoever did), the newest first. */
  async assertedBy(asker: AskingChannel, person: string | null, limit: number): Promise<Memory[]> {
    const rows = await this.db.query<RawMemory>(
      "memories_asserted",
      `select ${MEMORY_COLUMNS} from memories m where ${IN_SCOPE} and m.channel_id = $2 and ($5::text is null or ${ASSERTER} = $5)
        order by m.valid_from desc, m.id desc limit $6`,
      [...askedBy(asker), person === null ? null : storableText(person), limit],
    );
    return rows.map(memoryOf);
  }

  async visible(asker: AskingChannel, ids: readonly MemoryId[]): Promise<Memory[]> {
    if (ids.length === 0) return [];
    const rows = await this.db.query<RawMemory>(
      "memories_visible",
      `select ${MEMORY_COLUMNS} from memories m where ${IN_SCOPE} and m.id = any($5) order by m.id`,
      [...askedBy(asker), ids],
    );
    return rows.map(memoryOf);
  }

  /** A memory that comes from the channel that asks; undefined: there is none of this number, or it may not see it. */
  async find(asker: AskingChannel, id: number): Promise<OwnedMemory | undefined> {
    const [row] = await this.db.query<RawMemory & Pick<OwnedMemory, "asserter" | "messages" | "standsFor">>(
      "memory_find",
      `select ${MEMORY_COLUMNS}, ${ASSERTER} as asserter, ${messagesOf("m")} as messages,
              (select coalesce(jsonb_agg(jsonb_build_object('id', f.id, 'asserter', memory_asserter(f.id, f.asserted_by),
                                                            'messages', ${messagesOf("f")}) order by f.id), '[]')
                 from memories f where f.same_as = m.id and f.scope = m.scope and f.valid_to is null and m.valid_to is null) as stands_for
         from memories m where ${IN_SCOPE} and m.channel_id = $2 and m.id = $5`,
      [...askedBy(asker), id],
    );
    return (
      row && { ...memoryOf(row), asserter: row.asserter, messages: row.messages, standsFor: row.standsFor }
    );
  }

  /**
   * Number of deletions of texts that were said in a channel or a thread's channel, or shown there from another channel.
   */
  async takenBack(channel: ChannelId): Promise<number> {
    const [row] = await this.db.query<{ takenBack: number }>(
      "channel_taken_back_of",
      "select notes_taken_back($1) as taken_back",
      [channel],
    );
    return row?.takenBack ?? 0;
  }

  /**
   * The channels whose own number of such deletions is another one by now: of threads, without those of their channel.
   * @param known the number that each knows
   */
  async behind(known: ReadonlyMap<ChannelId, number>): Promise<ReadonlySet<ChannelId>> {
    if (known.size === 0) return new Set();
    const rows = await this.db.query<{ id: ChannelId }>(
      "channels_behind",
      `select known.id from unnest($1::bigint[], $2::bigint[]) known (id, count)
         join search_progress p on p.channel_id = known.id and p.taken_back <> known.count`,
      [[...known.keys()], [...known.values()]],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Counts refused memories; what they said is kept nowhere. */
  async countRejected(channel: ChannelId, reasons: readonly MemoryRejection[]): Promise<void> {
    if (reasons.length === 0) return;
    await this.db.query("memories_rejected", "select count_rejected($1, $2)", [channel, reasons]);
  }

  async rejected(filter: { readonly channel?: ChannelId }): Promise<RejectedMemories[]> {
    return this.db.query<RejectedMemories>(
      "memories_rejections",
      `select ${ADDRESS_OF_C} as channel, r.reason, r.count, r.last_at from memory_rejections r join channels c on c.id = r.channel_id
        where $1::bigint is null or c.id = $1 order by c.platform, c.name, r.reason`,
      [filter.channel ?? null],
    );
  }

  /**
   * For whoever runs Weir: memories of all agents, or of one channel, with their sources; the newest first.
   * @param filter.person a name: only what a person of this name said first, or is about
   * @param filter.isPublic only what rests on words that were said in public; default: all
   */
  async list(
    filter: { readonly channel?: ChannelId; readonly person?: string; readonly isPublic?: boolean },
    limit: number,
  ): Promise<MemoryRecord[]> {
    const { channel = null, person, isPublic = false } = filter;
    const [name, condition] = person === undefined ? ["memories_list", "true"] : ["memories_of", OF_PERSON];
    const db = person === undefined && !isPublic ? this.db : this.db.lookUps();
    const rows = await db.query<RawRecord>(
      isPublic ? `${name}_public` : name,
      `select ${MEMORY_COLUMNS}, m.agent, ${ADDRESS_OF_C} as channel, m.imported_at is not null as imported,
              (select jsonb_agg(jsonb_build_object('seq', s.seq, 'quote', s.quote, 'at', e.at,
                                                   'author', coalesce(e.author_name, m.tool, m.agent)) order by s.seq)
                 from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
                where s.memory_id = m.id) as sources
         from memories m join channels c on c.id = m.channel_id
        where ($1::bigint is null or m.channel_id = $1) and ${condition} ${isPublic ? "and remembered_in_public(m)" : ""}
        order by m.valid_from desc, m.id desc limit $2`,
      [channel, limit, ...(person === undefined ? [] : [storableText(person)])],
    );
    return rows.map((row) => ({
      ...memoryOf(row),
      ...(row.imported && { imported: true as const }),
      agent: row.agent,
      channel: row.channel,
      sources: row.sources.map((source) => ({ ...source, at: new Date(source.at) })),
    }));
  }
}

/** $3: the name. No index has names of all channels: it is a look-up, which the server bounds. */
const OF_PERSON = "normal_text($3) in (normal_text(m.asserted_by), normal_text(m.subject))";

/** The messages of people that prove a row of `memories`. @param memory its alias in SQL */
function messagesOf(memory: string): string {
  return `(select coalesce(jsonb_agg(jsonb_build_object('id', e.message_id, 'author', e.author_id) order by e.seq), '[]')
             from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq and e.kind = 'user'
            where s.memory_id = ${memory}.id and s.channel_id = ${memory}.channel_id)`;
}

async function searchBy(
  db: Queryable,
  asker: AskingChannel,
  query: MemoryQuery,
): Promise<{ hits: MemoryHit[]; about: FoundPeople }> {
  // One after the other: a search takes one connection at a time.
  const { remembered: byWords, about } = await byTheirWords(db, asker, query);
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
  const best = [...hits.values()]
    .toSorted((a, b) => fit(b) - fit(a) || b.memory.id - a.memory.id)
    .slice(0, query.limit);
  return { hits: best, about };
}

interface RawRemembered {
  readonly remembered: readonly ScoredMemory[];
  readonly about?: RawPeople;
}

async function byTheirWords(
  db: Queryable,
  asker: AskingChannel,
  { words, limit, people = NO_PEOPLE }: MemoryQuery,
): Promise<{ remembered: readonly ScoredMemory[]; about: FoundPeople }> {
  if (people.words.length === 0) {
    if (words === "") return { remembered: [], about: NOBODY };
    const remembered = await db.query<ScoredMemory>("memories_by_words", MEMORIES_BY_WORDS, [
      ...askedBy(asker),
      words,
      limit,
    ]);
    return { remembered, about: NOBODY };
  }
  const [row] = await db.query<RawRemembered>(
    "memories_with_people",
    `select ${REMEMBERED}, ${foundPeople(7)} as about`,
    [...askedBy(asker), words, limit, ...peopleValues(people)],
  );
  return { remembered: row?.remembered ?? [], about: readPeople(row?.about) };
}

/** What is visible and has a score, the best first. @param score of a row of `visible`, and @param limit: SQL */
function visibleByScore(score: string, limit: string): string {
  return `select ${MEMORY_COLUMNS}, m.score from (
            select visible.*, ${score} as score from (select * from memories m where ${VISIBLE}) visible
          ) m where m.score > 0 order by m.score desc, m.id desc limit ${limit}`;
}

async function byTheirPieces(
  db: Queryable,
  asker: AskingChannel,
  query: MemoryQuery,
): Promise<ScoredMemory[]> {
  return db.query(
    "memories_by_pieces",
    visibleByScore(
      `(select count(*) from unnest($5::text[]) piece
           where position(piece in concat_ws(' ', subject, asserted_by, statement)) > 0) / cardinality($5::text[])::float8`,
      "$6",
    ),
    [...askedBy(asker), query.pieces, query.limit],
  );
}

async function byTheirTimes(
  db: Queryable,
  asker: AskingChannel,
  query: MemoryQuery,
): Promise<ScoredMemory[]> {
  return db.query(
    "memories_by_times",
    visibleByScore(
      `(select max(case when refers_from <= asked.until and refers_to >= asked.since then 1.0
                          when (valid_from at time zone 'UTC')::date between asked.since and asked.until then 0.5
                          else 0 end)::float8
            from unnest($5::date[], $6::date[]) asked (since, until))`,
      "$7",
    ),
    [...askedBy(asker), query.times.map(({ from }) => from), query.times.map(({ to }) => to), query.limit],
  );
}

/**
 * Memories that stored tool results of a channel quote, by id; without those that were deleted or that the channel may no longer see.
 * A contradicting memory is named only if it is quoted there itself: deletions reach only the places that are known to show it.
 */
export async function readStatements(
  client: Queryable,
  channel: ChannelId,
  ids: readonly number[],
  agent?: string,
): Promise<ReadonlyMap<number, RememberedStatement>> {
  if (ids.length === 0) return new Map();
  const rows = await client.query<RawMemory>(
    "memories_read_in",
    `select m.id, m.type, m.asserted_by, m.tool, m.valid_from, m.statement,
            m.refers_from::text as refers_from, m.refers_to::text as refers_to, ${OTHERWISE}
       from channels here cross join lateral (
         select * from memories m where m.id = any($2) and ${seenBy("coalesce($3::text, here.agent)", "here.id", "here.workspace", "here.kind")}
       ) m where here.id = $1`,
    [channel, [...new Set(ids)], agent ?? null],
  );
  return new Map(
    rows.map((row) => {
      const { id, type, assertedBy, validFrom: at, statement } = row;
      const otherwise = row.otherwise?.filter((other) => ids.includes(other.id)) ?? [];
      const dissent = dissentOf({ otherwise: otherwise.length > 0 ? otherwise : null });
      return [
        id,
        { type, assertedBy, at: new Date(at), statement, ...toolOf(row), ...refersOf(row), ...dissent },
      ];
    }),
  );
}

/** A memory that was found by its words alone. */
export function toHit(row: ScoredMemory): MemoryHit {
  return { memory: memoryOf(row), words: row.score, pieces: 0, time: 0, asserter: row.termBy };
}
