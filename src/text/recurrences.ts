/** Recurrences in the words of people ("every day", "on Mondays", "jeden Montag", "毎日"). Pure. */

import { once } from "../core/once.ts";
import { countOf } from "./number-words.ts";
import * as said from "./recurrence-words.ts";
import { MONTH_NAMES } from "./time.ts";
import { UNIT, unnamed } from "./time-units.ts";

/** When a recurrence comes, as far as its own words say it. */
interface Rule {
  /** Fields of a cron expression after minute and hour: day of the month, month, day of the week. Null: a date with it says them. */
  readonly days: string | null;
  /** Minute and hour, where the recurrence itself has them ("every two hours"); null: it comes at a time of day. */
  readonly clock: string | null;
  /** What it comes once in; null unless a date has to say the day. */
  readonly per: "week" | "month" | "year" | null;
  /** The part of the day that it names; null: none. */
  readonly part: { readonly hour: number; readonly isLate: boolean } | null;
}

/** A recurrence that a text names. */
export interface SaidRecurrence {
  /** A problem, as a part of a sentence: it cannot be kept. */
  readonly rule: Rule | { readonly problem: string };
  /** It has no word for "every" ("daily", "montags"), and may be a part of what is to be said. */
  readonly isHabit: boolean;
  readonly words: string;
  /** The text before and after its words. */
  readonly before: string;
  readonly after: string;
}

/** Ends a sentence that refuses a recurrence. */
export const WHAT_RECURS =
  'these work: "every day at 9", "every monday and thursday at 9", "on weekdays at 9", "every 2 hours", "on the 1st of each month at 9", "on the first monday of each month at 9", "every year on december 1"';

const { EVERY, ALL, AND, ORDINAL } = said;
const NAMES = said.WEEKDAYS.join("|");
const HABIT_NAMES = said.HABITS.join("|");
const SET = (names: string): string => `(?<names>(?:${names})(?:(?:${AND})(?:${HABIT_NAMES}|${NAMES}))*)`;

/** As whole words; a line break in the pattern is none of it. */
function words(pattern: string, flags = "iu"): RegExp {
  const joined = pattern
    .split("\n")
    .map((line) => line.trim())
    .join("");
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${joined})(?![\\p{L}\\p{N}])`, flags);
}

const BETWEEN = words(said.TO);
const spelledDays = once(() =>
  said.WEEKDAYS.map((names, day) => words(`${said.HABITS[day] ?? ""}|${names}`, "giu")),
);
/** A kanji alone is a weekday only where nothing else can be meant: 毎週水泳 is none. */
const JAPANESE = String.raw`[日月火水木金土]+(?:曜日?|(?=[\s\dにの・、,と〜～-]|から|$))`;
const CHINESE_WEEK = "(?:个|個)?(?:星期|周|週|礼拜|禮拜)";
/** 每周三次 is three times a week, and 五点 is five o'clock. */
const NO_COUNT = "(?![点點时時次回遍个個十])";
const CHINESE = `[日一二三四五六天]${NO_COUNT}`;

/** A character each, Sunday first. */
function dayPatterns(names: string): RegExp[] {
  return Array.from(names, (name) => new RegExp(name, "gu"));
}
const JAPANESE_DAYS = dayPatterns("日月火水木金土");
const CHINESE_DAYS = dayPatterns("日一二三四五六");

type Words = Readonly<Record<string, string | undefined>>;
interface Form {
  readonly pattern: RegExp;
  /** Null: its words do not mean it. */
  readonly rule: (found: Words) => SaidRecurrence["rule"] | null;
  readonly isHabit?: true;
}

function atTime(days: string): Rule {
  return { days, clock: null, per: null, part: null };
}

/** A date beside it says the day. */
function oncePer(per: NonNullable<Rule["per"]>): Rule {
  return { ...atTime(""), days: null, per };
}

const NONE_KEPT = { problem: `is no rule of a schedule; ${WHAT_RECURS}` };
const UNEVEN = {
  problem:
    "does not fit evenly into an hour or a day: take 5, 6, 10, 12, 15, 20 or 30 minutes, or 1, 2, 3, 4, 6, 8 or 12 hours, and a day of 1 to 31",
};
const COUNT = String.raw`(?<count>\d{1,3}|\p{L}{2,12})`;

/** Days of a month. */
const ofMonth = (): Form[] => [
  {
    pattern: words(
      `${said.THE}(?:(?:${EVERY})\\s+)?(?<nth>${said.NTH.map(([, one]) => one).join("|")})\\s+(?<weekday>${NAMES})\\s+(?:${said.OF_EACH_MONTH}|${said.OF_MONTH})|
        (?:${said.MONTHLY})\\s+${said.THE}(?<nth>${said.NTH.map(([, one]) => one).join("|")})\\s+(?<weekday>${NAMES})`,
    ),
    rule: ({ nth = "", weekday = "" }) => {
      const [which = ""] = said.NTH.find(([, one]) => words(one).test(nth)) ?? [];
      return atTime(`* * ${weekdaysIn(weekday, spelledDays(), BETWEEN).join(",")}#${which}`);
    },
  },
  { pattern: words(`(?:${EVERY}|каждого)\\s+${said.DAY}\\s+(?:${said.OF_MONTH})`), rule: monthly },
  {
    pattern: words(`${said.THE}${said.DAY}\\s+(?:${said.OF_EACH_MONTH})`),
    rule: monthly,
  },
  { pattern: words(`(?:${said.MONTHLY})\\s+${said.THE}${said.DAY}`), rule: monthly },
  {
    pattern: words(`(?:todo dia|cada d[ií]a|elke dag)\\s+(?<day>\\d{1,2})(?!\\s*(?:[:.h]|horas|uur))`),
    rule: monthly,
  },
  {
    pattern:
      /(?:毎月|每(?:个|個)?月)の?(?:(?<day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号號]|(?<last>末日?|最終日|底|最[后後]一天))/u,
    rule: monthly,
  },
  {
    pattern: /毎月の?第(?<nth>[1-4１-４一二三四])(?<weekday>[日月火水木金土])曜日?/u,
    rule: ({ nth = "", weekday = "" }) =>
      atTime(`* * ${"日月火水木金土".indexOf(weekday)}#${countOf(nth.normalize("NFKC")) ?? 1}`),
  },
];

