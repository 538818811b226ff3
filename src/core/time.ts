/** Dates as people and models read them, in one time zone. */
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
  return {
    minute: (date) => minute.format(date),
    day: (date) => day.format(date),
    full: (date) => `${weekday.format(date)} ${minute.format(date)} ${timeZone}`,
  };
}
