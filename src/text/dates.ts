import type { parse, ParsedResult } from "chrono-node";
import {
  endsInEvery,
  isLimited,
  findRecurrence,
  type SaidRecurrence,
  unread,
  WHAT_RECURS,
  withoutEvery,
} from "./recurrences.ts";
import { countOf } from "./number-words.ts";
import { createTimeFormat } from "./time.ts";

/** Reads times as people say them: "tomorrow at 9", "nächsten Freitag 14 Uhr", "every day at 9". */

/** A time that somebody has said, and the rest of the text. */
export interface SaidTime {
  /** `2026-12-04 14:00` by the clock of the zone, or with a zone of its own; null: it recurs. */
  readonly at: string | null;
  /** Five fields; null: it comes once. */
  readonly cron: string | null;
  /** The text without it; "": there is no more. */
  readonly rest: string;
  /** No time of day was said: 9:00 is taken. */
  readonly isDayOnly: boolean;
  /** Its date may be read day first or month first. */
  readonly isAmbiguous: boolean;
}

type Language = "en" | "de" | "fr" | "es" | "it" | "pt" | "nl" | "ja" | "zh" | "ru" | "uk";
interface Parser {
  readonly parse: typeof parse;
}

/** The library's languages, each loaded when a text may be in it: all of them take a quarter of a second. */
const LOADERS: Readonly<Record<Language, () => Promise<Parser>>> = {
  en: async () => import("chrono-node/en"),
  de: async () => import("chrono-node/de"),
  fr: async () => import("chrono-node/fr"),
  es: async () => import("chrono-node/es"),
  it: async () => import("chrono-node/it"),
  pt: async () => import("chrono-node/pt"),
  nl: async () => import("chrono-node/nl"),
  ja: async () => import("chrono-node/ja"),
  zh: async () => import("chrono-node/zh"),
  ru: async () => import("chrono-node/ru"),
  uk: async () => import("chrono-node/uk"),
};

const LATIN: readonly Language[] = ["en", "de", "fr", "es", "it", "pt", "nl"];

function languagesOf(text: string): readonly Language[] {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return ["ja"];
  if (/\p{Script=Han}/u.test(text)) return ["ja", "zh"];
  return /\p{Script=Cyrillic}/u.test(text) ? ["ru", "uk"] : LATIN;
}

/** Words that the library does not know, in those that it does. */
const REWRITTEN: Partial<
  Record<Language, readonly (readonly [pattern: RegExp, as: string | typeof halfBefore])[]>
> = {
  de: [[/(?<!\p{L})halb (\p{L}{4,6}|\d{1,2})(?![\p{L}\d])/giu, halfBefore]],
  nl: [[/(?<!\p{L})half (\p{L}{3,6}|\d{1,2})(?![\p{L}\d])/giu, halfBefore]],
  fr: [
    [/(?<!\p{L})à midi(?!\p{L})/giu, "à 12h00"],
    [/(?<!\p{L})à minuit(?!\p{L})/giu, "à 0h00"],
  ],
  pt: [[/(?<!\p{L})[àa]s? (\d{1,2})(?:h(\d{2})?|:(\d{2}))?(?![\d:])/giu, "às $1:$2$3"]],
};

/** "Halb neun" is 8:30. */
function halfBefore(words: string, hour: string): string {
  const count = /^e(?:ins|en)$/i.test(hour) ? 1 : countOf(hour);
  return count === null || count < 1 || count > 12 ? words : `${(count + 11) % 12 || 12}:30`;
}

/** Longest text that is looked through, in UTF-16 units: a time stands at the beginning or the end. */
const MAX_LENGTH = 1000;
/** Where a day is said without a time. */
const MORNING = "09:00";

/**
 * The time that a text names: once or recurring, by the clock of a time zone. Past times are returned as they are said.
 * @param timeZone a valid IANA name
 * @returns null: there is none; a problem, as a part of a sentence: it cannot be kept
 */
export async function readSaidTime(
  text: string,
  timeZone: string,
  now: Date,
): Promise<SaidTime | { readonly problem: string } | null> {
  if (text.length > MAX_LENGTH) return null;
  // A keyboard may write an accent as a character of its own.
  const said = text
    .normalize("NFC")
    .replace(/^(?:me|us|mich|uns|moi|nous|mij|ons)(?!\p{L})\s*/iu, "")
    .trim();
  // The clock of the zone, as if it were UTC: the library then reads and answers by that clock.
  const clock = new Date(Date.parse(`${createTimeFormat(timeZone).minute(now).replace(" ", "T")}Z`));
  const recurrence = findRecurrence(said);
  const recurring = recurrence === null ? null : await recurringTime(recurrence, clock);
  return recurring ?? once(await bestOf(said, clock), clock, now);
}

