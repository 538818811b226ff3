import type { parse, ParsedResult } from "chrono-node";
import { findRecurrence } from "./recurrences.ts";
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
const REWRITTEN: Partial<Record<Language, readonly (readonly [pattern: RegExp, as: string])[]>> = {
  fr: [
    [/(?<!\p{L})à midi(?!\p{L})/giu, "à 12h00"],
    [/(?<!\p{L})à minuit(?!\p{L})/giu, "à 0h00"],
  ],
  pt: [[/(?<!\p{L})[àa]s? (\d{1,2})(?:h(\d{2})?|:(\d{2}))?(?![\d:])/giu, "às $1:$2$3"]],
};

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
  const said = text.replace(/^(?:me|us|mich|uns|moi|nous|mij|ons)(?!\p{L})\s*/iu, "").trim();
  const recurrence = findRecurrence(said);
  // The clock of the zone, as if it were UTC: the library then reads and answers by that clock.
  const clock = new Date(Date.parse(`${createTimeFormat(timeZone).minute(now).replace(" ", "T")}Z`));
  if (recurrence === null) return once(await bestOf(said, clock), clock, now);
  if ("problem" in recurrence) return recurrence;
  const { before, after, days } = recurrence;
  if (recurrence.clock !== null)
    return { ...ofText(before, after), at: null, cron: `${recurrence.clock} ${days}` };
  const found = await bestOf(`${before} ${after}`, clock, true);
  const [hour, minute] =
    found === null ? [9, 0] : [found.result.start.get("hour"), found.result.start.get("minute")];
  const rest = found === null ? ofText(before, after) : ofText(found.before, found.after);
  return { ...rest, at: null, cron: `${minute ?? 0} ${hour ?? 9} ${days}`, isDayOnly: found === null };
}

interface Found {
  readonly result: ParsedResult;
  readonly before: string;
  readonly after: string;
  readonly language: Language;
}

/** What the language says most of that knows most of its words. @param isTimed only a time of day */
async function bestOf(text: string, clock: Date, isTimed = false): Promise<Found | null> {
  let best: Found | null = null;
  for (const language of languagesOf(text)) {
    const parser = await LOADERS[language]();
    const looked = (REWRITTEN[language] ?? []).reduce(
      (left, [pattern, as]) => left.replaceAll(pattern, as),
      text,
    );
    const results = parser.parse(looked, { instant: clock, timezone: 0 }, { forwardDate: true });
    const result = results.find(({ start }) => !isTimed || start.isCertain("hour"));
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

function once(found: Found | null, clock: Date, now: Date): SaidTime | null {
  if (found === null) return null;
  const { result, before, after, language } = found;
  const { start } = result;
  const isTimed = start.isCertain("hour");
  const hasDay = start.isCertain("day") || start.isCertain("weekday") || start.isCertain("month");
  if (!isTimed && !hasDay && result.tags().size === 0) return null;
  const rest = ofText(before, after);
  const numbers = /(?<!\d)(\d{1,2})\/(\d{1,2})(?!\d)/.exec(result.text);
  const isAmbiguous =
    language === "en" && numbers !== null && Number(numbers[1]) <= 12 && Number(numbers[2]) <= 12;
  const at = atOf(result, clock, now, isTimed);
  return { ...rest, at, cron: null, isDayOnly: !isTimed && !isPartOfDay(result), isAmbiguous };
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
