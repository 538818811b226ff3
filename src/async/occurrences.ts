import { Cron } from "croner";

/**
 * When something comes again. The clock that counts is the wall clock of a time zone: "each day at 2:30" stays at 2:30 over the change of
 * the hour. Where that day has no 2:30 it comes when the missing hour is over; where it has two, at the first.
 */
export interface Recurrence {
  /** Five fields: minute, hour, day of the month, month, day of the week. */
  readonly cron: string;
  /** An IANA name. */
  readonly timeZone: string;
}

/** A recurrence comes no oftener: each time costs an answer. */
const LEAST_MINUTES = 5;
const MINUTE_MS = 60_000;
/** Consecutive occurrences that are checked for a too short interval: more than a day has of five minutes. */
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

/** The occurrences that are past. */
export interface Past {
  readonly last: Date;
  /** How many came before it; at most `MOST_COUNTED`. */
  readonly before: number;
}

/** Occurrences that are counted: who has missed more has missed many. */
export const MOST_COUNTED = 1000;

/**
 * The occurrences from one on that are past.
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
 * The instant of a wall clock's time; of one that comes twice the first, of one that does not come as much later as is missing.
 * @param local `2026-12-01T09:00`
 * @returns null: it is no time of any calendar
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
  // "no-wildcard": what names its hours keeps to them as a single time does, also where it names several.
  return new Cron(cron, { timezone: timeZone, mode: "5-part", fixedTimeRule: "no-wildcard", paused: true });
}
