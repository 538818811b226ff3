import type { CurrentText, Entry, TurnEntryDraft } from "../../core/entry.ts";
import type { AgentId, ChannelId, MemoryId, Seq, TurnId } from "../../core/ids.ts";
import type { InboundEdit } from "../../core/message.ts";
import { tellingTerms } from "../../text/terms.ts";
import { storableText } from "../../text/text.ts";
import { estimateTokens, MESSAGE_OVERHEAD } from "../../text/tokens.ts";
import { AppendQueue } from "./append-queue.ts";
import { readChannel } from "../channels/channels.ts";
import { type Blanked, deleteMessage, prepareBlanking, takeShown } from "./deletion.ts";
import { NO_TERM_KEYS, printsOf, type TermKeys } from "./fingerprints.ts";
import { goneOf, readShown } from "../memory/showings.ts";
import type { Digester } from "../compaction/extracts.ts";
import { renewSummaries } from "../compaction/renewed-summaries.ts";
import {
  estimateDraft,
  LINE_HEAD_TOKENS,
  readCurrentEntries,
  readEntries,
  readEntriesAt,
  toDraftRow,
} from "./entry-rows.ts";
import { type Appended, draftMessage, type LoggedMessage } from "./message-rows.ts";
import type { Database, Queryable } from "../database/database.ts";
import {
  blankLateCalls,
  blankRetoldCalls,
  takeRetoldMemories,
  takeUnquoted,
  tellJobs,
  termsGone,
} from "../memory/retold.ts";
import { takeRetoldDueWork, takeRetoldBesideLog } from "../memory/retold-due-work.ts";
import type { ApprovalNews, AskedApproval } from "../turns/approvals.ts";
import type { TurnClaim } from "../turns/turn-rows.ts";

export type EditOutcome =
  | { readonly outcome: "unknown" }
  | { readonly outcome: "unchanged"; readonly seq: Seq }
  /** Nobody had read it: it simply says something else now. */
  | {
      readonly outcome: "replaced";
      readonly seq: Seq;
      /** Its text was no longer kept: the edit has taken it back. */
      readonly isGone?: true;
    }
  /** A model had read it: a notice at `notedSeq` tells of the change. */
  | { readonly outcome: "noted"; readonly seq: Seq; readonly notedSeq: Seq };

/** What somebody said or did, and nobody has taken back, of the entries $2..$3 of channel $1. */
const LEFT = `channel_id = $1 and seq between $2 and $3 and deleted_at is null and (kind <> 'notice' or data ? 'edits')`;

/** The append-only log. Messages, edits and deletions may be written by anyone; turn entries by the owner alone. */
export class LogStore {
  readonly #db: Database;
  readonly #keys: TermKeys;
  readonly #lanes: AppendQueue;

