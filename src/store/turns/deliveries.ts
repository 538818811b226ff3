import type { AgentId, ChannelId, Owner, Seq, TurnId } from "../../core/ids.ts";
import type { UnseenAnswer } from "../../core/entry.ts";
import { platformIdOf } from "../../core/message.ts";
import type { Database } from "../database/database.ts";
import { GroupCommit } from "../database/group-commit.ts";
import { StaleEpochError } from "../database/errors.ts";

/** How a part is sent. `short`: a piece of a part that the platform refused as a whole; `plain`: the same without markup. */
export type DeliveryForm = "whole" | "short" | "plain";

export interface Delivery {
  readonly id: number;
  readonly turnId: TurnId;
  readonly part: number;
  readonly form: DeliveryForm;
  /** Its place in the part that it is a piece of; 0: the first, or the whole. */
  readonly piece: number;
  readonly idempotencyKey: string;
  /** A piece of it may have been shown under this key: a send alone does not bring the final text. */
  readonly drafted: boolean;
  /** The platform's id of our message, where a piece of it is already shown. */
  readonly messageId: string | null;
  /** The platform's id of a message that shows a beginning of it and takes no edit: it is deleted once this is sent. */
  readonly leftover: string | null;
}

/** Parts of an answer that a platform refuses. */
export interface Loss {
  /** Of the deliveries. */
  readonly ids: readonly number[];
  readonly turnId: TurnId;
  /** The channel took a word about that. */
  readonly isTold: boolean;
  /** Null: no model has to know. */
  readonly undelivered: UnseenAnswer | null;
}

/** A settled answer with the parts of it that the platform has not acknowledged yet. */
export interface PendingAnswer {
  readonly turnId: TurnId;
  /** Of its entry. */
  readonly seq: Seq;
  readonly text: string;
  readonly kind: "answer" | "notice";
  /** Only its beginning is a message, and the whole is its first file. */
  readonly asFile?: true;
  /** Who answers; left out: the channel's own agent. */
  readonly agent?: AgentId;
  /** The platform's ids of the messages that it answers. */
  readonly inReplyTo: readonly string[];
  readonly modelMs: number;
  /** When the oldest of them became durable. */
  readonly acceptedAt: Date;
  /** An earlier run or another daemon may have sent a part of it without an acknowledgement here. */
  readonly mayBeSent: boolean;
  readonly parts: readonly Delivery[];
}

/** What is shown of an answer that never came. */
export interface OrphanedDraft {
  readonly id: number;
  readonly messageId: string;
}

/** What a channel's owner still owes to its platform. */
export interface Undelivered {
  readonly answers: readonly PendingAnswer[];
  /** To be taken back. */
  readonly orphanedDrafts: readonly OrphanedDraft[];
}

/** What a model reads of an answer that people have not seen whole: a sentence with numbers. */
const UNDELIVERED_TOKENS = 64;

const columns = (row: string): string =>
  `${row}id, ${row}turn_id, coalesce(${row}of_part, ${row}part) as part, ${row}form, ${row}piece, ${row}idempotency_key, ${row}drafted,
   ${row}message_id, ${row}leftover`;
const COLUMNS = columns("");
const COLUMNS_OF_D = columns("d.");

export class DeliveryStore {
  readonly #db: Database;
  readonly #sent: GroupCommit<SentNote, boolean>;

