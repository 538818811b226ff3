import type { UserEntry } from "../../core/entry.ts";
import type { ChannelAddress, ChannelId, MemoryId, Seq } from "../../core/ids.ts";
import type { MemoryDraft } from "../../core/memory.ts";
import type { InboundMessage } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import {
  ADDRESS_OF_C,
  type ChannelRow,
  COLUMNS_OF_C,
  type RawChannel,
  toChannel,
} from "../channels/channels.ts";
import type { Digester } from "../compaction/extracts.ts";
import type { Database } from "../database/database.ts";
import { messageData } from "../log/draft-rows.ts";
import { draftMessage, loggedEntry } from "../log/message-rows.ts";
import type { DeletionEngine } from "./deletion-engine.ts";
import { type Deleted, prepareDeletion } from "./deletions.ts";
import { type EditOutcome, editMessage, type LoggedEdit, prepareEdit } from "./edits.ts";

/** A statement that somebody wanted remembered, with the message that bears it. */
export interface RememberedWords {
  readonly entry: UserEntry;
  /** Null: the message was deleted, or says something else, since an earlier attempt wrote it. */
  readonly memory: MemoryId | null;
  /** How many messages say so now; more than one: it was known already. */
  readonly proofs: number;
}

export interface SaidMessages {
  readonly channel: ChannelAddress;
  readonly messageIds: readonly string[];
}

/**
 * What a person has said in a channel: there, and the same messages where they are background of the channel's threads.
 * $1 channel, $2 the person.
 */
const SAID = `
  select e.channel_id, e.message_id from entries e
   where e.channel_id = $1 and e.author_id = $2 and e.kind = 'user' and e.deleted_at is null
  union all
  select copy.channel_id, copy.message_id
    from channels c
    join channels thread on thread.platform = c.platform and thread.kind = 'thread' and thread.place->'parent'->>'id' = c.name
    join entries copy on copy.channel_id = thread.id and copy.author_id = $2 and copy.deleted_at is null
   where c.id = $1 and exists (
     select from entries e where e.message_id = copy.message_id and e.channel_id = c.id and e.author_id = $2)`;

/** The messages $2 of the channel $1 as `copy`, and the same messages of the same people where they are background of threads. */
const COPIES = `channels here join entries e on e.channel_id = here.id
         join entries copy on copy.message_id = e.message_id and copy.author_id = e.author_id and copy.deleted_at is null
         join channels c on c.id = copy.channel_id and c.platform = here.platform
        where here.id = $1 and e.message_id = any($2) and e.kind = 'user'`;

/** A channel with remaining messages of a person. */
export interface SpokenPlace {
  readonly channel: ChannelRow;
  readonly messages: number;
}

/** Somebody whom the log has heard. */
export interface KnownPerson {
  readonly platform: string;
  readonly id: string;
  /** The last name that they spoke under. */
  readonly name: string;
  /** Remaining messages. */
  readonly messages: number;
}

/** What is removed with all messages of a person. */
export interface BorneByPerson {
  /** Memories without any other person's proof. A result that a tool returned for this person's message counts as this person's. */
  readonly memories: number;
  readonly pictures: number;
  /** Live summaries over their messages: each becomes an extract of what is left, and is written again. */
  readonly summaries: number;
}

/** What people ask of their own words. */
export class PersonalDataStore {
  readonly #db: Database;
  readonly #engine: DeletionEngine;

  constructor(db: Database, engine: DeletionEngine) {
    this.#db = db;
    this.#engine = engine;
  }

