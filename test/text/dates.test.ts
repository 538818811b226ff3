import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readSaidTime, type SaidTime } from "../../src/text/dates.ts";

/** A Saturday, 19:30 in Berlin. */
const NOW = new Date("2026-11-28T18:30:00Z");

async function read(text: string, zone = "Europe/Berlin", now = NOW): Promise<SaidTime> {
  const said = await readSaidTime(text, zone, now);
  assert.ok(said !== null && !("problem" in said), text);
  return said;
}

describe("a time that somebody says", () => {
  const cases: readonly [said: string, at: string, rest: string][] = [
    ["tomorrow at 9 call Bob", "2026-11-29 09:00", "call Bob"],
    ["9am go", "2026-11-29 09:00", "go"],
    ["9:00 pm call", "2026-11-28 21:00", "call"],
    ["9:00 tomorrow call", "2026-11-29 09:00", "call"],
    ["next friday 14:00 x", "2026-12-04 14:00", "x"],
    ["in 2 hours x", "2026-11-28T20:30:00.000Z", "x"],
    ["call Bob tomorrow at 9", "2026-11-29 09:00", "call Bob"],
    ["me in 20 minutes to take the bread out", "2026-11-28T18:50:00.000Z", "take the bread out"],
    ["yesterday at 5 x", "2026-11-27 05:00", "x"],
    ["at 9am EST x", "2026-11-29T14:00:00.000Z", "x"],
    ["tomorrow morning run", "2026-11-29 06:00", "run"],
    ["nächsten Freitag um 14 Uhr x", "2026-12-04 14:00", "x"],
    ["in 2 Stunden x", "2026-11-28T20:30:00.000Z", "x"],
    ["morgen um 9 Bob anrufen", "2026-11-29 09:00", "Bob anrufen"],
    ["le 3 décembre à midi payer", "2026-12-03 12:00", "payer"],
    ["mañana a las 9 x", "2026-11-29 09:00", "x"],
    ["domani alle 9 x", "2026-11-29 09:00", "x"],
    ["amanhã às 9h x", "2026-11-29 09:00", "x"],
    ["em 2 horas x", "2026-11-28T20:30:00.000Z", "x"],
    ["morgen om 9 uur x", "2026-11-29 09:00", "x"],
    ["明日9時に電話", "2026-11-29 09:00", "電話"],
    ["明天上午9点打电话", "2026-11-29 09:00", "打电话"],
    ["завтра в 9 позвонить", "2026-11-29 09:00", "позвонить"],
    ["завтра о 9 x", "2026-11-29 09:00", "x"],
  ];
  test("is read in each language by the clock of the zone, beside the rest of the text", async () => {
    for (const [said, at, rest] of cases) {
      const found = await read(said);
      assert.deepEqual([found.at, found.rest, found.isDayOnly, found.cron], [at, rest, false, null], said);
    }
  });

  test("is of the day in the zone, and a length of time goes over a change of the clock", async () => {
    assert.equal((await read("tomorrow at 9 x", "Asia/Tokyo")).at, "2026-11-30 09:00");
    const before = new Date("2026-10-24T20:00:00Z");
    assert.equal((await read("in 10 hours x", "Europe/Berlin", before)).at, "2026-10-25T06:00:00.000Z");
  });

  test("is nine in the morning where only a day is said, and may be day or month first", async () => {
    assert.partialDeepStrictEqual(await read("monday x"), { at: "2026-11-30 09:00", isDayOnly: true });
    assert.partialDeepStrictEqual(await read("3/4 at 5pm x"), { at: "2027-03-04 17:00", isAmbiguous: true });
  });

  test("is none in other texts", async () => {
    for (const text of ["call Bob about the rent", "buy 5 apples", `${"x ".repeat(600)}tomorrow at 9`])
      assert.equal(await readSaidTime(text, "Europe/Berlin", NOW), null, text);
  });
});

