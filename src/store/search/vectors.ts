import type { ChannelId, MemoryId, Seq } from "../../core/ids.ts";
import type { Memory } from "../../core/memory.ts";
import { Rows } from "../database/rows.ts";
import { askedBy, type AskingChannel, visibleMemories } from "../memory/memory-scope.ts";
import { MEMORY_COLUMNS, memoryOf } from "../memory/memory-rows.ts";

/** The signs of a vector's numbers as a bit string: what is near in meaning differs in few of them. */
export type Bits = string;

export interface NearTo {
  /** The model's name, as the vectors were kept under it. */
  readonly model: string;
  readonly bits: Bits;
  /** Nothing that differs in more bits than this. */
  readonly most: number;
  readonly limit: number;
}

/** A hit, and the number of bits in which its vector differs from the query's. */
export type Near<Of> = Of & { readonly differs: number };

export interface TextToEmbed {
  readonly of: { readonly seq: Seq; readonly md5: string } | { readonly memory: MemoryId };
  readonly text: string;
}

export interface VectorProgress {
  readonly entriesTo: Seq;
  /** By id; 0: none. */
  readonly memoriesTo: number;
}

/** The next texts to embed, with the progress before (`from`) and after them (`to`). */
export interface TextBatch {
  readonly from: VectorProgress;
  readonly to: VectorProgress;
  readonly texts: readonly TextToEmbed[];
}

/**
 * Newest vectors of a channel that are compared: each costs about half a microsecond, and no index knows how many bits of
 * two texts differ.
 */
const COMPARED = 20_000;
/** A shorter text says too little to be found by its meaning, bytes; and longer ones are cut, characters. */
const SHORT_BYTES = 12;
const LONG = 2000;
/** Newest entries that a sample is taken of, and lengths of its lines, bytes. */
const SAMPLED = 5000;
const SAMPLE_BYTES = { from: 60, to: 1000 };

/** Bits in which a row of vectors differs from a parameter; null: they have not the same length, and cannot be compared. */
function differs(bits: string): string {
  return `case when length(v.bits) = length(${bits}::bit varying) then bit_count(v.bits # ${bits}::bit varying) end`;
}

/** Vectors of texts beside the log, where an embedding model is configured. */
export class VectorStore extends Rows {
  /**
   * Entries of a channel that are nearest to an embedding, the nearest first.
   * @param signal ends the look-up
   */
  async entriesNear(
    channel: ChannelId,
    near: NearTo,
    range: { readonly from: Seq; readonly to: Seq },
    signal?: AbortSignal,
  ): Promise<Near<{ seq: Seq }>[]> {
    return this.db.lookUps(signal).query<Near<{ seq: Seq }>>(
      "vectors_entries_near",
      `select n.seq, n.differs::integer as differs from (
         select v.seq, ${differs("$2")} as differs from (
           select seq, bits from entry_vectors
            where channel_id = $1 and seq between $3 and $4 order by seq desc limit ${COMPARED}
         ) v where exists (select from vector_progress p where p.channel_id = $1 and p.model = $5)
       ) n where n.differs <= $6 order by n.differs, n.seq desc limit $7`,
      [channel, near.bits, range.from, range.to, near.model, near.most, near.limit],
    );
  }

  async memoriesNear(
    asker: AskingChannel,
    near: NearTo,
    signal?: AbortSignal,
  ): Promise<Near<{ memory: Memory }>[]> {
    const rows = await this.db.lookUps(signal).query<Near<Parameters<typeof memoryOf>[0]>>(
      "vectors_memories_near",
      `select ${MEMORY_COLUMNS}, m.differs::integer as differs from (
         select n.* from (
           select visible.*, ${differs("$5")} as differs
             from (${visibleMemories("true")}) visible
             join memory_vectors v on v.memory_id = visible.id
             join vector_progress p on p.channel_id = visible.channel_id and p.model = $6
         ) n where n.differs <= $7 order by n.differs, n.id desc limit $8
       ) m order by m.differs, m.id desc`,
      [...askedBy(asker), near.bits, near.model, near.most, near.limit],
    );
    return rows.map((row) => ({ memory: memoryOf(row), differs: row.differs }));
  }

  /**
   * Channels with texts that have no vector of a model.
   * @param after memories up to this id are known to have one
   * @returns `last`: the newest memory of all, by id
   */
  async behind(
    model: string,
    after: number,
    limit: number,
  ): Promise<{ readonly channels: readonly ChannelId[]; readonly last: number }> {
    const [row] = await this.db.query<{ channels: ChannelId[]; last: number }>(
      "vectors_behind",
      `select coalesce((select max(id) from memories), 0)::float8 as last,
              (select coalesce(jsonb_agg(b.id), '[]') from (
                 select c.id from channels c left join vector_progress p on p.channel_id = c.id and p.model = $1
                  where c.last_seq > coalesce(p.entries_to, 0)
                 union
                 select m.channel_id from memories m left join vector_progress p on p.channel_id = m.channel_id and p.model = $1
                  where m.id > $2 and m.id > coalesce(p.memories_to, 0)
                 order by id limit $3) b) as channels`,
      [model, after, limit],
    );
    return row ?? { channels: [], last: 0 };
  }

