import type { AgentId, ChannelAddress, ChannelId, Owner, Seq, TurnId } from "../../core/ids.ts";
import type { InboundMessage } from "../../core/message.ts";
import type { Schedule } from "./declaration.ts";
import { storableText } from "../../text/text.ts";
import { type ChannelRow, COLUMNS_OF_C, type RawChannel, toChannel } from "../../store/channels/channels.ts";
import { Rows } from "../../store/database/rows.ts";
import { messageData } from "../../store/log/draft-rows.ts";
import { draftMessage, type MessageDraft } from "../../store/log/message-rows.ts";

/** The time and the text of a reminder. */
export interface ReminderPlan {
  /** When it comes first. */
  readonly at: Date;
  /** Null: it comes once. */
  readonly cron: string | null;
  /** The time zone of its times, an IANA name. */
  readonly timeZone: string;
  readonly text: string;
}

/** Most waiting reminders of a channel, and of one person in it. */
export const MOST_REMINDERS = 50;
export const MOST_OF_PERSON = 20;

/** Why a reminder was not set. `soon`: an answer to a reminder wants the next one at once, which would have no end. */
export type ReminderRefusal = "gone" | "changed" | "full" | "full_for_person" | "soon";

/** A reminder; one of `at`, `in` and `cron` sets its time. */
export interface ReminderRequest {
  /** `18:30`, `2026-12-01 09:00`. */
  readonly at?: string | undefined;
  /** `20m`. */
  readonly in?: string | undefined;
  readonly cron?: string | undefined;
  /** An IANA name; default: the agent's. */
  readonly timeZone?: string | undefined;
  readonly text: string;
}

export interface Reminder extends Omit<ReminderPlan, "at"> {
  readonly id: number;
  /** When it is due next; that may be past. */
  readonly due: Date;
  /** Null: the configuration, or the agent of itself. */
  readonly asker: { readonly id: string; readonly name: string } | null;
  /** The name of a schedule of the configuration; null: a person or an agent has set the reminder. */
  readonly schedule: string | null;
}

export interface DueReminder extends Reminder {
  readonly channel: ChannelRow;
}

/** Who asks for a reminder in a turn. */
export interface AskedInTurn {
  readonly owner: Owner;
  readonly turn: TurnId;
  /** Of one run of the turn. */
  readonly run: string;
  readonly callId: string;
}

export type AddedReminder =
  | { readonly id: number; readonly seq: Seq; readonly refused: null }
  | { readonly refused: ReminderRefusal };

/** A schedule with its channel, and when it comes next. */
export interface PlacedSchedule extends Schedule {
  readonly channel: ChannelId;
  readonly agent: AgentId;
  readonly nextAt: Date;
}

/** An occurrence on its way into the log. */
export interface Occurrence {
  readonly reminder: Pick<Reminder, "id" | "due" | "text">;
  readonly draft: MessageDraft;
  /** When the reminder comes again; null: it does not. */
  readonly next: Date | null;
}

/** `hasFired` false: another daemon has told it, or an earlier attempt, or it has ended or changed meanwhile. */
export interface Fired {
  readonly hasFired: boolean;
  /** Null: it is not in the log. */
  readonly seq: Seq | null;
  /** It waits for an answer. */
  readonly isDue: boolean;
}

const COLUMNS = `r.id, r.cron, r.time_zone, r.text, r.next_at as due,
  case when r.asker_id is not null then json_build_object('id', r.asker_id, 'name', coalesce(r.asker_name, '')) end as asker,
  r.name as schedule`;

