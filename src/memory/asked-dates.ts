import { MONTH_NAMES } from "../text/time.ts";

/** The days or months that a question names. Pure. */

/** From its first millisecond to the first one after it, in UTC. */
export interface AskedDate {
  readonly from: number;
  readonly to: number;
}

/** In small letters. */
export const MONTHS = MONTH_NAMES.map((name) => name.toLowerCase());
const MONTH = String.raw`(?<month>${MONTHS.join("|")})`;
const DAY = String.raw`(?<day>\d{1,2})(?:st|nd|rd|th)?`;
const YEAR = String.raw`(?<year>(?:19|20)\d\d)`;

/** `2026-05-07`, `2026-05`; `7 May 2026`, `7 May`; `May 7, 2026`, `May 2026`, `May 7`; `2026年5月7日`, `5月7日`. A month alone is a name or a word. */
const FORMS = [
  new RegExp(String.raw`\b${YEAR}-(?<month>\d\d)(?:-(?<day>\d\d))?\b`, "g"),
  new RegExp(String.raw`\b${DAY}(?: of)? ${MONTH}\b(?:,? ${YEAR}\b)?`, "gi"),
  new RegExp(String.raw`\b${MONTH} ${DAY}\b(?!:)(?:,? ${YEAR}\b)?`, "gi"),
  new RegExp(String.raw`\b(?<!\d(?:st|nd|rd|th)?(?: of)? )${MONTH},? ${YEAR}\b`, "gi"),
  /(?:(?<year>(?:19|20)\d\d)年)?(?<month>\d{1,2})月(?:(?<day>\d{1,2})日)?/g,
];
const MAX_DATES = 4;

/** @param now ms; a date without a year is the last one that has begun */
export function askedDates(question: string, now: number): AskedDate[] {
  return FORMS.flatMap((form) => [...question.matchAll(form)])
    .flatMap(({ groups = {} }) => rangeOf(groups, now) ?? [])
    .slice(0, MAX_DATES);
}

function rangeOf(groups: Readonly<Record<string, string | undefined>>, now: number): AskedDate | null {
  const named = groups["month"] ?? "";
  const month = /^\d/.test(named) ? Number(named) - 1 : MONTHS.indexOf(named.toLowerCase());
  if (month < 0 || month > 11) return null;
  const day = groups["day"] === undefined ? null : Number(groups["day"]);
  const year = groups["year"] === undefined ? lastYearOf(month, day ?? 1, now) : Number(groups["year"]);
  const from = Date.UTC(year, month, day ?? 1);
  // There is no 31 June.
  if (new Date(from).getUTCMonth() !== month) return null;
  return { from, to: day === null ? Date.UTC(year, month + 1, 1) : Date.UTC(year, month, day + 1) };
}

function lastYearOf(month: number, day: number, now: number): number {
  const year = new Date(now).getUTCFullYear();
  return Date.UTC(year, month, day) > now ? year - 1 : year;
}
