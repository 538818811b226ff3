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

test("a recurrence that somebody says is a cron expression with its time of day", async () => {
  const cases: readonly [said: string, cron: string, rest: string, isDayOnly?: true][] = [
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
  ];
  for (const [said, cron, rest, isDayOnly = false] of cases) {
    const found = await read(said);
    assert.deepEqual(
      [found.cron, found.rest, found.isDayOnly, found.at],
      [cron, rest, isDayOnly, null],
      said,
    );
  }
  const uneven = await readSaidTime("every 7 hours x", "Europe/Berlin", NOW);
  assert.match(
    uneven !== null && "problem" in uneven ? uneven.problem : "",
    /^"every 7 hours" does not fit evenly/,
  );
});