  constructor(db: Database, keys: TermKeys = NO_TERM_KEYS) {
    this.#db = db;
    this.#keys = keys;
    this.#lanes = new AppendQueue(db);
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
   * call that is appended once one of them is gone has no arguments.
   * @param approvals what is noted of approvals in the same transaction; default: nothing
   */
  async appendTurnEntries(
    owner: { channel: ChannelId; epoch: number },
    turn: { id: TurnId; after: Seq; agent?: AgentId | undefined; shown?: readonly MemoryId[] },
    drafts: readonly TurnEntryDraft[],
    at: Date,
    approvals?: ApprovalNews,
  ): Promise<Entry[]> {
    const rows = JSON.stringify(drafts.map((draft) => toDraftRow(draft, turn.agent, turn.shown)));
    const values = [owner.channel, owner.epoch, turn.id, turn.after, at, rows];
    const images = drafts.flatMap((draft, entry) =>
      draft.kind === "tool_result" ? (draft.images ?? []).map((image) => ({ entry, ...image })) : [],
    );
    const news = [JSON.stringify((approvals?.asked ?? []).map(toAskedRow)), approvals?.done ?? []];
    const [row] =
      images.length > 0
        ? await this.#db.query<{ first_seq: number }>(
            {
              name: "append_turn_images",
              text: "select first_seq from append_turn_images($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            },
            [
              ...values,
              ...news,
              JSON.stringify(images.map(({ entry, type }) => ({ entry, type }))),
              images.map(({ bytes }) => Buffer.from(bytes)),
            ],
          )
        : approvals === undefined
          ? await this.#db.query<{ first_seq: number }>(
              {
                name: "append_turn_entries",
                text: "select first_seq from append_turn_entries($1, $2, $3, $4, $5, $6)",
              },
              values,
            )
          : await this.#db.query<{ first_seq: number }>(
              {
                name: "append_turn_approvals",
                text: "select first_seq from append_turn_approvals($1, $2, $3, $4, $5, $6, $7, $8)",
              },
              [...values, ...news],
            );
    const first = row?.first_seq ?? 0;
    return drafts.map((draft, index) => entryOfDraft(draft, first + index, turn, at));
  }

  /**
   * Gives a message a new text, and takes what was made of its old one.
   * @param digester of the extracts that stand in for summaries of it; default: they stay as they are
   */
  async edit(
    channel: ChannelId,
    messageId: string,
    text: string,
    at: Date,
    digester?: Digester,
  ): Promise<EditOutcome> {
    const edit = { id: messageId, text, at };
    const makers = { digester, keys: this.#keys };
    const blank = await prepareEdit(this.#db, channel, edit, makers);
    return this.#db.transaction(async (client) => editMessage(client, channel, edit, makers, blank));
  }

  /**
   * Blanks a message, with all that was made of it.
   * @returns the seq whose text went; undefined if there is none (any more)
   */
  async delete(channel: ChannelId, messageId: string, digester: Digester): Promise<Seq | undefined> {
    return deleteMessage(this.#db, channel, messageId, digester, this.#keys);
  }

  /** Blanks what a running turn that is to begin again, because of a deletion, has called since. */
  async blankLateCalls(channel: ChannelId): Promise<void> {
    await blankLateCalls(this.#db, channel);
  }

  /** Estimated tokens of the entries from..to, those of deleted texts included. */
  async tokensOf(channel: ChannelId, from: Seq, to: Seq): Promise<number> {
    const [row] = await this.#db.query<{ tokens: number }>(
      {
        name: "entries_tokens",
        text: `select coalesce(sum(tokens), 0)::bigint as tokens from entries
                where channel_id = $1 and seq between $2 and $3`,
      },
      [channel, from, to],
    );
    return row?.tokens ?? 0;
  }

  /** The estimated tokens of what is left among the entries from..to of what somebody said or did. */
  async tokensLeft(channel: ChannelId, from: Seq, to: Seq): Promise<number> {
    const [row] = await this.#db.query<{ tokens: number }>(
      {
        name: "entries_tokens_left",
        text: `select coalesce(sum(tokens), 0)::bigint as tokens from entries where ${LEFT}`,
      },
      [channel, from, to],
    );
    return row?.tokens ?? 0;
  }

  /** Are texts among the entries from..to no longer kept? */
  async hasExpired(channel: ChannelId, from: Seq, to: Seq): Promise<boolean> {
    const rows = await this.#db.query(
      {
        name: "texts_expired",
        text: `select from summaries where channel_id = $1 and level = 1 and texts_gone_at is not null
                  and from_seq <= $3 and to_seq >= $2 limit 1`,
      },
      [channel, from, to],
    );
    return rows.length > 0;
  }

  /** Is there anything left among the entries from..to that somebody said or did? */
  async hasText(channel: ChannelId, from: Seq, to: Seq): Promise<boolean> {
    const rows = await this.#db.query(
      {
        name: "entries_have_text",
        text: `select from entries where ${LEFT} limit 1`,
      },
      [channel, from, to],
    );
    return rows.length > 0;
  }

  /** Entries from..to, by seq. */
  async read(channel: ChannelId, from: Seq, to: Seq): Promise<Entry[]> {
    return readEntries(this.#db, channel, from, to);
  }

  /** Entries from..to, by seq, with the texts that they have now: also where an edit is told by a later notice. */
  async readCurrent(channel: ChannelId, from: Seq, to: Seq): Promise<Entry[]> {
    return readCurrentEntries(this.#db, channel, from, to);
  }

  /** What the messages of from..to say now that were edited, as far as that is kept; the newest edits, by seq. */
  async newestEdits(channel: ChannelId, from: Seq, to: Seq, limit: number): Promise<CurrentText[]> {
    return this.#db.query<{ author: string; at: Date; text: string }>(
      {
        name: "edits_newest",
        text: `select author, at, text from (
                 select distinct on (r.seq) r.seq, r.at as edited_at, e.author_name as author, e.at, r.text
                   from revisions r join entries e on e.channel_id = r.channel_id and e.seq = r.seq
                  where r.channel_id = $1 and r.seq between $2 and $3 and e.deleted_at is null and e.expired_at is null
                  order by r.seq, r.revision desc
               ) edits where seq in (
                 select r.seq from revisions r join entries e on e.channel_id = r.channel_id and e.seq = r.seq
                  where r.channel_id = $1 and r.seq between $2 and $3 and e.deleted_at is null and e.expired_at is null
                  group by r.seq order by max(r.at) desc limit $4
               ) order by seq`,
      },
      [channel, from, to, limit],
    );
  }

  /** Entries at these seqs, by seq, with the texts that they have now. */
  async readAt(channel: ChannelId, seqs: readonly Seq[]): Promise<Entry[]> {
    return readEntriesAt(this.#db, channel, seqs);
  }
}

/** What an edit takes of what was made of the old text. */
export interface EditMakers {
  /** Undefined: summaries stay as they are. */
  readonly digester: Digester | undefined;
  readonly keys: TermKeys;
}

/**
 * Does ahead what an edit need not do under its lock.
 * @returns takes the message back, where its text is no longer kept; undefined: it is
 */
export async function prepareEdit(
  db: Queryable,
  channel: ChannelId,
  edit: Pick<InboundEdit, "id" | "text" | "at">,
  makers: EditMakers,
): Promise<((client: Queryable) => Promise<Blanked>) | undefined> {
  const { digester, keys } = makers;
  if (digester === undefined || !(await isNews(db, channel, edit, keys))) return undefined;
  return prepareBlanking(db, channel, [edit.id], digester, keys);
}

/**
 * As {@link LogStore.edit}, by a client in a transaction.
 * @param blank what {@link prepareEdit} has prepared
 */
export async function editMessage(
  client: Queryable,
  channel: ChannelId,
  edit: Pick<InboundEdit, "id" | "text" | "at">,
  makers: EditMakers,
  blank?: (client: Queryable) => Promise<Blanked>,
): Promise<EditOutcome> {
  const { digester, keys } = makers;
  const stored = storableText(edit.text);
  const tokens = estimateTokens(stored) + LINE_HEAD_TOKENS + MESSAGE_OVERHEAD;
  const [row] = await client.query<RawEdit & Record<string, unknown>>(
    { name: "revise_message", text: "select * from revise_message($1, $2, $3, $4, $5)" },
    [channel, storableText(edit.id), stored, tokens, edit.at],
  );
  if (row === undefined || row.outcome === "unknown") return { outcome: "unknown" };
  const { seq } = row;
  if (row.outcome === "unchanged") return { outcome: "unchanged", seq };
  if (row.outcome === "expired") {
    if (digester === undefined || !(await isNews(client, channel, edit, keys)))
      return { outcome: "unchanged", seq };
    // Nobody can say any more which of its words went: all that rests on it goes. It may have become so old only now.
    await (blank ?? (await prepareBlanking(client, channel, [edit.id], digester, keys)))(client);
    return { outcome: "replaced", seq, isGone: true };
  }
  const shown = await readShown(client, channel);
  const taken = await takeRetold(client, channel, { seq, former: row.former, now: stored, digester, keys });
  if (digester !== undefined) {
    const unsaid = { terms: termsGone(row.former, stored), keys };
    await takeShown(client, await goneOf(client, shown), unsaid, digester);
  }
  // Results of tools quote memories: more has changed than the notice tells of.
  return row.outcome === "noted" && taken === 0
    ? { outcome: "noted", seq, notedSeq: row.noted_seq }
    : { outcome: "replaced", seq };
}

/**
 * Whether an edit of a message whose text is no longer kept changes it. What was known already is none, which a catch-up tells again;
 * nor is what has the terms that it said last: not each edit of a platform changes a word.
 */
async function isNews(
  client: Queryable,
  channel: ChannelId,
  { id, text, at }: Pick<InboundEdit, "id" | "text" | "at">,
  keys: TermKeys,
): Promise<boolean> {
  const [row] = await client.query<{ known: Date; key_id: string | null; said: string | null }>(
    {
      name: "message_expired",
      text: `select greatest(e.appended_at, (select max(r.at) from revisions r
                                              where r.channel_id = e.channel_id and r.seq = e.seq)) as known,
                    p.key_id, encode(p.said, 'hex') as said
               from entries e left join entry_prints p on p.channel_id = e.channel_id and p.seq = e.seq
              where e.message_id = $2 and e.channel_id = $1 and e.expired_at is not null and e.deleted_at is null`,
    },
    [channel, storableText(id)],
  );
  if (row === undefined || at <= row.known) return false;
  const key = row.key_id === null ? null : await keys.find();
  if (key === null || key.id !== row.key_id) return true;
  return printsOf(key, channel, tellingTerms(storableText(text))) !== row.said;
}

interface RawEdit {
  /** `expired`: its text is no longer kept, and nothing was changed. */
  outcome: EditOutcome["outcome"] | "expired";
  seq: Seq;
  noted_seq: Seq;
  /** What the message said before. */
  former: string[];
}

/**
 * Takes what tells of an earlier text. The view keeps its calls as its model has written them.
 * @returns how much changed that the notice does not tell: memories that went, or are said by somebody else now, work of Weir's own, and
 *   whether summaries did that the view shows
 */
async function takeRetold(
  client: Queryable,
  channel: ChannelId,
  {
    seq,
    former,
    now,
    digester,
    keys,
  }: EditMakers & {
    readonly seq: Seq;
    readonly former: readonly string[];
    readonly now: string;
  },
): Promise<number> {
  const unsaid = { seqs: [seq], terms: termsGone(former, now), keys };
  const edited = { kind: "edited", seq, text: now } as const;
  const due = await takeRetoldDueWork(client, channel, unsaid, edited);
  const unquoted = await takeUnquoted(client, channel, seq, now);
  const retold = await takeRetoldMemories(client, channel, unsaid);
  await takeRetoldBesideLog(client, channel, unsaid, edited);
  const { coveredTo } = await readChannel(client, channel);
  const called = await blankRetoldCalls(client, channel, unsaid, { to: coveredTo });
  await noteTelling(
    client,
    channel,
    seq,
    called.filter((one) => one > coveredTo),
  );
  const telling = {
    seqs: [seq, ...(await readNotes(client, channel, seq)), ...due, ...called],
    terms: unsaid.terms,
    keys,
  };
  await tellJobs(client, channel, telling);
  const isShown = digester !== undefined && (await renewSummaries(client, channel, telling, digester));
  return unquoted.length + retold.length + due.length + (isShown ? 1 : 0);
}

/** The notes of a message's edits. */
async function readNotes(client: Queryable, channel: ChannelId, seq: Seq): Promise<Seq[]> {
  const rows = await client.query<{ seq: Seq }>(
    {
      name: "notes_of_entry",
      text: "select noted_seq as seq from revisions where channel_id = $1 and seq = $2 and noted_seq is not null",
    },
    [channel, seq],
  );
  return rows.map((row) => row.seq);
}

/** The view goes on showing these calls, and whoever summarises it reads nothing of them. */
async function noteTelling(
  client: Queryable,
  channel: ChannelId,
  seq: Seq,
  calls: readonly Seq[],
): Promise<void> {
  if (calls.length === 0) return;
  await client.query(
    {
      name: "revision_told_by",
      text: `update revisions set told_by = $3
              where channel_id = $1 and seq = $2
                and revision = (select max(revision) from revisions where channel_id = $1 and seq = $2)`,
    },
    [channel, seq, calls],
  );
}

function toAskedRow({ callId, expireMs, ...asked }: AskedApproval): object {
  return { ...asked, call_id: callId, expire_ms: expireMs };
}

/** The entry that a draft became. */
export function entryOfDraft(
  draft: TurnEntryDraft,
  seq: Seq,
  turn: { id: TurnId; after: Seq; agent?: AgentId | undefined },
  at: Date,
): Entry {
  const base = { seq, at, deleted: false, tokens: estimateDraft(draft), after: turn.after };
  if (draft.kind === "notice") return { ...base, ...draft, edits: null };
  const ofTurn = { turnId: turn.id, ...(turn.agent !== undefined && { agent: turn.agent }) };
  if (draft.kind !== "tool_result") return { ...base, ...draft, ...ofTurn };
  const { images, ...result } = draft;
  return { ...base, ...result, ...ofTurn, ...(images !== undefined && { images: images.length }) };
}
