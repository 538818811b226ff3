import type { DayRange } from "../core/memory.ts";
import { dayBeside } from "../text/time.ts";
import { namedTimes, parseTime } from "./named-times.ts";

/** Some days of the past, both inclusive; null: without a limit. */
export interface Period {
  readonly from: string | null;
  readonly to: string | null;
}

/** "The last 7 days": up to today. */
const LAST = /^(?:the |in the |over the )?(?:last|past) (?<span>\S{1,12} (?:day|week|month|year)s?)$/iu;
const SINCE = /^(?:since|from|seit)\s/iu;
/** "From 3 to 7 May" has two ends. */
const TO = /(?<!\p{L})(?:to|until|till|bis)(?!\p{L})|[–/]/iu;
const AFTER = /^after\s/iu;
const UNTIL = /^(?:until|till|up to|bis)\s/iu;
const BEFORE = /^before\s/iu;

/**
 * The days that a model asks for: `2026-05-07`, `2026-05-01/2026-05-07`, "last week", "since March", "before 3 May". Of a time
 * that may be past or to come it is the past one. Null: the text names no time. Pure.
 * @param today the ISO day on which it is asked
 */
export function askedPeriod(text: string, today: string): Period | null {
  const asked = text.trim();
  const span = LAST.exec(asked)?.groups?.["span"];
  if (span !== undefined) return open(daysOf(`${span} ago`, today), ({ from }) => ({ from, to: null }));
  if (SINCE.test(asked) && !TO.test(asked))
    return open(daysOf(asked.replace(SINCE, ""), today), ({ from }) => ({ from, to: null }));
  if (AFTER.test(asked))
    return open(daysOf(asked.replace(AFTER, ""), today), ({ to }) => ({ from: dayBeside(to, 1), to: null }));
  if (UNTIL.test(asked))
    return open(daysOf(asked.replace(UNTIL, ""), today), ({ to }) => ({ from: null, to }));
  if (BEFORE.test(asked))
    return open(daysOf(asked.replace(BEFORE, ""), today), ({ from }) => {
      return { from: null, to: dayBeside(from, -1) };
    });
  return daysOf(asked, today);
}

function open(days: DayRange | null, periodOf: (days: DayRange) => Period): Period | null {
  return days === null ? null : periodOf(days);
}

/** From the first to the last day that a text names. */
function daysOf(text: string, today: string): DayRange | null {
  const exact = parseTime(text);
  if (exact !== null) return exact;
  const named = namedTimes(text, today);
  // "May": the name of a month alone may be another word.
  const times = named.length > 0 ? named : namedTimes(`in ${text}`, today);
  const begun = times.filter(({ from }) => from <= today);
  const [first, ...rest] = begun.length > 0 ? begun : times;
  if (first === undefined) return null;
  return rest.reduce(({ from, to }, other) => {
    return { from: from < other.from ? from : other.from, to: to > other.to ? to : other.to };
  }, first);
}