export class ReminderStore extends Rows {
  /** Adds what a running turn asks for. Once, however often it is called with the key. */
  async addInTurn(asked: AskedInTurn, plan: ReminderPlan, key: string, now: Date): Promise<AddedReminder> {
    const { owner, turn, run, callId } = asked;
    return this.#add(owner.channel, {
      epoch: owner.epoch,
      turn,
      said: null,
      reminder: { ...recordOf(plan, key, now), run, call_id: storableText(callId) },
    });
  }

  /** Adds what a command asks for, with the command's message, which is only listened to. Once for each message. */
  async addByCommand(
    channel: ChannelId,
    message: InboundMessage,
    plan: ReminderPlan,
    now: Date,
  ): Promise<AddedReminder> {
    const draft = draftMessage({ ...message, addressed: false });
    const { messageId, author, text, tokens, at } = draft;
    const data = messageData(draft);
    const said = {
      message_id: messageId,
      author_id: author.id,
      author_name: author.name,
      text,
      tokens,
      at,
      ...(data !== null && { data }),
    };
    return this.#add(channel, { epoch: null, turn: null, said, reminder: recordOf(plan, messageId, now) });
  }

  async #add(
    channel: ChannelId,
    added: { epoch: number | null; turn: TurnId | null; said: object | null; reminder: object },
  ): Promise<AddedReminder> {
    const { epoch, turn, said, reminder } = added;
    const [row] = await this.db.query<{ id: number; askedSeq: number; refused: ReminderRefusal | null }>(
      "reminder_add",
      "select id, asked_seq, refused from add_reminder($1, $2, $3, $4, $5, $6, $7)",
      [
        channel,
        epoch,
        turn,
        said === null ? null : JSON.stringify(said),
        JSON.stringify(reminder),
        MOST_REMINDERS,
        MOST_OF_PERSON,
      ],
    );
    if (row === undefined) throw new Error("add_reminder returned no row");
    const { id, askedSeq: seq, refused } = row;
    return refused === null ? { id, seq, refused } : { refused };
  }

  /** What waits in a channel, by when it comes. */
  async waiting(channel: ChannelId): Promise<Reminder[]> {
    return this.db.query<Reminder>(
      "reminders_waiting",
      `select ${COLUMNS} from reminders r where r.channel_id = $1 and r.state = 'active' order by r.next_at, r.id`,
      [channel],
    );
  }

  /** What waits in all channels, by when it comes. */
  async all(limit: number): Promise<(Reminder & { readonly address: ChannelAddress })[]> {
    const rows = await this.db.query<Reminder & { platform: string; place: string }>(
      "reminders_all",
      `select ${COLUMNS}, c.platform, c.name as place
         from (select * from reminders where state = 'active' order by next_at, id limit $1) r
         join channels c on c.id = r.channel_id order by r.next_at, r.id`,
      [limit],
    );
    return rows.map(({ platform, place: name, ...reminder }) => ({
      ...reminder,
      address: { platform, name },
    }));
  }

  /** Ends a reminder of a channel. @returns false: it does not wait (any more) */
  async cancel(channel: ChannelId, id: number): Promise<boolean> {
    const rows = await this.db.query(
      "reminder_cancel",
      `select end_reminders(array(
         select id from reminders where channel_id = $1 and id = $2 and name is null), 'cancelled')`,
      [channel, id],
    );
    return rows.length > 0;
  }

  /**
   * Reminders of these platforms that are due, some, by number.
   * @param behind only those with a higher number
   */
  async due(platforms: readonly string[], now: Date, behind: number, limit: number): Promise<DueReminder[]> {
    const rows = await this.db.query<Reminder & { row: RawChannel }>(
      "reminders_due",
      `select ${COLUMNS}, to_jsonb(c) as row
         from reminders r
         join lateral (select ${COLUMNS_OF_C} from channels c where c.id = r.channel_id and c.platform = any($1)) c on true
        where r.state = 'active' and r.next_at <= $2 and r.id > $3 order by r.id limit $4`,
      [platforms, now, behind, limit],
    );
    return rows.map(({ row, ...reminder }) => ({ ...reminder, channel: toChannel(row) }));
  }

  /** When the next reminder of these platforms comes that is not due yet; null: none waits. */
  async nextAt(platforms: readonly string[], now: Date): Promise<Date | null> {
    const [row] = await this.db.query<{ nextAt: Date }>(
      "reminders_next",
      `select r.next_at from reminders r join channels c on c.id = r.channel_id and c.platform = any($1)
        where r.state = 'active' and r.next_at > $2 order by r.next_at limit 1`,
      [platforms, now],
    );
    return row?.nextAt ?? null;
  }

  async countWaiting(): Promise<{ readonly count: number; readonly nextAt: Date | null }> {
    const [row] = await this.db.query<{ count: number; nextAt: Date | null }>(
      "reminders_count",
      "select count(*) as count, min(next_at) as next_at from reminders where state = 'active'",
    );
    return row ?? { count: 0, nextAt: null };
  }

  /** Appends an occurrence to the log, and moves its reminder on, in one transaction. */
  async fire({ reminder, draft, next }: Occurrence): Promise<Fired> {
    const { id, due, text } = reminder;
    const { messageId, author, tokens, at } = draft;
    const [row] = await this.db.query<Fired>(
      "reminder_fire",
      "select has_fired, seq, coalesce(due, false) as is_due from fire_reminder($1, $2, $3, $4, $5, $6, $7, $8)",
      [id, due, text, messageId, author.name, tokens, at, next],
    );
    if (row === undefined) throw new Error("fire_reminder returned no row");
    return row;
  }

  /** Makes the schedules these; others of the configuration are over. */
  async setSchedules(schedules: readonly PlacedSchedule[]): Promise<void> {
    const rows = schedules.map(({ channel, agent, name, cron, timeZone, text, nextAt }) => {
      return { channel, agent, name, cron, time_zone: timeZone, text: storableText(text), next_at: nextAt };
    });
    await this.db.query("schedules_set", "select set_schedules($1)", [JSON.stringify(rows)]);
  }
}

function recordOf({ at, cron, timeZone, text }: ReminderPlan, key: string, now: Date): object {
  return { key, cron, time_zone: timeZone, text: storableText(text), at, now };
}
