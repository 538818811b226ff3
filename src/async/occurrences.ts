import { Cron } from "croner";

/**
 * A recurrence, by the wall clock of a time zone: "each day at 2:30" stays at 2:30 over a change of the hour. On a day without
 * 2:30 it comes when the missing hour is over; on a day with two, at the first.
 */
export interface Recurrence {
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  readonly cron: string;
  /** An IANA name. */
  readonly timeZone: string;
}

/** Least interval of a recurrence: each occurrence costs an answer. */
const LEAST_MINUTES = 5;
const MINUTE_MS = 60_000;
/**
 * Number of consecutive occurrences checked for a too short interval. A schedule of every five minutes has 288 a day,
 * so more than a day is checked.
 */
const LOOKED_AT = 300;

const FORM = 'five fields (minute, hour, day of the month, month, day of the week), such as "0 9 * * 1-5"';

/** Completes "expected: …". */
export const CRON_EXPECTED = `a cron expression of ${FORM}, that comes at most every ${LEAST_MINUTES} minutes`;

/**
 * The problem of a recurrence; null: it is valid.
 * @param timeZone a valid one
 */
export function cronProblem(cron: string, timeZone: string, now: Date): string | null {
  let runs: Date[];
  try {
    runs = ruleOf({ cron, timeZone }).nextRuns(LOOKED_AT, now);
  } catch {
    return `it is no cron expression of ${FORM}`;
  }
  if (runs.length === 0) return "it never comes";
  const isTooOften = runs.some((run, index) => {
    const before = runs[index - 1];
    return before !== undefined && run.getTime() - before.getTime() < LEAST_MINUTES * MINUTE_MS;
  });
  return isTooOften ? `it comes oftener than every ${LEAST_MINUTES} minutes` : null;
}

/** The first occurrence after a time; null: there are no more. */
export function nextOccurrence(recurrence: Recurrence, behind: Date): Date | null {
  return ruleOf(recurrence).nextRun(behind);
}

export interface Past {
  readonly last: Date;
  /** How many came before it; at most `MOST_COUNTED`. */
  readonly before: number;
}

export const MOST_COUNTED = 1000;

/**
 * The past occurrences from a given one on.
 * @param from the first of them
 */
export function pastOccurrences(recurrence: Recurrence, from: Date, now: Date): Past {
  const rule = ruleOf(recurrence);
  let last = from;
  let before = 0;
  for (; before < MOST_COUNTED; before++) {
    const next = rule.nextRun(last);
    if (next === null || next > now) return { last, before };
    last = next;
  }
  // A millisecond later, so that one which is due now counts.
  const [newest = last] = rule.previousRuns(1, new Date(now.getTime() + 1));
  return { last: newest > last ? newest : last, before };
}

/**
 * The instant of a wall clock's time. A time that comes twice means the first; a skipped time moves by the missing hour.
 * @param local `2026-12-01T09:00`
 * @returns null: it is no calendar time
 */
export function instantOf(local: string, timeZone: string): Date | null {
  const utc = new Date(`${local}:00Z`);
  // Rejects dates such as 31 June, which JavaScript reads as a day of the next month.
  if (Number.isNaN(utc.getTime()) || !utc.toISOString().startsWith(local)) return null;
  return new Cron(`${local}:00`, { timezone: timeZone, paused: true }).nextRun(
    new Date(utc.getTime() - 2 * DAY_MS),
  );
}

const DAY_MS = 1440 * MINUTE_MS;

function ruleOf({ cron, timeZone }: Recurrence): Cron {
  // "no-wildcard": a rule with given hours keeps to them as a single time does, even if it names several.
  return new Cron(cron, { timezone: timeZone, mode: "5-part", fixedTimeRule: "no-wildcard", paused: true });
}
