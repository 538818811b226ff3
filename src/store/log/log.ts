import type { CurrentText, Entry, TurnEntryDraft } from "../../core/entry.ts";
import type { AgentId, ChannelAddress, ChannelId, MemoryId, Owner, Seq, TurnId } from "../../core/ids.ts";
import { mentionId } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import type { Digester } from "../compaction/extracts.ts";
import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import type { DeletionEngine } from "../deletion/deletion-engine.ts";
import { noteTelling } from "../deletion/carriers/calls.ts";
import { prepareDeletion } from "../deletion/deletions.ts";
import { type EditOutcome, editMessage, prepareEdit } from "../deletion/edits.ts";
import { AppendQueue } from "./append-queue.ts";
import { estimateDraft, toDraftRow } from "./draft-rows.ts";
import { readCurrentEntries, readEntries, readCallEntries, readEntriesAt } from "./entry-rows.ts";
import { type Appended, draftMessage, type LoggedMessage } from "./message-rows.ts";
import type { TurnClaim } from "../turns/turn-rows.ts";

/** Messages and calls among the entries $2..$3 of channel $1 that were not deleted. */
const LEFT = `channel_id = $1 and seq between $2 and $3 and deleted_at is null and (kind <> 'notice' or data ? 'edits')`;

/** What belongs to a turn's entries, and is written in one transaction with them. */
export interface WrittenBeside {
  write(client: Queryable, turn: TurnId): Promise<void>;
  /** Called once it is durable. Default: nobody waits for that. */
  written?(): void;
}

/** The append-only log. Messages, edits and deletions may be written by anyone; turn entries by the owner alone. */
export class LogStore {
  readonly #db: Database;
  readonly #engine: DeletionEngine;
  readonly #lanes: AppendQueue;

  /** @param writers statements at once that append to several channels */
  constructor(db: Database, engine: DeletionEngine, writers = 1) {
    this.#db = db;
    this.#engine = engine;
    this.#lanes = new AppendQueue(db, writers);
  }

  /**
   * Appends a message once, behind those of its channel that were handed in before; resolves once it is durable.
   * @param beginner begins its turn in the same transaction, where nothing else comes first
   */
  async appendMessage(
    channel: ChannelId,
    message: LoggedMessage,
    beginner: TurnClaim | null = null,
  ): Promise<Appended> {
    return this.#lanes.append(channel, draftMessage(message), beginner);
  }