  constructor(db: Database) {
    this.#db = db;
    this.#sent = new GroupCommit({
      most: MAX_NOTES,
      writers: 1,
      gatherMs: GATHER_MS,
      together: async (notes) => noteSent(db, notes),
      alone: async (note) => noteSent(db, [note]).then(() => true),
    });
  }

  /** Opens part 0 of a running turn, before its first visible byte. Opening it again finds the first. */
  async open(owner: Owner, turnId: TurnId, idempotencyKey: string): Promise<Delivery> {
    const [row] = await this.#db.query<Delivery>(
      "delivery_open",
      `insert into deliveries (channel_id, turn_id, part, epoch, idempotency_key, drafted)
       values ($1, $2, 0, $3, $4, true)
       on conflict (turn_id, part) do update set epoch = excluded.epoch
       returning ${COLUMNS}`,
      [owner.channel, turnId, owner.epoch, idempotencyKey],
    );
    if (row === undefined) throw new Error("delivery_open returned no row");
    return row;
  }

  /**
   * To be asked before each further piece: where another daemon has the channel, it may have sent the whole already.
   * @throws StaleEpochError
   */
  async refuseOldEpoch({ channel, epoch }: Owner): Promise<void> {
    const rows = await this.#db.query("delivery_epoch", "select from channels where id = $1 and epoch = $2", [
      channel,
      epoch,
    ]);
    if (rows.length === 0) throw new StaleEpochError(`epoch ${epoch} of channel ${channel} is over`);
  }

  /** Keeps the platform's id of a message that is still being written. */
  async shown(owner: { epoch: number }, id: number, messageId: string): Promise<void> {
    await this.#db.query(
      "delivery_shown",
      "update deliveries set message_id = $3, epoch = $2 where id = $1",
      [id, owner.epoch, messageId],
    );
  }

  /** The platform acknowledged the final text. */
  async sent(owner: { epoch: number }, id: number, messageId: string): Promise<void> {
    await this.#sent.write({ id, epoch: owner.epoch, messageId });
  }

  /** It is not delivered: its draft was withdrawn. */
  async failed(owner: { epoch: number }, id: number, reason: string): Promise<void> {
    await this.#db.query(
      "delivery_failed",
      `update deliveries set state = 'failed', reason = $3, epoch = $2, ended_at = clock_timestamp()
        where id = $1 and state = 'pending'`,
      [id, owner.epoch, reason],
    );
  }

  /**
   * The message that shows a draft of a part takes no more edits: the part counts as unsent again, under another key.
   * @param leftover the message, where it is not gone: it is deleted once the part is sent
   * @returns false: it stays as it is, since all that it answers was deleted as well
   */
  async postAnew(
    owner: { epoch: number },
    id: number,
    idempotencyKey: string,
    leftover: string | null,
  ): Promise<boolean> {
    const rows = await this.#db.query(
      "delivery_post_anew",
      `update deliveries d set idempotency_key = $3, message_id = null, drafted = false, leftover = $4, epoch = $2
        where d.id = $1 and d.state = 'pending'
          and (select count(*) = 0 or bool_or(m.deleted_at is null)
                 from turns t
                 join entries m on m.channel_id = t.channel_id and m.seq between t.from_seq and t.to_seq and m.addressed
                where t.id = d.turn_id)
       returning d.id`,
      [id, owner.epoch, idempotencyKey, leftover],
    );
    return rows.length > 0;
  }

  /** Cuts a refused part into pieces, one for each key. Asked twice, it cuts once. @returns those that are still to be sent */
  async shorten(owner: { epoch: number }, id: number, keys: readonly string[]): Promise<Delivery[]> {
    return this.#db.query<Delivery>(
      "delivery_shorten",
      `select ${COLUMNS} from shorten_delivery($1, $2, $3)`,
      [id, owner.epoch, keys],
    );
  }

  /** A refused text is sent without markup, under another key. */
  async sendPlain(owner: { epoch: number }, id: number, idempotencyKey: string): Promise<void> {
    await this.#db.query(
      "delivery_plain",
      `update deliveries set form = 'plain', idempotency_key = $3, message_id = null, drafted = false, epoch = $2
        where id = $1 and state = 'pending'`,
      [id, owner.epoch, idempotencyKey],
    );
  }

  /** The platform refuses parts in every form. @returns the seq of the notice that tells the model; null: there is none */
  async refused(owner: Owner, { ids, turnId, isTold, undelivered }: Loss, at: Date): Promise<Seq | null> {
    const [row] = await this.#db.query<{ seq: Seq | null }>(
      "deliveries_refused",
      "select seq from fail_deliveries($1, $2, $3, $4, $5, $6, $7, $8)",
      [
        owner.channel,
        owner.epoch,
        ids,
        isTold ? "refused" : "unreachable",
        `undelivered/${turnId}`,
        at,
        UNDELIVERED_TOKENS,
        undelivered === null ? null : JSON.stringify(undelivered),
      ],
    );
    return row?.seq ?? null;
  }

  /** Whether the channel took no word with the answer before this one either: the owners know of it. */
  async wasUnreachableBefore(channel: ChannelId, turn: TurnId): Promise<boolean> {
    const [row] = await this.#db.query<{ isUnreachable: boolean }>(
      "delivery_unreachable_before",
      `select bool_or(d.state = 'failed' and d.reason = 'unreachable') as is_unreachable
         from (select t.id from turns t
                where t.channel_id = $1 and t.id < $2
                  and exists (select from deliveries e where e.turn_id = t.id and e.state <> 'pending' and e.entry_seq is not null)
                order by t.to_seq desc, t.id desc limit 1) t
         join deliveries d on d.turn_id = t.id`,
      [channel, turn],
    );
    return row?.isUnreachable ?? false;
  }

  /** What of a channel is settled and not (wholly) delivered, and what is shown of turns that ended without an answer. */
  async undelivered(channel: ChannelId): Promise<Undelivered> {
    const rows = await this.#db.query<Delivery & (RawAnswer | { text: null })>(
      "deliveries_owed",
      `select ${COLUMNS_OF_D}, e.text, case e.kind when 'assistant' then 'answer' else 'notice' end as kind, e.seq,
              e.data->>'agent' as agent, e.data->'asFile' is not null as as_file, coalesce(t.model_ms, 0) as model_ms,
              coalesce(asked.ids, '{}') as ids, coalesce(asked.at, to_timestamp(0)) as accepted_at
         from deliveries d
         join turns t on t.id = d.turn_id
         left join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq
         left join lateral (
           select array_agg(m.message_id order by m.seq) as ids, min(m.appended_at) as at from entries m
            where m.channel_id = t.channel_id and m.seq between t.from_seq and t.to_seq and m.addressed
         ) asked on true
        where d.channel_id = $1 and d.state = 'pending' and (d.entry_seq is not null or t.state <> 'running')
        order by d.turn_id, coalesce(d.of_part, d.part), d.piece`,
      [channel],
    );
    const answers = new Map<number, PendingAnswer & { parts: Delivery[] }>();
    const orphanedDrafts: OrphanedDraft[] = [];
    for (const row of rows) {
      const { id, turnId, part, form, piece, idempotencyKey, drafted, messageId, leftover } = row;
      if (row.text === null) {
        if (messageId !== null) orphanedDrafts.push({ id, messageId });
        continue;
      }
      const answer = answers.get(turnId) ?? { turnId, ...toAnswer(row), parts: [] };
      answer.parts.push({ id, turnId, part, form, piece, idempotencyKey, drafted, messageId, leftover });
      answers.set(turnId, answer);
    }
    return { answers: [...answers.values()], orphanedDrafts };
  }
}