  /** The newest lines that people have said in the largest channel, of a certain length, each once; null: there is no channel. */
  async sample(
    limit: number,
  ): Promise<{ readonly channel: ChannelId; readonly lines: readonly string[] } | null> {
    const [row] = await this.db.query<{ channel: ChannelId; lines: string[] }>(
      "vectors_sample",
      `select c.id as channel, array(
         select said.text from entries e cross join lateral entry_text(e.channel_id, e.seq, e.text) said (text)
          where e.channel_id = c.id and e.seq > c.last_seq - ${SAMPLED} and e.kind = 'user' and e.deleted_at is null
            and not e.author_bot and not is_due_work(e.message_id)
            and octet_length(said.text) between ${SAMPLE_BYTES.from} and ${SAMPLE_BYTES.to}
          group by said.text order by max(e.seq) desc limit $1) as lines
         from channels c where c.gone_at is null order by c.last_seq desc limit 1`,
      [limit],
    );
    return row ?? null;
  }

  /** The next texts of a channel that have no vector of a model, of each kind at most `limit`. */
  async next(channel: ChannelId, model: string, limit: number): Promise<TextBatch> {
    const [begun] = await this.db.query<{ entriesTo: number; memoriesTo: number; last: number }>(
      "vectors_begin",
      "select entries_to, memories_to, (select last_seq from channels where id = $1) as last from begin_vectors($1, $2)",
      [channel, model],
    );
    const from = { entriesTo: begun?.entriesTo ?? 0, memoriesTo: begun?.memoriesTo ?? 0 };
    const entries = await this.db.query<{ seq: number; text: string; md5: string }>(
      // Behind an old message that was edited nearly all have one: they are passed over at once.
      "vectors_entries",
      `select e.seq, md5(said.text) as md5, left(concat(e.author_name || ': ', said.text), ${LONG}) as text
         from entries e cross join lateral entry_text(e.channel_id, e.seq, e.text) said (text)
        where e.channel_id = $1 and e.seq > $2 and e.kind in ('user', 'assistant') and e.deleted_at is null
          and not exists (select from entry_vectors v where v.channel_id = e.channel_id and v.seq = e.seq)
          and octet_length(said.text) >= ${SHORT_BYTES}
        order by e.seq limit $3`,
      [channel, from.entriesTo, limit],
    );
    const memories = await this.db.query<{ id: MemoryId; text: string }>(
      "vectors_memories",
      `select m.id, left(concat(m.subject, ': ', m.statement), ${LONG}) as text
         from memories m where m.channel_id = $1 and m.id > $2 order by m.id limit $3`,
      [channel, from.memoriesTo, limit],
    );
    return {
      from,
      to: {
        entriesTo: Math.max(
          entries.at(-1)?.seq ?? from.entriesTo,
          entries.length < limit ? (begun?.last ?? 0) : 0,
        ),
        memoriesTo: memories.at(-1)?.id ?? from.memoriesTo,
      },
      texts: [
        ...memories.map(({ id, text }) => ({ of: { memory: id }, text })),
        ...entries.map(({ seq, md5, text }) => ({ of: { seq, md5 }, text })),
      ],
    };
  }

  /** Keeps the vectors of a batch: of those of its texts that still say the same. */
  async keep(
    channel: ChannelId,
    model: string,
    { from, to }: TextBatch,
    vectors: readonly { readonly of: TextToEmbed["of"]; readonly bits: Bits }[],
  ): Promise<void> {
    const entries = vectors.flatMap(({ of, bits }) => ("seq" in of ? [[of.seq, of.md5, bits]] : []));
    const memories = vectors.flatMap(({ of, bits }) => ("memory" in of ? [[of.memory, bits]] : []));
    await this.db.query("vectors_keep", "select keep_vectors($1, $2, $3, $4, $5, $6, $7)", [
      channel,
      model,
      from.entriesTo,
      to.entriesTo,
      to.memoriesTo,
      JSON.stringify(entries),
      JSON.stringify(memories),
    ]);
  }

  /**
   * Marks each of these memories as the same as an older one with the same meaning, where there is one. One statement
   * each, so that messages of the channel do not wait for all of them.
   * @param share of the bits in which they may differ
   * @returns those that were marked
   */
  async fold(channel: ChannelId, memories: readonly MemoryId[], share: number): Promise<MemoryId[]> {
    const folded: MemoryId[] = [];
    for (const memory of memories) {
      const [row] = await this.db.query<{ folded: boolean }>(
        "memory_fold",
        "select fold_memory($1, $2, $3) as folded",
        [channel, memory, share],
      );
      if (row?.folded === true) folded.push(memory);
    }
    return folded;
  }

  /** How many texts have vectors, and about how many entries wait for theirs. */
  async progress(model: string): Promise<{ readonly kept: number; readonly waiting: number }> {
    const [row] = await this.db.query<{ kept: number; waiting: number }>(
      "vectors_progress",
      `select ((select count(*) from entry_vectors) + (select count(*) from memory_vectors))::float8 as kept,
              (select coalesce(sum(c.last_seq - coalesce(p.entries_to, 0)), 0) from channels c
                 left join vector_progress p on p.channel_id = c.id and p.model = $1)::float8 as waiting`,
      [model],
    );
    return { kept: row?.kept ?? 0, waiting: row?.waiting ?? 0 };
  }
}
