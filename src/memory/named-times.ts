import { once } from "../core/once.ts";
import type { DayRange } from "../core/memory.ts";
import { normalForm } from "../text/text.ts";
import { askedDates, MONTHS } from "./asked-dates.ts";
import { countOf } from "../text/number-words.ts";
import { UNIT, UNSPACED_COUNT } from "../text/time-units.ts";

/**
 * The days that a text names: by a date, or by words relative to the day on which it was said ("tomorrow", "last week", "in
 * May"). An ambiguous time ("on Friday", "3 December") yields both. Pure.
 */

const DAY_MS = 24 * 3_600_000;
const MAX_LENGTH = 2000;
const MAX_TIMES = 12;

/** The days that a text names, each time once. @param said the ISO day on which it was said */
export function namedTimes(text: string, said: string): DayRange[] {
  const looked = plain(text);
  const year = isoDay(dayOf(said) + 365);
  return unique([...datesIn(looked, said), ...datesIn(looked, year), ...relativeIn(looked, said)]).slice(
    0,
    MAX_TIMES,
  );
}

/**
 * The one time that a statement refers to, other than the day on which it was said: the span of its dates with a year, or by
 * default the only time that relative words of its quote name. Null: there is no such time.
 * @param said the ISO day on which it was said
 */
export function statedTime(statement: string, quote: string, said: string): DayRange | null {
  const looked = plain(statement);
  const later = datesIn(looked, isoDay(dayOf(said) + 2 * 365));
  // Keeps dates with a year: one without a year reads differently two years later.
  const dates = datesIn(looked, said).filter((one) => later.some((other) => isSame(one, other)));
  const isSaid = ({ from, to }: DayRange): boolean => from === said && to === said;
  const [first, ...rest] = dates.filter((one) => !isSaid(one));
  if (first !== undefined) return rest.reduce(span, first);
  const [only, ...more] = unique(relativeIn(plain(quote), said));
  return only === undefined || more.length > 0 || isSaid(only) ? null : only;
}

const RANGE = /^(\d{4}-\d\d(?:-\d\d)?)(?:\s*\/\s*(\d{4}-\d\d(?:-\d\d)?))?$/;

/** Parses a day, a month or a range of them: `2026-12-03`, `2026-12`, `2026-12-01/2026-12-07`. Null: it is malformed. */
export function parseTime(text: string): DayRange | null {
  const [, first = "", last = first] = RANGE.exec(text.trim()) ?? [];
  const [from] = datesIn(first, first);
  const [to] = datesIn(last, last);
  return from === undefined || to === undefined || from.from > to.to ? null : { from: from.from, to: to.to };
}

/** Whether the named times contain its first and its last day, within a day: speakers may be in another time zone. */
export function isNamed(time: DayRange, named: readonly DayRange[]): boolean {
  const tells = (day: number): boolean =>
    named.some(({ from, to }) => day >= dayOf(from) - 1 && day <= dayOf(to) + 1);
  return tells(dayOf(time.from)) && tells(dayOf(time.to));
}

/** From the first day of two times to the last. */
export function span(one: DayRange, other: DayRange): DayRange {
  return { from: one.from < other.from ? one.from : other.from, to: one.to > other.to ? one.to : other.to };
}

function isSame(one: DayRange, other: DayRange): boolean {
  return one.from === other.from && one.to === other.to;
}

function unique(times: readonly DayRange[]): DayRange[] {
  return times.filter((one, index) => times.findIndex((other) => isSame(one, other)) === index);
}

/** Days since 1970. */
function dayOf(iso: string): number {
  return Math.floor(Date.parse(iso) / DAY_MS);
}

function isoDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Other names of each month. */
const OTHER_NAMES =
  "jan|januar feb|februar mar|märz apr mai jun|juni jul|juli aug sept? oct|okt|oktober nov dec|dez|dezember".split(
    " ",
  );