/** Forms with a count ("every third week"), and recurrences with uneven gaps. */
const ofCount = (): Form[] => [
  {
    pattern: words(`(?:${ALL})\\s+(?:${ORDINAL})\\s+(?:${unnamed(UNIT)}|${said.HOURS}|${NAMES})`),
    rule: () => NONE_KEPT,
  },
  { pattern: words(said.UNEVEN), rule: () => NONE_KEPT, isHabit: true },
  {
    pattern: words(`(?:${said.OFTEN}) (?:${said.PER_ONE}) (?:${unnamed(UNIT)})`),
    rule: () => NONE_KEPT,
    isHabit: true,
  },
  {
    pattern: words(`(?:${said.ONCE}) (?:${said.PER_ONE}) (?:${UNIT})`),
    rule: ({ days, weeks, months }) => {
      if (days !== undefined) return atTime("* * *");
      return oncePer(weeks !== undefined ? "week" : months !== undefined ? "month" : "year");
    },
    isHabit: true,
  },
  {
    pattern: /隔[週周日天月年]|每隔.{1,4}[天日周週月年]|毎[一二三四五六七八九十\d]+[週日月年]/u,
    rule: () => NONE_KEPT,
  },
  { pattern: words(said.HALF_HOURLY), rule: () => everyMinutes(30) },
  {
    pattern: words(`(?:${ALL}) ${COUNT} ?(?:${said.MINUTES})`),
    rule: ({ count }) => counted(count, everyMinutes),
  },
  {
    pattern: words(`(?:${ALL}) ${COUNT} ?(?:${said.HOURS})`),
    rule: ({ count }) => counted(count, everyHours),
  },
  {
    pattern: words(`(?:${ALL}) ${COUNT} ?(?:${unnamed(UNIT)})`),
    rule: ({ count }) => counted(count, () => NONE_KEPT),
  },
];