const RECURRING: readonly [said: string, cron: string, rest: string, isDayOnly?: true][] = [
  ["every day at 9 drink", "0 9 * * *", "drink"],
  ["drink water every day at 9:30", "30 9 * * *", "drink water"],
  ["every weekday at 9:30 standup", "30 9 * * 1-5", "standup"],
  ["every monday and thursday at 10 x", "0 10 * * 1,4", "x"],
  ["every 2 hours drink", "0 */2 * * *", "drink"],
  ["every month on the 1st at 8am pay", "0 8 1 * *", "pay"],
  ["daily stretch", "0 9 * * *", "stretch", true],
  ["jeden Montag um 9 Uhr x", "0 9 * * 1", "x"],
  ["tous les jours à 9h x", "0 9 * * *", "x"],
  ["todos los días a las 9 x", "0 9 * * *", "x"],
  ["ogni giorno alle 9 x", "0 9 * * *", "x"],
  ["todo dia às 9h x", "0 9 * * *", "x"],
  ["elke dag om 9 uur x", "0 9 * * *", "x"],
  ["毎日9時に薬", "0 9 * * *", "薬"],
  ["毎週月曜10時 x", "0 10 * * 1", "x"],
  ["每天9点 x", "0 9 * * *", "x"],
  ["каждый день в 9 x", "0 9 * * *", "x"],
  ["кожен понеділок о 9", "0 9 * * 1", ""],
  ["щоп’ятниці о 18:30 x", "30 18 * * 5", "x"],
  ["ogni lunedì alle 9 x".normalize("NFD"), "0 9 * * 1", "x"],
  ["on mondays at 9 x", "0 9 * * 1", "x"],
  ["9am on mondays x", "0 9 * * 1", "x"],
  ["call Bob on mondays at 9", "0 9 * * 1", "call Bob"],
  ["weekdays at 9 x", "0 9 * * 1-5", "x"],
  ["every weekend x", "0 9 * * 0,6", "x", true],
  ["montags x", "0 9 * * 1", "x", true],
  ["immer montags 9 Uhr x", "0 9 * * 1", "x"],
  ["les lundis à 9h x", "0 9 * * 1", "x"],
  ["los lunes a las 9 x", "0 9 * * 1", "x"],
  ["il lunedì alle 9 x", "0 9 * * 1", "x"],
  ["às segundas às 9h x", "0 9 * * 1", "x"],
  ["op maandagen om 9 uur x", "0 9 * * 1", "x"],
  ["по понедельникам в 9 x", "0 9 * * 1", "x"],
  ["по понеділках о 9 x", "0 9 * * 1", "x"],
  ["毎月曜日9時に x", "0 9 * * 1", "x"],
  ["逢周一9点 x", "0 9 * * 1", "x"],
  ["the first of each month pay", "0 9 1 * *", "pay", true],
  ["every last day of the month x", "0 9 L * *", "x", true],
  ["am Ersten jedes Monats Miete", "0 9 1 * *", "Miete", true],
  ["chaque mois le 5 à 9h x", "0 9 5 * *", "x"],
  ["el 1 de cada mes a las 10 pagar", "0 10 1 * *", "pagar"],
  ["il primo di ogni mese alle 9 x", "0 9 1 * *", "x"],
  ["todo dia 5 pagar", "0 9 5 * *", "pagar", true],
  ["elke maand op de 5e x", "0 9 5 * *", "x", true],
  ["1-го числа каждого месяца в 9 x", "0 9 1 * *", "x"],
  ["щомісяця 5-го о 9 x", "0 9 5 * *", "x"],
  ["毎月1日9時 x", "0 9 1 * *", "x"],
  ["每月最后一天 x", "0 9 L * *", "x", true],
  ["on the first monday of each month at 9 x", "0 9 * * 1#1", "x"],
  ["am letzten Freitag im Monat um 17 Uhr Bier", "0 17 * * 5#L", "Bier"],
  ["every december 1 pay", "0 9 1 12 *", "pay", true],
  ["jährlich am 1. Dezember zahlen", "0 9 1 12 *", "zahlen", true],
  ["weekly on monday at 9 x", "0 9 * * 1", "x"],
  ["once a day at 9 x", "0 9 * * *", "x"],
  ["einmal pro Woche am Montag um 9 x", "0 9 * * 1", "x"],
  ["every evening at 7 x", "0 19 * * *", "x"],
  ["jeden Morgen x", "0 9 * * *", "x"],
  ["毎晩7時 x", "0 19 * * *", "x"],
  ["every two hours x", "0 */2 * * *", "x"],
  ["toutes les deux heures x", "0 */2 * * *", "x"],
  ["jeden Tag um halb neun x", "30 8 * * *", "x"],
  ["every day read tomorrow's plan", "0 9 * * *", "read tomorrow's plan", true],
  ["毎週月・木曜日の9時に会議", "0 9 * * 1,4", "会議"],
];