const EDGE = String.raw`(?![\p{L}\p{N}])`;
const NO_LETTER = String.raw`(?<![\p{L}\p{N}])`;
const DAY_TO = String.raw`(\d{1,2})(?:st|nd|rd|th|\.)? ?(?:-|–|to|until|and|bis) ?(\d{1,2})(?:st|nd|rd|th|\.)?`;
const YEAR = String.raw`(?:,? ((?:19|20)\d\d)\b)?`;
/** Spellings that `askedDates` does not read, and those that it does. */
const otherSpellings = once((): readonly (readonly [pattern: RegExp, as: string])[] => [
  ...MONTHS.map((name, month) => [name, OTHER_NAMES[month] ?? name] as const).flatMap(([name, others]) => [
    [
      new RegExp(String.raw`\b(\d{1,2})(?:st|nd|rd|th|\.)? (?:of )?(?:${name}|${others})${EDGE}\.?`, "gu"),
      `$1 ${name}`,
    ] as const,
    [new RegExp(String.raw`${NO_LETTER}(?:${others})\.? (?=\d)`, "gu"), `${name} `] as const,
    [new RegExp(String.raw`${NO_LETTER}im (?:${name}|${others})${EDGE}`, "gu"), `in ${name}`] as const,
  ]),
  [new RegExp(`\\b${DAY_TO} (${MONTHS.join("|")})\\b${YEAR}`, "g"), "$1 $3 $4 to $2 $3 $4"],
  [new RegExp(`\\b(${MONTHS.join("|")}) ${DAY_TO}(?!\\d)${YEAR}`, "g"), "$1 $2 $4 to $1 $3 $4"],
  [/(?<![\d.])(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)(?!\d)/g, "$3年$2月$1日"],
  [/(?<![\d./])(\d{1,2})\.(\d{1,2})\.(?![\d.])/g, "$2月$1日"],
]);

/** In small letters, dates in one of the forms that are read. */
function plain(text: string): string {
  let looked = normalForm(text.slice(0, MAX_LENGTH), "NFKC").toLowerCase().replaceAll("’", "'");
  looked = looked.replaceAll(/\s+/g, " ");
  // Shortcut: most texts have no dates.
  if (!/\d|\bim\b/.test(looked)) return looked;
  for (const [pattern, as] of otherSpellings()) looked = looked.replaceAll(pattern, as);
  return looked.replaceAll(/ {2,}/g, " ");
}

/** Its dates; one without a year is the last that has begun by that day. */
function datesIn(looked: string, day: string): DayRange[] {
  const now = Date.parse(day) + DAY_MS - 1;
  return askedDates(looked, now).map(({ from, to }) => {
    return { from: isoDay(Math.floor(from / DAY_MS)), to: isoDay(Math.floor(to / DAY_MS) - 1) };
  });
}

/** Days since 1970, both inclusive. */
type Days = readonly [from: number, to: number];
type Words = Readonly<Record<string, string | undefined>>;
interface Form {
  readonly pattern: RegExp;
  /** @param day on which it was said */
  readonly days: (found: Words, day: number) => readonly Days[];
}

/** The times that relative words of a text name. Each form reads only the text that earlier forms have left. */
function relativeIn(looked: string, said: string): DayRange[] {
  const day = dayOf(said);
  const found: Days[] = [];
  let rest = looked;
  for (const { pattern, days } of relative()) {
    for (const { groups = {} } of rest.matchAll(pattern)) found.push(...days(groups, day));
    rest = rest.replaceAll(pattern, " ");
  }
  return found.map(([from, to]) => ({ from: isoDay(from), to: isoDay(to) }));
}

function whole(pattern: string): RegExp {
  return new RegExp(`${NO_LETTER}(?:${pattern})${EDGE}`, "gu");
}

function anywhere(pattern: string): RegExp {
  return new RegExp(pattern, "gu");
}

/** 0 is Sunday. */
function weekdayOf(day: number): number {
  return (day + 4) % 7;
}

function weekOf(day: number, by: number): Days {
  const monday = day - ((weekdayOf(day) + 6) % 7) + 7 * by;
  return [monday, monday + 6];
}

function monthOf(day: number, by: number, length = 1): Days {
  const date = new Date(day * DAY_MS);
  const first = (month: number): number => Math.floor(Date.UTC(date.getUTCFullYear(), month, 1) / DAY_MS);
  const month = date.getUTCMonth() + by;
  return [first(month), first(month + length) - 1];
}