  /** Appends a message that is only listened to, with the memory that it bears, in one transaction; twice is once. */
  async remember(channel: ChannelId, message: InboundMessage, memory: MemoryDraft): Promise<RememberedWords> {
    const draft = draftMessage({ ...message, addressed: false });
    const { messageId, author, text, tokens, at } = draft;
    const [row] = await this.#db.query<Omit<RememberedWords, "entry"> & { entrySeq: Seq }>(
      "remember_message",
      "select entry_seq, memory, proofs from remember_message($1, $2, $3, $4, $5, $6, $7, $8, $9)",
      [
        channel,
        messageId,
        author.id,
        author.name,
        text,
        tokens,
        at,
        JSON.stringify(memory),
        messageData(draft),
      ],
    );
    if (row === undefined) throw new Error("remember_message returned no row");
    return { entry: loggedEntry(draft, row.entrySeq), memory: row.memory, proofs: row.proofs };
  }

  /** A message as it reads now, if it is a source of a memory; undefined: it is not. */
  async bearing(
    channel: ChannelId,
    messageId: string,
  ): Promise<Pick<InboundMessage, "id" | "author" | "text" | "at"> | undefined> {
    const [row] = await this.#db.query<Pick<InboundMessage, "author" | "text" | "at">>(
      "message_bearing",
      `select json_build_object('id', e.author_id, 'name', e.author_name, 'isBot', false) as author, entry_text(e.channel_id, e.seq, e.text) as text, e.at from entries e
        where e.channel_id = $1 and e.message_id = $2 and e.kind = 'user' and e.deleted_at is null
          and exists (select from memory_sources s where s.channel_id = e.channel_id and s.seq = e.seq)`,
      [channel, storableText(messageId)],
    );
    return row && { ...row, id: messageId };
  }

  /**
   * Edits a message that somebody had remembered, in one transaction: its old words prove nothing any longer.
   * @param memory of the new words; null: they are not to be remembered
   */
  async reword(
    channel: ChannelId,
    edit: LoggedEdit,
    memory: MemoryDraft | null,
    digester: Digester,
  ): Promise<EditOutcome> {
    const engine = this.#engine;
    const deletion = await prepareEdit(engine, this.#db, channel, edit, digester);
    return this.#db.transaction(async (client) => {
      const edited = await editMessage(engine, client, channel, edit, digester, deletion);
      if (edited.outcome === "unknown" || edited.outcome === "unchanged") return edited;
      // A deleted message proves nothing.
      if (edited.outcome === "replaced" && edited.isDeleted === true) return edited;
      await client.query("proofs_take_all", "select take_proofs($1, $2, null)", [channel, edited.seq]);
      if (memory === null) return edited;
      const sources = memory.sources.map(({ quote }) => ({ seq: edited.seq, quote }));
      await client.query("add_memory", "select add_memory($1, null, $2)", [
        channel,
        JSON.stringify({ ...memory, sources }),
      ]);
      return edited;
    });
  }

  /** Models stay as a person has chosen them, and nobody knows by whom. @param channel null: in all of the platform */
  async leaveChoices(platform: string, person: string, channel: ChannelId | null): Promise<void> {
    await this.#db.query(
      "person_choices",
      `update channels set chosen_by = null
        where platform = $1 and chosen_by = $2 and ($3::bigint is null or id = $3)`,
      [platform, storableText(person), channel],
    );
  }

  /** Removes a memory of a channel, whatever still proves it. @returns false if there is none */
  async forgetMemory(channel: ChannelId, memory: MemoryId): Promise<boolean> {
    const [row] = await this.#db.query<{ gone: boolean }>(
      "forget_memory",
      "select forget_memory($1, $2) as gone",
      [channel, memory],
    );
    return row?.gone ?? false;
  }

  /** Counts a person's messages in a channel, and the memories that only these messages, or what tools returned for them, prove. */
  async countSaid(channel: ChannelId, person: string): Promise<{ messages: number; memories: number }> {
    const [row] = await this.#db.query<{ messages: number; memories: number }>(
      "person_count_said",
      `select (select count(*) from (${SAID}) said) as messages,
              (select count(*) from memories m where m.channel_id = $1 and not exists (
                 select from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
                  where s.memory_id = m.id and case when m.tool is null then e.author_id is distinct from $2
                                                    else not is_for(s.channel_id, s.seq, $2) end)) as memories`,
      [channel, storableText(person)],
    );
    return row ?? { messages: 0, memories: 0 };
  }

  /** Some of what a person has said in a channel, `limit` messages at most, by the channels in which they stand. */
  async said(channel: ChannelId, person: string, limit: number): Promise<SaidMessages[]> {
    return this.#db.query<SaidMessages>(
      "person_said",
      `select ${ADDRESS_OF_C} as channel, array_agg(said.message_id) as message_ids
         from (select * from (${SAID}) every limit $3) said join channels c on c.id = said.channel_id
        group by c.id order by c.id = $1, c.id`,
      [channel, storableText(person), limit],
    );
  }

  /** The channels of a platform in which a person has said something that is there, or is quoted, of every agent. */
  async places(platform: string, person: string): Promise<SpokenPlace[]> {
    const rows = await this.#db.query<RawChannel & { messages: number }>(
      "person_places",
      `select ${COLUMNS_OF_C}, said.messages
         from (select channel_id, sum(messages)::bigint as messages from (
                 select e.channel_id, count(*) as messages from entries e
                  where e.author_id = $2 and e.kind = 'user' and e.deleted_at is null group by e.channel_id
                 union all
                 select distinct q.channel_id, 0 from quotes q where q.author_id = $2) every
                group by channel_id) said
         join channels c on c.id = said.channel_id and c.platform = $1
        order by c.id`,
      [platform, storableText(person)],
    );
    return rows.map(({ messages, ...row }) => ({ channel: toChannel(row), messages }));
  }

  /** What would be removed with all messages of a person on a platform. */
  async borne(platform: string, person: string): Promise<BorneByPerson> {
    const [row] = await this.#db.query<BorneByPerson>(
      "person_borne",
      `with said as materialized (
         select e.channel_id, e.seq, e.message_id
           from entries e join channels c on c.id = e.channel_id and c.platform = $1
          where e.author_id = $2 and e.kind = 'user' and e.deleted_at is null)
       select (select count(*) from (
                 select from memory_sources s
                   join entries e on e.channel_id = s.channel_id and e.seq = s.seq
                   join channels c on c.id = s.channel_id and c.platform = $1
                  group by s.memory_id having bool_and(e.author_id is not distinct from $2)
                 union all
                 select from memories m
                  where m.tool is not null and m.channel_id in (select channel_id from said) and not exists (
                    select from memory_sources s where s.memory_id = m.id and not is_for(s.channel_id, s.seq, $2))) borne) as memories,
              (select count(*) from images i
                where i.platform = $1 and i.message_id in (select message_id from said)) as pictures,
              (select count(*) from summaries s
                where s.live and s.kind <> 'reset' and s.channel_id in (select channel_id from said)
                  and exists (select from said where said.channel_id = s.channel_id
                                 and said.seq between s.from_seq and s.to_seq)) as summaries`,
      [platform, storableText(person)],
    );
    return row ?? { memories: 0, pictures: 0, summaries: 0 };
  }

  /**
   * People whom the log has heard, those with the most messages first.
   * @param platform null: of all
   * @param called only who has this id, or has spoken under this name; null: everybody
   */
  async known(platform: string | null, called: string | null, limit: number): Promise<KnownPerson[]> {
    return this.#db.query<KnownPerson>(
      "person_known",
      `select c.platform, e.author_id as id, (array_agg(e.author_name order by e.at desc, e.seq desc))[1] as name,
              count(*) filter (where e.deleted_at is null) as messages
         from entries e join channels c on c.id = e.channel_id
        where e.kind = 'user' and ($1::text is null or c.platform = $1)
        group by c.platform, e.author_id
       having $2::text is null or e.author_id = $2 or bool_or(normal_text(e.author_name) = normal_text($2))
        order by messages desc, c.platform, e.author_id limit $3`,
      [platform, called === null ? null : storableText(called), limit],
    );
  }

  /** The platform's ids of what a person has said in one channel, `limit` at most; the oldest first. */
  async messagesIn(channel: ChannelId, person: string, limit: number): Promise<string[]> {
    const rows = await this.#db.query<{ messageId: string }>(
      "person_messages",
      `select message_id from entries
        where channel_id = $1 and author_id = $2 and kind = 'user' and deleted_at is null order by seq limit $3`,
      [channel, storableText(person), limit],
    );
    return rows.map((row) => row.messageId);
  }

  /** Where the same messages of the same people stand, by the channels: there, and as background of threads. */
  async copies(channel: ChannelId, messageIds: readonly string[]): Promise<SaidMessages[]> {
    return this.#db.query<SaidMessages>(
      "person_copies",
      `select ${ADDRESS_OF_C} as channel, array_agg(copy.message_id) as message_ids
         from ${COPIES}
        group by c.id order by c.id <> $1, c.id`,
      [channel, messageIds.map(storableText)],
    );
  }

  /**
   * Counts what a deletion of people's messages, and of their copies in threads, would delete: the messages of the channel that
   * still have a text, and the memories that have no other source.
   * @param but these memories are not counted
   */
  async restingOn(
    channel: ChannelId,
    messageIds: readonly string[],
    but: readonly MemoryId[],
  ): Promise<{ readonly messages: number; readonly otherMemories: number }> {
    const [row] = await this.#db.query<{ messages: number; otherMemories: number }>(
      "person_resting_on",
      `with taken as (
         select copy.channel_id, copy.seq from ${COPIES})
       select (select count(distinct seq) from taken where channel_id = $1) as messages,
              (select count(distinct s.memory_id) from taken join memory_sources s using (channel_id, seq)
                where s.memory_id <> all($3) and not exists (
                  select from memory_sources o where o.memory_id = s.memory_id and not exists (
                    select from taken t where t.channel_id = o.channel_id and t.seq = o.seq))) as other_memories`,
      [channel, messageIds.map(storableText), but],
    );
    return row ?? { messages: 0, otherMemories: 0 };
  }

  /** Deletes messages of a channel, each as a deletion on its platform does, in one transaction. */
  async blank(channel: ChannelId, messageIds: readonly string[], digester: Digester): Promise<Deleted> {
    return this.#db.transaction(await prepareDeletion(this.#engine, this.#db, channel, messageIds, digester));
  }
}
