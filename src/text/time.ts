/** Dates for people and models, in one time zone. */
export interface TimeFormat {
  /** `2026-11-21 14:05` */
  minute(date: Date): string;
  /** `2026-11-21` */
  day(date: Date): string;
  /** `Saturday 2026-11-21 14:05 UTC` */
  full(date: Date): string;
}

/** @param timeZone an IANA name; it must be valid */
export function createTimeFormat(timeZone: string): TimeFormat {
  // The Swedish locale writes dates in the order of ISO 8601.
  const minute = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  const day = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" });
  const weekday = new Intl.DateTimeFormat("en-US", { timeZone, weekday: "long" });
  const minuteOf = oncePerMinute((date) => minute.format(date));
  return {
    minute: minuteOf,
    day: oncePerMinute((date) => day.format(date)),
    full: (date) => `${weekday.format(date)} ${minuteOf(date)} ${timeZone}`,
  };
}

/** `2026-12-03`, `2026-12-01 to 2026-12-07`. @param days ISO days, both inclusive */
export function formatDays({ from, to }: { readonly from: string; readonly to: string }): string {
  return from === to ? from : `${from} to ${to}`;
}

/** An ISO day some days after another one, or before it. @param by in days */
export function dayBeside(day: string, by: number): string {
  return new Date(Date.parse(day) + by * 86_400_000).toISOString().slice(0, 10);
}

const MONTHS = "January February March April May June July August September October November December";
export const MONTH_NAMES: readonly string[] = MONTHS.split(" ");

/** Before 1973 some zones had offsets with seconds. */
const WHOLE_MINUTES_FROM = Date.UTC(1973);
const KNOWN_MINUTES = 500;

/** Caches by minute: formatting costs 2 µs, and recall formats the same times repeatedly. */
function oncePerMinute(format: (date: Date) => string): (date: Date) => string {
  const known = new Map<number, string>();
  return (date) => {
    const time = date.getTime();
    if (!(time >= WHOLE_MINUTES_FROM)) return format(date);
    const key = Math.floor(time / 60_000);
    let text = known.get(key);
    if (text === undefined) {
      text = format(date);
      if (known.size >= KNOWN_MINUTES) known.clear();
      known.set(key, text);
    }
    return text;
  };
}

/** The problem of a person's or script's time, after the name of its key. */
export const ZONED_TIME = "must be an ISO 8601 time with its zone, such as 2026-05-01T12:00:00Z";
