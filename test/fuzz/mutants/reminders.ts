import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "../../../src/store/database/database.ts";
import {
  type DueReminder,
  type Fired,
  type Occurrence,
  ReminderStore,
} from "../../../src/features/reminders/reminder-store.ts";
import type { Mutant } from "./mutant.ts";
import { changeFunction } from "./sql.ts";

/** What a mutant that looks no more may miss, ms. */
const LATE_MS = 30;

/** Tells what was due a while ago. */
class LateReminders extends ReminderStore {
  override async due(...look: Parameters<ReminderStore["due"]>): Promise<DueReminder[]> {
    const rows = await super.due(...look);
    if (rows.length > 0) await delay(LATE_MS);
    return rows;
  }
}

/** Moves a reminder on, and then tells it. */
class MovedFirst extends ReminderStore {
  readonly #db: Database;

  constructor(db: Database) {
    super(db);
    this.#db = db;
  }

  override async fire(occurrence: Occurrence): Promise<Fired> {
    const { id, text } = occurrence.reminder;
    const [row] = await this.#db.query<{ channelId: number }>(
      "reminder_move",
      `update reminders set next_at = $2, state = case when $2::timestamptz is null then 'done' else state end,
         text = case when $2::timestamptz is null then '' else text end
        where id = $1 and state = 'active' returning channel_id`,
      [id, occurrence.next],
    );
    if (row === undefined) return { hasFired: false, seq: null, isDue: false };
    const { messageId, author, tokens, at } = occurrence.draft;
    const [told] = await this.#db.query<{ seq: number; due: boolean }>(
      "reminder_fire",
      "select seq, due from append_message($1, $2, 'weir', $3, true, $4, $5, $6, true, null)",
      [row.channelId, messageId, author.name, text, tokens, at],
    );
    return { hasFired: true, seq: told?.seq ?? null, isDue: told?.due ?? false };
  }
}

/** Wrong ways of reminders. */
export const REMINDER_MUTANTS: readonly Mutant[] = [
  {
    name: "a reminder is told, whatever became of it",
    breaks: ["I12", "I22"],
    reminders: (db) => new LateReminders(db),
    install: async (db) =>
      changeFunction(db, "fire_reminder", [
        [" and r.state = 'active' and r.next_at = p_due and r.text = p_text", ""],
        ["v_text, p_tokens", "p_text, p_tokens"],
        [
          "update reminders r set next_at = p_next where r.id = p_id;",
          "update reminders r set next_at = p_next where r.id = p_id and r.state = 'active';",
        ],
      ]),
  },
  {
    name: "a reminder is moved on, and then told",
    breaks: ["I22"],
    reminders: (db) => new MovedFirst(db),
  },
  {
    name: "a reminder that is told stays due",
    breaks: ["I22"],
    install: async (db) =>
      changeFunction(db, "fire_reminder", [
        ["perform end_reminders(array[p_id], 'done');", "perform 1;"],
        ["update reminders r set next_at = p_next where r.id = p_id;", "perform 1;"],
      ]),
  },
  {
    name: "a reminder outlives what it tells",
    breaks: ["I12", "I22"],
    install: async (db) =>
      changeFunction(db, "end_reminders", [
        ["and r.state = 'active' returning", "and r.state = 'active' and p_state <> 'gone' returning"],
      ]),
  },
];