interface RawAnswer extends Pick<PendingAnswer, "seq" | "text" | "kind" | "modelMs" | "acceptedAt"> {
  readonly agent: AgentId | null;
  readonly asFile: boolean;
  readonly ids: readonly string[];
}

function toAnswer(row: RawAnswer): Omit<PendingAnswer, "turnId" | "parts"> {
  const { seq, text, kind, agent, asFile, modelMs, ids, acceptedAt } = row;
  return {
    seq,
    text,
    kind,
    ...(asFile && { asFile: true }),
    ...(agent !== null && { agent }),
    // As the turn itself has it: nobody can reply to what Weir gave an id itself.
    inReplyTo: ids.flatMap((id) => platformIdOf(id) ?? []),
    modelMs,
    acceptedAt,
    mayBeSent: true,
  };
}

interface SentNote {
  readonly id: number;
  readonly epoch: number;
  readonly messageId: string;
}

/** Notes of one statement. */
const MAX_NOTES = 100;
/**
 * How long a note waits for others, ms: its commit and that of a message that comes meanwhile would wait for the disk one
 * after the other, and a person waits for what becomes of the message. Whoever dies before it sends again, with the same key.
 */
const GATHER_MS = 10;

/**
 * Notes what was delivered, of all channels together, a moment later. No caller waits for it, yet its commit waits for the
 * disk: if Postgres alone failed, a lost note would leave the part pending until the daemon ends.
 * @throws StaleEpochError if a channel has a new owner
 */
async function noteSent(db: Database, notes: readonly SentNote[]): Promise<boolean[]> {
  await db.query(
    "delivery_sent",
    `update deliveries d set state = 'sent', message_id = n.message_id, epoch = n.epoch, ended_at = clock_timestamp()
       from unnest($1::bigint[], $2::bigint[], $3::text[]) n (id, epoch, message_id)
      where d.id = n.id and d.state = 'pending'`,
    [notes.map(({ id }) => id), notes.map(({ epoch }) => epoch), notes.map(({ messageId }) => messageId)],
  );
  return notes.map(() => true);
}