test("a recurrence that somebody says is a cron expression with its time of day", async () => {
  for (const [said, cron, rest, isDayOnly = false] of RECURRING) {
    const found = await read(said);
    assert.deepEqual(
      [found.cron, found.rest, found.isDayOnly, found.at],
      [cron, rest, isDayOnly, null],
      said,
    );
  }
});

test("a recurrence that cannot be kept is refused with a sentence that says what works", async () => {
  for (const said of [
    "every other monday at 9 x",
    "every second tuesday x",
    "alle zwei Wochen um 9 x",
    "un lundi sur deux à 9h x",
    "cada dos semanas x",
    "隔週月曜9時 x",
    "毎週9時 x",
    "every 3 days x",
    "biweekly sync",
    "every payday at 9 x",
    "every week at 9 x",
    "once a week x",
    "twice a day at 9 x",
    "zweimal am Tag x",
    "next week every day at 9 x",
    "every last friday at 5pm x",
    "monthly report at 9",
    "daily standup tomorrow at 9",
    "every day except sunday at 9 x",
    "every day at 9 until friday x",
    "every monday at 9 starting next week x",
  ]) {
    const found = await readSaidTime(said, "Europe/Berlin", NOW);
    const problem = found !== null && "problem" in found ? found.problem : "";
    assert.match(problem, /these work: "every day at 9"/, said);
  }
  for (const [said, why] of [
    ["every 7 hours x", /^"every 7 hours" does not fit evenly/],
    ["monday at 9 and thursday at 9 x", /several times/],
    ["every day at 9 am and 6 pm x", /several times/],
  ] as const) {
    const found = await readSaidTime(said, "Europe/Berlin", NOW);
    assert.match(found !== null && "problem" in found ? found.problem : "", why, said);
  }
});

test("words of a recurrence within the text that is to be said are no recurrence", async () => {
  for (const [said, at, rest] of [
    ["tomorrow at 9 daily standup", "2026-11-29 09:00", "daily standup"],
    ["tomorrow at 9 buy the weekly paper", "2026-11-29 09:00", "buy the weekly paper"],
    ["tomorrow at 9 take pills twice a day", "2026-11-29 09:00", "take pills twice a day"],
    ["tell every member tomorrow at 9", "2026-11-29 09:00", "tell every member"],
    ["tomorrow at 9 tell all of every monday's news", "2026-11-29 09:00", "tell all of every monday's news"],
    ["el lunes a las 9 x", "2026-11-30 09:00", "x"],
    ["le lundi 7 décembre à 9h x", "2026-12-07 09:00", "x"],
    ["am Montag um 9 x", "2026-11-30 09:00", "x"],
  ] as const) {
    const found = await read(said);
    assert.deepEqual([found.at, found.cron, found.rest], [at, null, rest], said);
  }
  assert.equal(await readSaidTime("buy flour for mondays", "Europe/Berlin", NOW), null);
});