type Read = SaidTime | { readonly problem: string };

/** A recurrence with the time beside it. @returns null: it is a part of what is to be said */
async function recurringTime(recurrence: SaidRecurrence, clock: Date): Promise<Read | null> {
  const { rule, words, isHabit, before, after } = recurrence;
  const [early, late] = [await bestOf(before, clock, isTime), await bestOf(after, clock, isTime)];
  const first = early === null ? before : early.before + early.after;
  const last = late === null ? after : late.before + late.after;
  const isBeside = isBlank(early?.after ?? " x") || isBlank(late?.before ?? " x");
  const isPlaced = isBlank(first) || (isBlank(last) && (!isHabit || isBeside));
  if (!isPlaced) return null;
  if (isHabit && early !== null && isDated(early) && !isBlank(last)) return null;
  if ("problem" in rule) return rule;
  const time = late !== null && (isBlank(late.before) || (early === null && isNear(late))) ? late : early;
  const days = rule.per === null ? rule.days : daysOf(rule.per, time);
  const rest =
    time === null
      ? ofText(before, after)
      : time === early
        ? ofText(first, after)
        : ofText(before, ofText(time.before, time.after).rest);
  const goesOn = time !== null && time === late ? time.after : after;
  const problem = isLimited(after) || time?.result.end ? LIMITED : whyUnkept(recurrence, early, time, goesOn);
  if (problem !== null) return { problem };
  if (days === null) return { problem: `"${words}" needs its day; ${WHAT_RECURS}` };
  if (rule.clock !== null) return { ...rest, at: null, cron: `${rule.clock} ${days}` };
  const isTimed = time !== null && hasTime(time.result);
  const { hour, minute } = isTimed ? timeOf(time, rule.part) : { hour: rule.part?.hour ?? 9, minute: 0 };
  return { ...rest, at: null, cron: `${minute} ${hour} ${days}`, isDayOnly: !isTimed && rule.part === null };
}

const LIMITED = `what recurs has no exceptions, beginning or end; ${WHAT_RECURS}`;

/** Why a recurrence cannot be kept with the times beside it; null: it can. */
function whyUnkept(
  { rule, words }: SaidRecurrence,
  early: Found | null,
  time: Found | null,
  after: string,
): string | null {
  for (const one of [early, time]) {
    if (one === null || !isDated(one)) continue;
    // A day is part of what comes once a week or a year alone.
    if (one === time && !("problem" in rule) && rule.per !== null) continue;
    return `"${words}" and "${one.result.text.trim()}" do not go together; ${WHAT_RECURS}`;
  }
  return isLimited(after) ? LIMITED : unread("", after);
}

/** Behind other words a day may be one of them: "every day read tomorrow's plan". */
function isNear(found: Found): boolean {
  return !isDated(found) || isBlank(found.after);
}

function isBlank(text: string): boolean {
  return ofText(text, "").rest === "";
}

function hasTime(result: ParsedResult): boolean {
  return result.start.isCertain("hour") || isPartOfDay(result);
}

/** Of a day or a time of day, and no length of time. */
function isTime(result: ParsedResult): boolean {
  return (hasTime(result) || hasDay(result)) && !result.tags().has("result/relativeDateAndTime");
}

function hasDay({ start }: ParsedResult): boolean {
  return start.isCertain("day") || start.isCertain("weekday") || start.isCertain("month");
}

function isDated({ result }: Found): boolean {
  return hasDay(result);
}

/** "At 7" in the evening is 19:00. */
function timeOf(
  { result: { start } }: Found,
  part: { readonly isLate: boolean } | null,
): { readonly hour: number; readonly minute: number } {
  const hour = start.get("hour") ?? 9;
  const isLater = part?.isLate === true && hour >= 4 && hour < 12;
  return { hour: isLater ? hour + 12 : hour, minute: start.get("minute") ?? 0 };
}

/** Days of a weekly, monthly or yearly recurrence, from the date beside it, as fields of cron; null: the date does not name them. */
function daysOf(per: "week" | "month" | "year", time: Found | null): string | null {
  if (time === null) return null;
  const { start } = time.result;
  const isDay = start.isCertain("day") && start.isCertain("month") && !start.isCertain("year");
  if (per === "week") return start.isCertain("weekday") && !isDay ? `* * ${start.get("weekday")}` : null;
  return per === "year" && isDay ? `${start.get("day")} ${start.get("month")} *` : null;
}

