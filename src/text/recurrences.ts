/** Recurrences in the words of people ("every day", "jeden Montag", "毎日"). Pure. */

/** A recurrence without its time of day, and the text without its words. */
export interface SaidRecurrence {
  /** Fields of a cron expression after minute and hour: day of the month, month, day of the week. */
  readonly days: string;
  /** Minute and hour, where the recurrence itself has them ("every two hours"); null: it comes at a time of day. */
  readonly clock: string | null;
  /** The text before and after its words. */
  readonly before: string;
  readonly after: string;
}

const DAILY = `every ?day|each day|daily|jeden tag|täglich|tous les jours|chaque jour|todos los días|cada día|ogni giorno|tutti i giorni|
  todos os dias|todo dia|elke dag|iedere dag|dagelijks|каждый день|ежедневно|щодня`;
const WORKDAYS = `(?:every|each) (?:week|work|working ?)day|on (?:week|work)days|jeden werktag|werktags|chaque jour ouvré|en semaine|
  cada día laborable|ogni giorno feriale|todos os dias úteis|elke werkdag|каждый будний день|по будням`;
const EVERY =
  "every|each|jede[nrs]?|chaque|tous les|cada|todos los|todas las|ogni|toda|todo|todas as|elke|iedere|кажд(?:ый|ую|ое)|щo?";
/** In the order of cron: Sunday is 0. */
const WEEKDAYS = [
  "sundays?|sun|sonntag|dimanches?|domingos?|domenica|zondag|воскресенье|неділю",
  "mondays?|mon|montag|lundis?|lunes|lunedì|segundas?(?:-feira)?|maandag|понедельник|понеділок",
  "tuesdays?|tues?|dienstag|mardis?|martes|martedì|terças?(?:-feira)?|dinsdag|вторник|вівторок",
  "wednesdays?|wed|mittwoch|mercredis?|miércoles|mercoledì|quartas?(?:-feira)?|woensdag|среду|середу",
  "thursdays?|thurs?|thu|donnerstag|jeudis?|jueves|giovedì|quintas?(?:-feira)?|donderdag|четверг|четвер",
  "fridays?|fri|freitag|vendredis?|viernes|venerdì|sextas?(?:-feira)?|vrijdag|пятницу|п'ятницю",
  "saturdays?|sat|samstag|sonnabend|samedis?|sábados?|sabato|zaterdag|субботу|суботу",
];
const NAMES = WEEKDAYS.join("|");
const AND = String.raw`(?:\s*,\s*|\s+)(?:(?:and|und|et|y|e|en|и|й|та)\s+)?(?:(?:every|jeden|chaque|cada|ogni|elke)\s+)?`;
const MINUTES = "min|mins|minutes?|minuten|minutos|minuti|минут[уы]?|хвилин[иу]?";
const HOURS = "h|hours?|stunden|heures?|horas?|ore|uur|час(?:а|ов)?|годин[иу]?";
const ALL = "every|alle|toutes les|cada|ogni|a cada|elke|кажды[ей]|кожн[іу]";
const COUNT = String.raw`(?<count>\d{1,2})`;