function yearOf(day: number, by: number): Days {
  return monthOf(day, 12 * by - new Date(day * DAY_MS).getUTCMonth(), 12);
}

function offset(pattern: RegExp, by: number): Form {
  return { pattern, days: (_, day) => [[day + by, day + by]] };
}

const LAST = "last|past|previous|letzte[nrsm]?|vorige[nrsm]?|vergangene[nrsm]?";
const THIS = "this|diese[nrsm]?";
const NEXT = "next|coming|nächste[nrsm]?|kommende[nrsm]?";
const WHICH = `(?:(?<last>${LAST})|(?<this>${THIS})|(?<next>${NEXT}))`;
const UNSPACED =
  "(?:(?<last>先|去|昨|上(?:个|個)?|지난 ?)|(?<this>今|本|这(?:个|個)?|這(?:個)?|이번 ?)|(?<next>来|來|明|下(?:个|個)?|다음 ?))";

function shift(found: Words): number {
  return found["last"] !== undefined ? -1 : found["next"] !== undefined ? 1 : 0;
}

/** Which of times in their order such a word means; without one the last that has begun and the next. */
function choose(times: readonly Days[], found: Words, day: number): Days[] {
  if (found["last"] !== undefined) return times.filter(([, to]) => to < day).slice(-1);
  const next = times.filter(([from]) => from > day).slice(0, 1);
  if (found["next"] !== undefined) return next;
  const begun = times.filter(([from]) => from <= day).slice(-1);
  return begun.some(([, to]) => to >= day) ? begun : [...begun, ...next];
}

/** The same time of this year and of those beside it. */
function everyYear(found: Words, day: number, month: number, length: number): Days[] {
  const by = month - new Date(day * DAY_MS).getUTCMonth();
  return choose(
    [-24, -12, 0, 12, 24].map((more) => monthOf(day, by + more, length)),
    found,
    day,
  );
}

const WEEKDAYS = [
  "sunday|sonntag",
  "monday|montag",
  "tuesday|tues?|dienstag",
  "wednesday|mittwoch",
  "thursday|thurs?|thu|donnerstag",
  "friday|fri|freitag",
  "saturday|samstag|sonnabend",
];
/** By the month in which they begin, in the north. */
const SEASONS: Readonly<Record<string, number>> = {
  spring: 2,
  frühling: 2,
  summer: 5,
  sommer: 5,
  autumn: 8,
  herbst: 8,
  winter: 11,
};
/** A word that is no number is left out by {@link countedDays}. */
const COUNT = String.raw`(?<count>(?:a )?(?:couple of|few)|\p{L}{1,12}|\d{1,3})`;

/** A count of weeks or longer is not exact to the day. */
function countedDays(found: Words, day: number, sign: 1 | -1): Days[] {
  const word = found["count"] ?? "";
  const count = word.endsWith("few") ? 3 : word.endsWith("of") ? 2 : countOf(word);
  if (count === null) return [];
  const by = sign * count;
  if (found["days"] !== undefined) return [[day + by, day + by]];
  if (found["weeks"] !== undefined) return [[day + 7 * by - 3, day + 7 * by + 3]];
  return [found["months"] === undefined ? yearOf(day, by) : monthOf(day, by)];
}

function weekdayDays(found: Words, day: number): Days[] {
  const wanted = WEEKDAYS.findIndex((one) => new RegExp(`^(?:${one})$`).test(found["weekday"] ?? ""));
  const before = day - ((weekdayOf(day) - wanted + 7) % 7);
  const times = [before - 7, before, before + 7, before + 14].map((one): Days => [one, one]);
  const chosen = choose(times, found, day);
  // "Next Friday" is also said of the one in the next week.
  const [monday] = weekOf(day, 1);
  const inNextWeek = monday + ((wanted + 6) % 7);
  return found["next"] === undefined ? chosen : [...chosen, [inNextWeek, inNextWeek]];
}

