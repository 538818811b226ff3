/** A reminder as its row has it, seen from outside of every incarnation. */
export interface ReminderRow {
  readonly id: number;
  /** Again and again. */
  readonly recurs: boolean;
  readonly state: "active" | "done" | "cancelled" | "gone";
  /** When it is due next, ms since the epoch; null: it is over. */
  readonly next: number | null;
  readonly text: string;
  /** When it was over, ms since the epoch; null: it is not. */
  readonly ended: number | null;
}

/** Columns of it, and of an entry the reminder whose occurrence it tells. */
export const REMINDER =
  "id, cron is not null as recurs, state, (extract(epoch from next_at) * 1000)::float8 as next, text, (extract(epoch from ended_at) * 1000)::float8 as ended";
export const REMINDS =
  "case when message_id like 'reminder/%' then json_build_object('id', reminder_of(message_id), 'at', (extract(epoch from appended_at) * 1000)::float8) end";
