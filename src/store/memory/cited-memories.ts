import type { AgentId, ChannelId, MemoryId } from "../../core/ids.ts";
import type { MemorySource } from "../../core/memory.ts";
import { storableText } from "../../text/text.ts";
import { ADDRESS_OF_C, type ChannelRow } from "../channels/channels.ts";
import { Rows } from "../database/rows.ts";
import { type ListedMemory } from "./memories.ts";
import { askedBy, type AskingChannel, SAID_IN, IN_SCOPE } from "./memory-scope.ts";
import { ASSERTER, MEMORY_COLUMNS, OWN_PROOFS, type RawMemory, memoryOf } from "./memory-rows.ts";

/** A memory as people are shown it with what proves it. */
export interface CitedMemory extends ListedMemory {
  readonly agent: AgentId;
  readonly channel: Pick<ChannelRow, "address" | "kind" | "workspace" | "place">;
  /** All channels of that workspace see it. */
  readonly isShared: boolean;
  /** The first of its proofs. */
  readonly sources: readonly CitedSource[];
}

export interface CitedSource extends MemorySource {
  readonly author: string;
  readonly at: Date;
  /** The platform's id; null: it has none. */
  readonly messageId: string | null;
}

interface RawCited extends RawMemory, Pick<CitedMemory, "agent" | "channel" | "from" | "isShared"> {
  readonly sources: readonly (Omit<CitedSource, "at"> & { readonly at: string })[];
}

/** Proofs of one memory that are cited. */
const CITED = 2;

/** Of `memories m join channels c`. */
const CITED_COLUMNS = `${MEMORY_COLUMNS}, m.agent,
  json_build_object('address', ${ADDRESS_OF_C}, 'kind', c.kind, 'workspace', c.workspace, 'place', c.place) as channel,
  m.scope = 'workspace' and c.kind = 'channel' and not coalesce(c.is_private, true) and c.shares_memory and c.gone_at is null as is_shared,
  (select coalesce(jsonb_agg(to_jsonb(cited) order by cited.seq), '[]') from (
     select s.seq, s.quote, coalesce(e.author_name, m.tool, m.agent) as author, e.at, source_message_id(e) as "messageId"
       from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
      where s.memory_id = m.id order by s.seq limit ${CITED}) cited) as sources`;

/** Nobody but $1 has said what proves it, and on no other platform than $2. */
const OWN_WORDS = `exists (select from memory_sources s where s.memory_id = m.id) and not exists (
  select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
   where s.memory_id = m.id and e.author_id is distinct from $1)`;

/** Memories with what proves them, for the people who may see them. */
export class CitedMemoryStore extends Rows {
  /** Which of these the asking channel may see, each with what proves it. */
  async visible(asker: AskingChannel, ids: readonly MemoryId[]): Promise<CitedMemory[]> {
    if (ids.length === 0) return [];
    const rows = await this.db.query<RawCited>(
      "memories_cited",
      `select ${CITED_COLUMNS}, ${SAID_IN} as from
         from memories m join channels c on c.id = m.channel_id where ${IN_SCOPE} and m.id = any($5)`,
      [...askedBy(asker), ids],
    );
    return rows.map(toCited);
  }

  /**
   * Memories that the asking channel may see and that a person said first, or that are about this name; the newest first.
   * @param person the platform's id
   */
  async about(
    asker: AskingChannel,
    { id, name }: { readonly id: string; readonly name: string },
    limit: number,
  ): Promise<CitedMemory[]> {
    const rows = await this.db.query<RawCited>(
      "memories_about",
      `select ${CITED_COLUMNS}, ${SAID_IN} as from
         from memories m join channels c on c.id = m.channel_id
        where ${IN_SCOPE} and (${ASSERTER} = $5 or normal_text(m.subject) = normal_text($6))
        order by m.valid_from desc, m.id desc limit $7`,
      [...askedBy(asker), storableText(id), storableText(name), limit],
    );
    return rows.map(toCited);
  }

  /**
   * Memories of any place that only the words of one person prove, the newest first. The person may see them in private, without
   * contradictions and repetitions by others: the person may have left that place.
   * @param elsewhere `than`: what was said there is left out; `id`: only this one
   */
  async ownWords(
    platform: string,
    person: string,
    elsewhere: { readonly than: ChannelId; readonly id?: MemoryId },
    limit: number,
  ): Promise<CitedMemory[]> {
    const rows = await this.db.query<RawCited & { ownProofs: number }>(
      "memories_own_words",
      `select ${CITED_COLUMNS}, 'elsewhere' as from, ${OWN_PROOFS} as own_proofs
         from memories m join channels c on c.id = m.channel_id and c.platform = $2
        where c.id <> $3 and ($5::bigint is null or m.id = $5) and m.id in (
                select s.memory_id from entries e join memory_sources s on s.channel_id = e.channel_id and s.seq = e.seq
                 where e.author_id = $1 and e.kind = 'user')
          and ${OWN_WORDS}
        order by m.valid_from desc, m.id desc limit $4`,
      [storableText(person), platform, elsewhere.than, limit, elsewhere.id ?? null],
    );
    return rows.map((row) => toCited({ ...row, otherwise: null, sameAs: null, proofs: row.ownProofs }));
  }
}

function toCited(row: RawCited): CitedMemory {
  return {
    ...memoryOf(row),
    agent: row.agent,
    from: row.from,
    channel: row.channel,
    isShared: row.isShared,
    sources: row.sources.map((source) => ({ ...source, at: new Date(source.at) })),
  };
}