/** As whole words; a line break in the pattern is none of it. */
function words(pattern: string): RegExp {
  const joined = pattern
    .split("\n")
    .map((line) => line.trim())
    .join("");
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${joined})(?![\\p{L}\\p{N}])`, "iu");
}

interface Form {
  readonly pattern: RegExp;
  /** Null: it cannot be said as a cron expression. */
  readonly cron: (
    found: Readonly<Record<string, string | undefined>>,
  ) => Pick<SaidRecurrence, "days" | "clock"> | null;
}

const atTime = (days: string) => ({ days, clock: null });

const UNEVEN =
  "an hour or a day: take 5, 6, 10, 12, 15, 20 or 30 minutes, or 1, 2, 3, 4, 6, 8 or 12 hours, and a day of 1 to 31";

/** The first that fits counts. */
const FORMS: readonly Form[] = [
  { pattern: words(WORKDAYS), cron: () => atTime("* * 1-5") },
  { pattern: /平日|工作日/u, cron: () => atTime("* * 1-5") },
  { pattern: words(DAILY), cron: () => atTime("* * *") },
  { pattern: /毎日|每天|每日/u, cron: () => atTime("* * *") },
  {
    pattern: words(
      "every hour|hourly|stündlich|jede stunde|toutes les heures|cada hora|ogni ora|elk uur|каждый час",
    ),
    cron: () => everyHours(1),
  },
  { pattern: words(`(?:${ALL}) ${COUNT} ?(?:${MINUTES})`), cron: ({ count }) => everyMinutes(Number(count)) },
  { pattern: words(`(?:${ALL}) ${COUNT} ?(?:${HOURS})`), cron: ({ count }) => everyHours(Number(count)) },
  {
    pattern: words(
      String.raw`(?:every month|monthly) on the (?<day>\d{1,2})(?:st|nd|rd|th)?|(?:jeden monat )?am (?<day>\d{1,2})\.? jede[ns] monats?|jeden monat am (?<day>\d{1,2})\.?|
        le (?<day>\d{1,2}) (?:de )?chaque mois|el (?:día )?(?<day>\d{1,2}) de cada mes|il (?<day>\d{1,2}) (?:di )?ogni mese`,
    ),
    cron: ({ day }) => monthly(Number(day)),
  },
  { pattern: /(?:毎月|每月)(?<day>\d{1,2})[日号號]/u, cron: ({ day }) => monthly(Number(day)) },
  {
    pattern: words(`(?:${EVERY})\\s+(?<names>(?:${NAMES})(?:${AND}(?:${NAMES}))*)`),
    cron: ({ names = "" }) => atTime(`* * ${weekdaysIn(names).join(",")}`),
  },
  {
    pattern: /毎週(?<name>[日月火水木金土])曜日?/u,
    cron: ({ name = "" }) => atTime(`* * ${"日月火水木金土".indexOf(name)}`),
  },
  {
    pattern: /每(?:个|個)?(?:星期|周|週|礼拜)(?<name>[日一二三四五六天])/u,
    cron: ({ name = "" }) => atTime(`* * ${"日一二三四五六".indexOf(name === "天" ? "日" : name)}`),
  },
];

/** The recurrence that a text names; null: none. A problem, as a part of a sentence: it cannot come evenly. */
export function findRecurrence(text: string): SaidRecurrence | { readonly problem: string } | null {
  for (const { pattern, cron } of FORMS) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const days = cron(found.groups ?? {});
    const end = found.index + found[0].length;
    if (days === null) return { problem: `"${found[0]}" does not fit evenly into ${UNEVEN}` };
    return { ...days, before: text.slice(0, found.index), after: text.slice(end) };
  }
  return null;
}

function everyMinutes(count: number): ReturnType<Form["cron"]> {
  return count > 0 && 60 % count === 0 ? { days: "* * *", clock: `*/${count} *` } : null;
}

function everyHours(count: number): ReturnType<Form["cron"]> {
  return count > 0 && 24 % count === 0 ? { days: "* * *", clock: `0 */${count}` } : null;
}

function monthly(day: number): ReturnType<Form["cron"]> {
  return day >= 1 && day <= 31 ? atTime(`${day} * *`) : null;
}

function weekdaysIn(names: string): number[] {
  return WEEKDAYS.flatMap((name, day) => (words(name).test(names) ? [day] : []));
}

const DAY_NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/** A cron expression in words. One that {@link findRecurrence} never makes is quoted. */
export function describeRecurrence(cron: string): string {
  const [minute = "", hour = "", day = "", month = "", weekdays = ""] = cron.trim().split(/\s+/);
  const every = /^\*\/(\d+)$/;
  const asIs = `as "${cron}" says`;
  if (month !== "*") return asIs;
  const [, minutes] = every.exec(minute) ?? [];
  if (minutes !== undefined && `${hour} ${day} ${weekdays}` === "* * *") return `every ${minutes} minutes`;
  const [, hours] = every.exec(hour) ?? [];
  if (hours !== undefined && `${minute} ${day} ${weekdays}` === "0 * *")
    return hours === "1" ? "every hour" : `every ${hours} hours`;
  if (!/^\d{1,2} \d{1,2}$/.test(`${minute} ${hour}`)) return asIs;
  const time = `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}`;
  if (`${day} ${weekdays}` === "* *") return `every day ${time}`;
  if (`${day} ${weekdays}` === "* 1-5") return `Monday to Friday ${time}`;
  if (day === "*" && /^[0-6](?:,[0-6])*$/.test(weekdays))
    return `every ${weekdays
      .split(",")
      .map((one) => DAY_NAMES[Number(one)])
      .join(" and ")} ${time}`;
  return /^\d+$/.test(day) && weekdays === "*" ? `on day ${day} of each month ${time}` : asIs;
}