/** The longer ones first. */
const relative = once((): readonly Form[] => [
  offset(whole("(?:the )?day after tomorrow|übermorgen"), 2),
  offset(whole("(?:the )?day before yesterday|vorgestern"), -2),
  offset(anywhere("明後日|あさって|[后後]天|모레"), 2),
  offset(anywhere("一昨日|おととい|前天"), -2),
  offset(whole("today|tonight|this (?:morning|afternoon|evening)|heute|aujourd'hui|hoy"), 0),
  offset(anywhere("今日|今夜|今晩|今天|今晚|오늘"), 0),
  offset(whole("tomorrow|(?<!(?:guten|am|jeden|den) )morgen|demain|(?<!(?:la|las|cada) )mañana"), 1),
  offset(anywhere("明日|あした|明天|내일"), 1),
  offset(whole("yesterday|last night|gestern|hier (?:soir|matin)|ayer|anoche"), -1),
  offset(anywhere("昨日|昨夜|きのう|昨天|昨晚|어제"), -1),
  { pattern: whole("(?:in )?a fortnight(?: from now)?"), days: (_, day) => [[day + 11, day + 17]] },
  {
    pattern: whole(`${COUNT} ${UNIT} (?:ago|fa|geleden|назад|atrás)`),
    days: (found, day) => countedDays(found, day, -1),
  },
  {
    pattern: whole(`(?:vor|il y a|hace|há|faz|för) ${COUNT} ${UNIT}(?: sedan)?`),
    days: (found, day) => countedDays(found, day, -1),
  },
  { pattern: whole(`${COUNT} ${UNIT} from now`), days: (found, day) => countedDays(found, day, 1) },
  {
    pattern: whole(`(?:in|dans|en|dentro de|tra|fra|em|daqui a|через|over|om|za) ${COUNT} ${UNIT}`),
    days: (found, day) => countedDays(found, day, 1),
  },
  {
    pattern: anywhere(`${UNSPACED_COUNT} ?[以之]?(?:前|전)`),
    days: (found, day) => countedDays(found, day, -1),
  },
  {
    pattern: anywhere(`${UNSPACED_COUNT} ?[以之]?(?:[后後]|후|뒤)`),
    days: (found, day) => countedDays(found, day, 1),
  },
  {
    pattern: whole(`${WHICH} (?:weekend|wochenende)`),
    days: (found, day) => [weekOf(day, shift(found))].map(([, sunday]) => [sunday - 1, sunday]),
  },
  { pattern: whole(`${WHICH} (?:week|woche)`), days: (found, day) => [weekOf(day, shift(found))] },
  { pattern: whole(`${WHICH} (?:month|monat)`), days: (found, day) => [monthOf(day, shift(found))] },
  { pattern: whole(`${WHICH} (?:year|jahr)`), days: (found, day) => [yearOf(day, shift(found))] },
  { pattern: anywhere(`${UNSPACED}(?:週|周|星期|주)`), days: (found, day) => [weekOf(day, shift(found))] },
  { pattern: anywhere(`${UNSPACED}月`), days: (found, day) => [monthOf(day, shift(found))] },
  { pattern: anywhere(`${UNSPACED}年`), days: (found, day) => [yearOf(day, shift(found))] },
  {
    pattern: whole(
      `(?:${WHICH}|in|im|over|during|since) (?:the )?(?<season>${Object.keys(SEASONS).join("|")})`,
    ),
    days: (found, day) => everyYear(found, day, SEASONS[found["season"] ?? ""] ?? 0, 3),
  },
  {
    // After these words the name means the month, and not another word.
    pattern: whole(
      `(?:${WHICH}|in|during|since|until|by|early|late|mid) (?<month>${MONTHS.join("|")})(?! (?:\\d|be\\b))`,
    ),
    days: (found, day) => everyYear(found, day, MONTHS.indexOf(found["month"] ?? ""), 1),
  },
  {
    pattern: whole(String.raw`(?:in|during|since|until|by) (?<year>(?:19|20)\d\d)(?!-\d)`),
    days: ({ year = "" }) => [yearOf(dayOf(`${year}-01-01`), 0)],
  },
  { pattern: whole(`(?:${WHICH} )?(?<weekday>${WEEKDAYS.join("|")})`), days: weekdayDays },
]);
