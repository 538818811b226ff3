/** A reminder as its row has it, seen from outside of every incarnation. */
export interface ReminderRow {
  readonly id: number;
  /** Again and again. */
  readonly recurs: boolean;
  readonly state: "active" | "done" | "cancelled" | "gone";
  /** When it is due next, ms since the epoch; null: it is over. */
  readonly next: number | null;
  readonly text: string;
}

/** Columns of it, and of an entry the reminder whose occurrence it tells. */
export const REMINDER =
  "id, cron is not null as recurs, state, (extract(epoch from next_at) * 1000)::float8 as next, text";
export const REMINDS = `case when message_id like 'reminder/%' then json_build_object('id', reminder_of(message_id), 'is_late', exists (
  select from fuzz_reminder_ends n where n.id = reminder_of(message_id) and n.told_to < seq)) end`;

/**
 * Notes of each reminder that ends up to which entry it was told by then. Who tells one holds its row until that is committed, and so does who
 * ends one: what the end does not see is told behind it. Times of both do not tell: a clock may be set, or be too coarse.
 */
export const WATCH_REMINDER_ENDS = `
create table fuzz_reminder_ends (id bigint primary key, told_to bigint not null);
create function fuzz_note_reminder_end() returns trigger language plpgsql as $$
begin
  insert into fuzz_reminder_ends
  select new.id, coalesce(max(e.seq), 0) from entries e where e.channel_id = new.channel_id and e.message_id like 'reminder/' || new.id || '/%';
  return null;
end $$;
create trigger fuzz_note_reminder_end after update of state on reminders
  for each row when (old.state = 'active' and new.state <> 'active') execute function fuzz_note_reminder_end()`;