/** The first that fits counts. */
const forms = once((): readonly Form[] => [
  ...ofMonth(),
  ...ofCount(),
  { pattern: words(said.WORKDAYS), rule: () => atTime("* * 1-5") },
  { pattern: words(said.WORKDAY_HABITS), rule: () => atTime("* * 1-5"), isHabit: true },
  { pattern: /平日|(?:每(?:个|個)?)?工作日/u, rule: () => atTime("* * 1-5") },
  { pattern: words(said.WEEKENDS), rule: () => atTime("* * 0,6") },
  { pattern: words("weekends"), rule: () => atTime("* * 0,6"), isHabit: true },
  { pattern: /毎週末|[每逢](?:个|個)?(?:周|週)末/u, rule: () => atTime("* * 0,6") },
  ...said.PARTS.flatMap(({ hour, isLate, words: part, unspaced }) =>
    [words(part), unspaced].map((pattern) => ({
      pattern,
      rule: () => ({ ...atTime("* * *"), part: { hour, isLate } }),
    })),
  ),
  { pattern: words(said.DAILY), rule: () => atTime("* * *") },
  { pattern: words(said.DAILY_HABITS), rule: () => atTime("* * *"), isHabit: true },
  { pattern: /毎日|每天|每日/u, rule: () => atTime("* * *") },
  { pattern: words(said.HOURLY), rule: () => everyHours(1) },
  { pattern: words(`(?:(?:${EVERY})\\s+|що)${SET(NAMES)}`), rule: spelled },
  {
    pattern: words(
      `(?:(?:always|immer|toujours|siempre|sempre)\\s+)?(?:(?:always|immer|toujours|siempre|sempre)\\s+)?(?:(?:on|op|по|в|у|['’]s)\\s+)?${SET(HABIT_NAMES)}(?!${said.ONE_DAY})`,
    ),
    rule: spelled,
    isHabit: true,
  },
  {
    pattern: words(
      `(?:(?:on|from|von|du|de|da|van|с|з)\\s+)?(?<names>(?:${NAMES})(?:\\s+(?:${said.TO})\\s+|[-–—])(?:${NAMES}))`,
    ),
    rule: spelled,
    isHabit: true,
  },
  {
    pattern: new RegExp(`毎週?(?<names>${JAPANESE}(?:(?:[・、,と〜～-]|から)${JAPANESE})*)の?`, "u"),
    rule: ({ names = "" }) =>
      atTime(`* * ${weekdaysIn(names.replaceAll(/曜日?/g, ""), JAPANESE_DAYS, /から|[〜～-]/u).join(",")}`),
  },
  {
    pattern: new RegExp(
      `(?:每逢?|逢)${CHINESE_WEEK}(?<names>一三五|二四六|${CHINESE}(?:[、,，和及跟与與至到-]每?(?:${CHINESE_WEEK})?${CHINESE})*)${NO_COUNT}`,
      "u",
    ),
    rule: ({ names = "" }) =>
      atTime(`* * ${weekdaysIn(names.replaceAll("天", "日"), CHINESE_DAYS, /[至到-]/u).join(",")}`),
  },
  ...(["week", "month", "year"] as const).map((per) => ({
    pattern: words(said.PER[per]),
    rule: () => oncePer(per),
  })),
  { pattern: /[毎每]年/u, rule: () => oncePer("year") },
  ...(["week", "month", "year"] as const).map((per) => ({
    pattern: words(said.PER_HABITS[per]),
    rule: () => oncePer(per),
    isHabit: true as const,
  })),
]);

/** The recurrence that a text names; null: none. */
export function findRecurrence(text: string): SaidRecurrence | null {
  for (const { pattern, rule: ruleOf, isHabit = false } of forms()) {
    const found = pattern.exec(text);
    const rule = found === null ? null : ruleOf(found.groups ?? {});
    if (found === null || rule === null) continue;
    const [named] = found;
    const end = found.index + named.length;
    return {
      rule: "problem" in rule ? { problem: `"${named.trim()}" ${rule.problem}` } : rule,
      isHabit,
      words: named.trim(),
      before: text.slice(0, found.index),
      after: text.slice(end),
    };
  }
  return null;
}

function spelled({ names = "" }: Words): Rule {
  return atTime(`* * ${weekdaysIn(names.replaceAll("що", " "), spelledDays(), BETWEEN).join(",")}`);
}

function counted(
  count: string | undefined,
  rule: (count: number) => SaidRecurrence["rule"],
): SaidRecurrence["rule"] | null {
  const number = countOf(count ?? "");
  return number === null ? null : rule(number);
}

function everyMinutes(count: number): SaidRecurrence["rule"] {
  return count > 0 && 60 % count === 0 ? { ...atTime("* * *"), clock: `*/${count} *` } : UNEVEN;
}

function everyHours(count: number): SaidRecurrence["rule"] {
  return count > 0 && 24 % count === 0 ? { ...atTime("* * *"), clock: `0 */${count}` } : UNEVEN;
}

function monthly({ day, last }: Words): SaidRecurrence["rule"] {
  if (last !== undefined) return atTime("L * *");
  const number = day === undefined ? 1 : (countOf(day) ?? 0);
  return number >= 1 && number <= 31 ? atTime(`${number} * *`) : UNEVEN;
}

/**
 * Each weekday that is named, and those between two with a word of `to` between them.
 * @param weekdays global expressions, Sunday first
 */