interface Found {
  readonly result: ParsedResult;
  readonly before: string;
  readonly after: string;
  readonly language: Language;
}

/** What the language says most of that knows most of its words. */
async function bestOf(
  text: string,
  clock: Date,
  counts: (result: ParsedResult) => boolean = () => true,
): Promise<Found | null> {
  if (text.trim() === "") return null;
  let best: Found | null = null;
  for (const language of languagesOf(text)) {
    const parser = await LOADERS[language]();
    let looked = text;
    for (const [pattern, as] of REWRITTEN[language] ?? [])
      looked = typeof as === "string" ? looked.replaceAll(pattern, as) : looked.replaceAll(pattern, as);
    const results = parser.parse(looked, { instant: clock, timezone: 0 }, { forwardDate: true });
    const result = results.find(counts);
    if (
      result === undefined ||
      (best !== null && result.text.trim().length <= best.result.text.trim().length)
    )
      continue;
    const end = result.index + result.text.length;
    best = { result, before: looked.slice(0, result.index), after: looked.slice(end), language };
    // An English beginning is no other language's.
    if (language === "en" && result.index === 0 && result.start.isCertain("hour")) break;
  }
  return best;
}

function once(found: Found | null, clock: Date, now: Date): Read | null {
  if (found === null) return null;
  const { result, before, after, language } = found;
  const { start } = result;
  const isTimed = start.isCertain("hour");
  if (!isTimed && !hasDay(result) && result.tags().size === 0) return null;
  const days = endsInEvery(before) ? daysOf("year", found) : null;
  const problem = days === null ? unread(before, after, result.text.trim()) : unread("", after);
  if (problem !== null) return { problem };
  const rest = ofText(days === null ? before : withoutEvery(before), after);
  const numbers = /(?<!\d)(\d{1,2})\/(\d{1,2})(?!\d)/.exec(result.text);
  const isAmbiguous =
    language === "en" && numbers !== null && Number(numbers[1]) <= 12 && Number(numbers[2]) <= 12;
  const { hour, minute } = isTimed ? timeOf(found, null) : { hour: 9, minute: 0 };
  const when =
    days === null
      ? { at: atOf(result, clock, now, isTimed), cron: null }
      : { at: null, cron: `${minute} ${hour} ${days}` };
  return { ...rest, ...when, isDayOnly: !isTimed && !isPartOfDay(result), isAmbiguous };
}

/** "Tomorrow morning" has a time of day, though no certain one. */
function isPartOfDay(result: ParsedResult): boolean {
  return [...result.tags()].some((tag) =>
    /^casualReference\/(?:tonight|morning|noon|afternoon|evening|midnight)$/.test(tag),
  );
}

function atOf(result: ParsedResult, clock: Date, now: Date, isTimed: boolean): string {
  const { start } = result;
  // A length of time is added to the instant: a change of the hour in between does not change it.
  if (result.tags().has("result/relativeDateAndTime") || start.isCertain("timezoneOffset")) {
    const isZoned = start.isCertain("timezoneOffset") && !result.tags().has("result/relativeDateAndTime");
    const at = isZoned ? start.date().getTime() : now.getTime() + start.date().getTime() - clock.getTime();
    return new Date(at).toISOString();
  }
  const day = [start.get("year") ?? 0, start.get("month") ?? 1, start.get("day") ?? 1]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
  if (!isTimed && !isPartOfDay(result)) return `${day} ${MORNING}`;
  const [hour, minute] = [start.get("hour") ?? 9, start.get("minute") ?? 0].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${day} ${hour}:${minute}`;
}

/** Words before a time that belong to it, where the library leaves them. */
const JOINING = /(?<=^|\s)(?:on|at|by|for|in|am|um|den|le|à|dans|el|en|las|il|alle|em|na|no|op|om|в|на)$/iu;

/** The text around a time, without the words that joined it. */
function ofText(before: string, after: string): Pick<SaidTime, "rest" | "isDayOnly" | "isAmbiguous"> {
  const plain = before.trim();
  const left = plain === "a" ? "" : plain.replace(JOINING, "").trimEnd();
  const right = after.replace(/^(?:[\s,.:;–—-]+|に|は|、)/u, "").trim();
  const rest = [left, right].filter((part) => part !== "").join(" ");
  return {
    rest: rest.replace(/^(?:to|that|dass|zu)\s+/iu, "").replace(/(?<![\s,:;–—-])[\s,:;–—-]+$/u, ""),
    isDayOnly: false,
    isAmbiguous: false,
  };
}
