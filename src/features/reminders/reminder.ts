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
