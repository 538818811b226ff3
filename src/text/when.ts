import { createTimeFormat, dayBeside } from "./time.ts";
import { instantOf } from "../async/occurrences.ts";

/** Future times in the form in which people and models write them. Pure. */

/** A time, or its problem as a part of a sentence. */
export type When = { readonly at: Date } | { readonly problem: string };

const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const SPAN = /(\d{1,6})\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|w)/giu;
const ONLY_SPANS = new RegExp(`^(?:${SPAN.source}[\\s,]*(?:and\\s+)?)+$`, "iu");

/** `20m`, `1h30m`, `3 days`. @returns null: not a duration */
export function parseSpan(text: string): number | null {
  if (!ONLY_SPANS.test(text.trim())) return null;
  let ms = 0;
  for (const [, count = "", unit = ""] of text.matchAll(SPAN))
    ms += Number(count) * (UNITS_MS[unit.charAt(0).toLowerCase()] ?? 0);
  return ms;
}

/** How far ahead a time may be, in years: time zones' rules are not reliable further ahead. */
const MOST_YEARS = 5;
const MOST_MS = MOST_YEARS * 366 * 86_400_000;

const LOCAL = /^(\d{4}-\d{2}-\d{2})[ T](\d{1,2}:\d{2})(?::\d{2}(?:\.\d+)?)?$/;
const ZONED = /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:Z|[+-]\d{2}:?\d{2})$/i;
const CLOCK = /^(?:(tomorrow)\s+(?:at\s+)?)?(\d{1,2}:\d{2})$/i;

/** Adds a duration to now, checked. */
export function whenIn(span: string, now: Date): When {
  const ms = parseSpan(span);
  if (ms === null) return { problem: `"${shown(span)}" is no length of time` };
  if (ms === 0) return { problem: "that is now" };
  return checked(new Date(now.getTime() + ms), now);
}

/**
 * `18:30` (the next one), `tomorrow 9:00`, `2026-12-01 09:00`, `2026-12-01T09:00:00+01:00`.
 * @param timeZone for times without one
 */
export function whenAt(text: string, timeZone: string, now: Date): When {
  const said = text.trim();
  if (ZONED.test(said)) {
    const at = new Date(said.replace(" ", "T").replaceAll(" ", ""));
    return Number.isNaN(at.getTime()) ? none(said) : checked(at, now);
  }
  const [, day, time] = LOCAL.exec(said) ?? [];
  if (day !== undefined && time !== undefined) {
    const at = instantOf(`${day}T${time.padStart(5, "0")}`, timeZone);
    return at === null ? none(said) : checked(at, now);
  }
  const [, tomorrow, clock] = CLOCK.exec(said) ?? [];
  if (clock === undefined) return none(said);
  const today = createTimeFormat(timeZone).day(now);
  const from = tomorrow === undefined ? today : dayBeside(today, 1);
  const at = instantOf(`${from}T${clock.padStart(5, "0")}`, timeZone);
  if (at === null) return none(said);
  if (at > now) return checked(at, now);
  const next = instantOf(`${dayBeside(from, 1)}T${clock.padStart(5, "0")}`, timeZone);
  return next === null ? none(said) : checked(next, now);
}

function none(said: string): When {
  return { problem: `"${shown(said)}" is no time` };
}

function shown(said: string): string {
  return said.length > 40 ? `${said.slice(0, 40)}…` : said;
}

function checked(at: Date, now: Date): When {
  if (at <= now) return { problem: "that time is past" };
  return at.getTime() - now.getTime() > MOST_MS
    ? { problem: `that is more than ${MOST_YEARS} years ahead` }
    : { at };
}

/** Whether the runtime knows a time zone by this IANA name. */
export function isTimeZone(name: string): boolean {
  try {
    // Intl also takes "+02:00", which has no summer time and is no IANA name.
    return /^[A-Za-z]/.test(name) && Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions() !== null;
  } catch {
    return false;
  }
}