  /**
   * Appends what a running turn wrote. `after`: the last message that the turn answers. `shown`: memories that its model was shown; a
   * call that is appended after one of them is removed has no arguments. `outdated`: drafts that repeat what a message said before an
   * edit; they lose that when they leave the view, or with the message.
   * @param beside what is written in the same transaction; default: nothing
   */
  async appendTurnEntries(
    owner: Owner,
    turn: {
      id: TurnId;
      after: Seq;
      agent?: AgentId | undefined;
      shown?: readonly MemoryId[];
      outdated?: readonly { readonly draft: number; readonly seq: Seq }[];
    },
    drafts: readonly TurnEntryDraft[],
    at: Date,
    beside?: WrittenBeside,
  ): Promise<Entry[]> {
    const { outdated = [] } = turn;
    const rows = JSON.stringify(drafts.map((draft) => toDraftRow(draft, turn.agent, turn.shown)));
    const values = [owner.channel, owner.epoch, turn.id, turn.after, at, rows];
    const images = drafts.flatMap((draft, entry) =>
      draft.kind === "tool_result" ? (draft.images ?? []).map((image) => ({ entry, ...image })) : [],
    );
    const write = async (client: Queryable): Promise<Seq> => {
      const [row] =
        images.length === 0
          ? await client.query<{ firstSeq: number }>(
              "append_turn_entries",
              "select first_seq from append_turn_entries($1, $2, $3, $4, $5, $6)",
              values,
            )
          : await client.query<{ firstSeq: number }>(
              "append_turn_images",
              "select first_seq from append_turn_images($1, $2, $3, $4, $5, $6, $7, $8)",
              [
                ...values,
                JSON.stringify(images.map(({ entry, type }) => ({ entry, type }))),
                images.map(({ bytes }) => Buffer.from(bytes)),
              ],
            );
      return row?.firstSeq ?? 0;
    };
    const first =
      beside === undefined && outdated.length === 0
        ? await write(this.#db)
        : await this.#db.transaction(async (client) => {
            const seq = await write(client);
            for (const { draft, seq: message } of outdated)
              await noteTelling(client, owner.channel, message, [seq + draft]);
            await beside?.write(client, turn.id);
            return seq;
          });
    return drafts.map((draft, index) => entryOfDraft(draft, first + index, turn, at));
  }

  /**
   * Gives a message a new text, and removes what repeats its old one.
   * @param digester makes the extracts that replace summaries of it
   * @param isLate it was read later than it was made
   */
  async edit(
    channel: ChannelId,
    messageId: string,
    text: string,
    at: Date,
    digester: Digester,
    isLate = false,
  ): Promise<EditOutcome> {
    const edit = { id: messageId, text, at, isLate };
    const engine = this.#engine;
    const deletion = await prepareEdit(engine, this.#db, channel, edit, digester);
    return this.#db.transaction(async (client) =>
      editMessage(engine, client, channel, edit, digester, deletion),
    );
  }

  /**
   * Deletes the text of a message, and everything that repeats it.
   * @returns its seq; undefined if there is none (any more)
   */
  async delete(channel: ChannelId, messageId: string, digester: Digester): Promise<Seq | undefined> {
    const { seqs } = await this.#db.transaction(
      await prepareDeletion(this.#engine, this.#db, channel, [messageId], digester),
    );
    return seqs[0];
  }

  /**
   * Notes that the channel's owner knows of all deletions up to its last one. Calls of a turn that may not are logged without words.
   * @param last when that was, as the snapshot says that was read: to the microsecond
   * @returns false: there is a later one, and nothing was noted
   */
  async knowDeletions({ channel, epoch }: Owner, last: string): Promise<boolean> {
    const [row] = await this.#db.query<{ isAll: boolean }>(
      "deletions_known",
      "select know_deletions($1, $2, $3::timestamptz) as is_all",
      [channel, epoch, last],
    );
    return row?.isAll === true;
  }

  /** Whether a turn knows of all deletions of what its model may have read. */
  async knowsDeletions(channel: ChannelId, turn: TurnId): Promise<boolean> {
    const [row] = await this.#db.query<{ knows: boolean }>(
      "deletions_known_to",
      "select knows_deletions($1, $2) as knows",
      [channel, turn],
    );
    return row?.knows === true;
  }

  /** Estimated tokens of the entries from..to, those of deleted texts included. */
  async tokensOf(channel: ChannelId, from: Seq, to: Seq): Promise<number> {
    const [row] = await this.#db.query<{ tokens: number }>(
      "entries_tokens",
      `select coalesce(sum(tokens), 0)::bigint as tokens from entries
        where channel_id = $1 and seq between $2 and $3`,
      [channel, from, to],
    );
    return row?.tokens ?? 0;
  }

  /** Estimated tokens of the messages and calls among the entries from..to that were not deleted. */
  async tokensLeft(channel: ChannelId, from: Seq, to: Seq): Promise<number> {
    const [row] = await this.#db.query<{ tokens: number }>(
      "entries_tokens_left",
      `select coalesce(sum(tokens), 0)::bigint as tokens from entries where ${LEFT}`,
      [channel, from, to],
    );
    return row?.tokens ?? 0;
  }

  /** Are texts among the entries from..to no longer kept? */
  async hasExpired(channel: ChannelId, from: Seq, to: Seq): Promise<boolean> {
    const rows = await this.#db.query(
      "texts_expired",
      `select from summaries where channel_id = $1 and level = 1 and texts_gone_at is not null
          and from_seq <= $3 and to_seq >= $2 limit 1`,
      [channel, from, to],
    );
    return rows.length > 0;
  }

  /**
   * Whether an edit of a message asks for no answer: the message or an earlier edit has asked, it is deleted, or its text was fetched
   * after the edit. Undefined: the log does not have the message.
   */
  async isAskedBefore(
    { platform, name }: ChannelAddress,
    messageId: string,
    editedAt: Date,
  ): Promise<boolean | undefined> {
    const [row] = await this.#db.query<{ isAsked: boolean }>(
      "message_asked",
      `select e.addressed or e.deleted_at is not null or coalesce(e.data ? 'late' and e.appended_at >= $5, false)
              or exists (select from entries a where a.message_id = $4 and a.channel_id = e.channel_id) as is_asked
         from channels c join entries e on e.channel_id = c.id and e.message_id = $3
        where c.platform = $1 and c.name = $2`,
      [platform, name, storableText(messageId), storableText(mentionId(messageId)), editedAt],
    );
    return row?.isAsked;
  }

  /** Whether an answer to a message was given, which may have been deleted since. */
  async wasAnswered({ platform, name }: ChannelAddress, messageId: string): Promise<boolean> {
    const rows = await this.#db.query(
      "message_answered",
      `select from channels c join entries e on e.channel_id = c.id and e.message_id = $3 and e.addressed
          join turns t on t.channel_id = c.id and e.seq between t.from_seq and t.to_seq and t.state = 'answered'
        where c.platform = $1 and c.name = $2 limit 1`,
      [platform, name, storableText(messageId)],
    );
    return rows.length > 0;
  }

  /** Is there anything left among the entries from..to that somebody said or did? */
  async hasText(channel: ChannelId, from: Seq, to: Seq): Promise<boolean> {
    const rows = await this.#db.query("entries_have_text", `select from entries where ${LEFT} limit 1`, [
      channel,
      from,
      to,
    ]);
    return rows.length > 0;
  }

  async read(channel: ChannelId, from: Seq, to: Seq): Promise<Entry[]> {
    return readEntries(this.#db, channel, from, to);
  }

  /** A turn's calls and results, by seq, with the texts that they have now. */
  async readCalls(channel: ChannelId, turn: TurnId): Promise<Entry[]> {
    return readCallEntries(this.#db, channel, turn);
  }

  /** Entries from..to, by seq, with the texts that they have now: also where an edit is told by a later notice. */
  async readCurrent(channel: ChannelId, from: Seq, to: Seq): Promise<Entry[]> {
    return readCurrentEntries(this.#db, channel, from, to);
  }

  /** The kept current texts of the edited messages in from..to; the newest edits, by seq. */
  async newestEdits(channel: ChannelId, from: Seq, to: Seq, limit: number): Promise<CurrentText[]> {
    return this.#db.query<{ author: string; at: Date; text: string }>(
      "edits_newest",
      `select author, at, text from (
         select distinct on (r.seq) r.seq, r.at as edited_at, e.author_name as author, e.at, r.text
           from revisions r join entries e on e.channel_id = r.channel_id and e.seq = r.seq
          where r.channel_id = $1 and r.seq between $2 and $3 and e.deleted_at is null and e.expired_at is null
          order by r.seq, r.revision desc
       ) edits where seq in (
         select r.seq from revisions r join entries e on e.channel_id = r.channel_id and e.seq = r.seq
          where r.channel_id = $1 and r.seq between $2 and $3 and e.deleted_at is null and e.expired_at is null
          group by r.seq order by max(r.at) desc limit $4
       ) order by seq`,
      [channel, from, to, limit],
    );
  }

  /** Entries at these seqs, by seq, with the texts that they have now. */
  async readAt(channel: ChannelId, seqs: readonly Seq[]): Promise<Entry[]> {
    return readEntriesAt(this.#db, channel, seqs);
  }
}

export function entryOfDraft(
  made: TurnEntryDraft,
  seq: Seq,
  turn: { id: TurnId; after: Seq; agent?: AgentId | undefined },
  at: Date,
): Entry {
  const { asFile: _, ...draft } = made;
  const base = { seq, at, deleted: false, tokens: estimateDraft(draft), after: turn.after };
  if (draft.kind === "notice") return { ...base, ...draft, edits: null };
  const ofTurn = { turnId: turn.id, ...(turn.agent !== undefined && { agent: turn.agent }) };
  if (draft.kind !== "tool_result") return { ...base, ...draft, ...ofTurn };
  const { images, ...result } = draft;
  return { ...base, ...result, ...ofTurn, ...(images !== undefined && { images: images.length }) };
}