function weekdaysIn(names: string, weekdays: readonly RegExp[], to: RegExp): number[] {
  const found = weekdays
    .flatMap((name, day) =>
      [...names.matchAll(name)].map((match) => ({
        day,
        at: match.index,
        end: match.index + match[0].length,
      })),
    )
    .toSorted((a, b) => a.at - b.at);
  const days = new Set<number>();
  let before: { readonly day: number; readonly end: number } | null = null;
  for (const one of found) {
    if (before !== null && to.test(names.slice(before.end, one.at)))
      for (let day = before.day; day !== one.day; day = (day + 1) % 7) days.add(day);
    days.add(one.day);
    before = one;
  }
  return [...days].toSorted((a, b) => a - b);
}

const DAY_NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const NTH_NAMES: Readonly<Record<string, string>> = {
  "1": "first",
  "2": "second",
  "3": "third",
  "4": "fourth",
  L: "last",
};

/** A cron expression in words. One that a text never makes is quoted. */
export function describeRecurrence(cron: string): string {
  const [minute = "", hour = "", day = "", month = "", weekdays = ""] = cron.trim().split(/\s+/);
  const every = /^\*\/(\d+)$/;
  const [, minutes] = every.exec(minute) ?? [];
  if (minutes !== undefined && `${hour} ${day} ${month} ${weekdays}` === "* * * *")
    return `every ${minutes} minutes`;
  const [, hours] = every.exec(hour) ?? [];
  if (hours !== undefined && `${minute} ${day} ${month} ${weekdays}` === "0 * * *")
    return hours === "1" ? "every hour" : `every ${hours} hours`;
  const days = describeDays(day, month, weekdays);
  return days === null || !/^\d{1,2} \d{1,2}$/.test(`${minute} ${hour}`)
    ? `as "${cron}" says`
    : `${days} at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
}

function describeDays(day: string, month: string, weekdays: string): string | null {
  const monthName = MONTH_NAMES[Number(month) - 1];
  if (monthName !== undefined && /^\d+$/.test(day) && weekdays === "*")
    return `every year on ${day} ${monthName}`;
  if (month !== "*") return null;
  if (`${day} ${weekdays}` === "* *") return "every day";
  if (`${day} ${weekdays}` === "* 1-5") return "Monday to Friday";
  if (`${day} ${weekdays}` === "L *") return "on the last day of each month";
  const [, weekday = "", which = ""] = /^([0-6])#([1-4L])$/.exec(weekdays) ?? [];
  if (day === "*" && weekday !== "")
    return `on the ${NTH_NAMES[which]} ${DAY_NAMES[Number(weekday)]} of each month`;
  if (day === "*" && /^[0-6](?:,[0-6])*$/.test(weekdays))
    return `every ${weekdays
      .split(",")
      .map((one) => DAY_NAMES[Number(one)])
      .join(" and ")}`;
  return /^\d+$/.test(day) && weekdays === "*" ? `on day ${day} of each month` : null;
}

const FIRST_EVERY = words(`^\\W*(?:on )?(?:${EVERY})`);
const LAST_EVERY = words(`(?:${EVERY})(?=\\s*$)`);
const SEVERAL = new RegExp(
  String.raw`^\s*(?:,\s*)?(?:${said.AND_WORDS})\s+(?:(?:at|on|am|um|à|le|a las|alle|às|om|в|о)\s+)?(?:\d{1,2}(?![\d\s]*\p{L}{4})|(?:${NAMES})(?![\p{L}\p{N}]))`,
  "iu",
);
const LIMITS = words(`^\\W*(?:${said.LIMITS})`);

/** Before a date: "every december 1". */
export function endsInEvery(before: string): boolean {
  return LAST_EVERY.test(before);
}

export function withoutEvery(before: string): string {
  return before.replace(LAST_EVERY, "");
}

/**
 * Finds what the reader of a recurrence has left out around a time: a second time, or a word for "every" that fits no form.
 * @param time as it was said
 */
export function unread(before: string, after: string, time = ""): string | null {
  if (SEVERAL.test(after))
    return 'these are several times: set each by itself, or several days at one time ("every monday and thursday at 9")';
  const start = before.trim();
  const isEvery =
    LAST_EVERY.test(start) ||
    (FIRST_EVERY.test(start) && start.split(/\s+/).length <= 4) ||
    /^[毎每逢]|[毎每逢]$/u.test(start);
  return isEvery ? `"${`${start} ${time}`.trim()}" is no rule of a schedule; ${WHAT_RECURS}` : null;
}

/** Whether a recurrence goes on with an exception, a beginning or an end. */
export function isLimited(after: string): boolean {
  return LIMITS.test(after);
}
