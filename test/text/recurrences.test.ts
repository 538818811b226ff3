// proves: src/text/recurrences.ts, src/text/recurrence-words.ts
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { describeRecurrence, findRecurrence } from "../../src/text/recurrences.ts";

test("a recurrence is described in words, and another expression stands as it is", () => {
  for (const [cron, words] of [
    ["0 9 * * *", "every day at 09:00"],
    ["30 18 * * 1-5", "Monday to Friday at 18:30"],
    ["0 9 * * 1,4", "every Monday and Thursday at 09:00"],
    ["5 8 1 * *", "on day 1 of each month at 08:05"],
    ["*/15 * * * *", "every 15 minutes"],
    ["0 */2 * * *", "every 2 hours"],
    ["0 */1 * * *", "every hour"],
    ["0 9 1 1 *", "every year on 1 January at 09:00"],
    ["0 9 L * *", "on the last day of each month at 09:00"],
    ["0 9 * * 1#1", "on the first Monday of each month at 09:00"],
    ["0 9 * * 5#L", "on the last Friday of each month at 09:00"],
    ["0 9 1 * 1", 'as "0 9 1 * 1" says'],
    ["*/15 9 * * *", 'as "*/15 9 * * *" says'],
    ["0 9 * * mon", 'as "0 9 * * mon" says'],
  ] as const)
    assert.equal(describeRecurrence(cron), words);
});

test("the text around a recurrence is kept, and words within others are none", () => {
  assert.partialDeepStrictEqual(findRecurrence("a every day b"), {
    rule: { days: "* * *", clock: null },
    before: "a ",
    after: " b",
  });
  assert.partialDeepStrictEqual(findRecurrence("alle 15 Minuten x"), {
    rule: { days: "* * *", clock: "*/15 *" },
    before: "",
    after: " x",
  });
  for (const text of ["the sundial", "every sunrise", "Monday", "le lundi 7 décembre", "morgens"])
    assert.equal(findRecurrence(text), null, text);
  for (const text of ["every 7 minutes", "every other week", "alle zwei Wochen", "隔週", "каждые две недели"])
    assert.ok("problem" in (findRecurrence(`${text} x`)?.rule ?? {}), text);
});

/** How each language says "every", before which days (Sunday first) in which form. */
const SAID: Readonly<Record<string, readonly (readonly [every: readonly string[], days: string])[]>> = {
  English: [
    [["every", "each"], "Sunday Monday Tuesday Wednesday Thursday Friday Saturday"],
    [["every"], "Sun Mon Tue Wed Thu Fri Sat"],
  ],
  German: [[["jeden"], "Sonntag Montag Dienstag Mittwoch Donnerstag Freitag Samstag"]],
  French: [
    [["chaque"], "dimanche lundi mardi mercredi jeudi vendredi samedi"],
    [["tous les"], "dimanches lundis mardis mercredis jeudis vendredis samedis"],
  ],
  Spanish: [
    [["cada"], "domingo lunes martes miércoles jueves viernes sábado"],
    [["todos los"], "domingos lunes martes miercoles jueves viernes sabados"],
  ],
  Italian: [
    [["ogni"], "domenica lunedì martedì mercoledì giovedì venerdì sabato"],
    [["ogni"], "domenica lunedi martedi mercoledi giovedi venerdi sabato"],
    [["tutti i"], "- lunedì martedì mercoledì giovedì venerdì sabati"],
    [["tutte le"], "domeniche - - - - - -"],
  ],
  Portuguese: [
    [["todo"], "domingo - - - - - sábado"],
    [["todos os"], "domingos - - - - - sábados"],
    [["toda", "cada"], "- segunda terça quarta quinta sexta -"],
    [["toda"], "- segunda-feira terça-feira quarta-feira quinta-feira sexta-feira -"],
    [["todas as"], "- segundas terças quartas quintas sextas -"],
    [["todas as"], "- segundas-feiras terças-feiras quartas-feiras quintas-feiras sextas-feiras -"],
  ],
  Dutch: [[["elke", "iedere"], "zondag maandag dinsdag woensdag donderdag vrijdag zaterdag"]],
  Russian: [
    [["каждый"], "- понедельник вторник - четверг - -"],
    [["каждую"], "- - - среду - пятницу субботу"],
    [["каждое"], "воскресенье - - - - - -"],
  ],
  Ukrainian: [
    [["кожен", "кожний"], "- понеділок вівторок - четвер - -"],
    [["кожну"], "неділю - - середу - п'ятницю суботу"],
    [["кожну"], "- - - - - п’ятницю -"],
    [["кожну"], "- - - - - пʼятницю -"],
    [["кожного"], "- понеділка вівторка - четверга - -"],
    [["кожної"], "неділі - - середи - п'ятниці суботи"],
    [["що"], "неділі понеділка вівторка середи четверга п'ятниці суботи"],
  ],
  Japanese: [
    [["毎週"], "日曜日 月曜日 火曜日 水曜日 木曜日 金曜日 土曜日"],
    [["毎週"], "日曜 月曜 火曜 水曜 木曜 金曜 土曜"],
  ],
  Chinese: [
    [["每周", "每星期", "每个星期", "每週", "每個禮拜", "每逢周"], "日 一 二 三 四 五 六"],
    [["每星期", "每周"], "天 - - - - - -"],
  ],
};

test("each weekday is read behind each word for every, in each language", () => {
  for (const [language, forms] of Object.entries(SAID)) {
    const read = new Set<number>();
    for (const [everies, days] of forms)
      for (const every of everies)
        for (const [day, name] of days.split(" ").entries()) {
          if (name === "-") continue;
          read.add(day);
          const isJoined = every === "що" || language === "Japanese" || language === "Chinese";
          const said = `${every}${isJoined ? "" : " "}${name}`;
          const asked = isJoined && every !== "що" ? [`${said}9`, said] : [`${said} 9`, said.toUpperCase()];
          for (const text of asked) {
            const found = findRecurrence(text);
            assert.partialDeepStrictEqual(found, { rule: { days: `* * ${day}` }, before: "" }, text);
          }
        }
    assert.equal(read.size, 7, language);
  }
});

test("of several weekdays none is lost, and a range has those between", () => {
  for (const [said, days] of [
    ["every Monday, Wednesday and Friday", "1,3,5"],
    ["every Monday to Friday", "1,2,3,4,5"],
    ["every friday through monday", "0,1,5,6"],
    ["every Mon-Thu", "1,2,3,4"],
    ["jeden Montag und jeden Freitag", "1,5"],
    ["jeden Montag bis Freitag", "1,2,3,4,5"],
    ["tous les lundis et jeudis", "1,4"],
    ["todos los lunes y jueves", "1,4"],
    ["todas as segundas e quartas", "1,3"],
    ["ogni lunedì e ogni giovedì", "1,4"],
    ["elke maandag en donderdag", "1,4"],
    ["каждый понедельник и каждую среду", "1,3"],
    ["кожен понеділок і кожну середу", "1,3"],
    ["щопонеділка та щочетверга", "1,4"],
    ["on Mondays and Thursdays", "1,4"],
    ["montags und donnerstags", "1,4"],
    ["les lundis et jeudis", "1,4"],
    ["los lunes y jueves", "1,4"],
    ["il lunedì e giovedì", "1,4"],
    ["às segundas e quartas", "1,3"],
    ["maandags en donderdags", "1,4"],
    ["по понедельникам и четвергам", "1,4"],
    ["по понеділках і четвергах", "1,4"],
    ["Mon-Fri", "1,2,3,4,5"],
    ["lunes a viernes", "1,2,3,4,5"],
    ["毎月曜日", "1"],
    ["毎週月・木曜日", "1,4"],
    ["毎週月水金", "1,3,5"],
    ["毎週月曜日と木曜日", "1,4"],
    ["毎週月曜から金曜", "1,2,3,4,5"],
    ["每周一、周三和周五", "1,3,5"],
    ["每周一、三、五", "1,3,5"],
    ["每周一三五", "1,3,5"],
    ["每周一至周五", "1,2,3,4,5"],
  ] as const) {
    const found = findRecurrence(`${said} `.trimEnd());
    assert.partialDeepStrictEqual(found, { rule: { days: `* * ${days}` }, before: "", after: "" }, said);
  }
});

test("working days are no days of each kind, and what only begins like a weekday is none", () => {
  for (const said of [
    "todos los días laborables",
    "tutti i giorni feriali",
    "todos os dias úteis",
    "tous les jours ouvrables",
    "каждый рабочий день",
    "кожного робочого дня",
    "щобудня",
    "每个工作日",
  ])
    assert.partialDeepStrictEqual(
      findRecurrence(said),
      { rule: { days: "* * 1-5" }, before: "", after: "" },
      said,
    );
  for (const text of [
    "毎週水泳に行く",
    "毎週日本語の授業",
    "每周三次",
    "每周一个苹果",
    "скажи, що понеділок",
  ])
    assert.equal(findRecurrence(text), null, text);
  const friday = findRecurrence("每周五一点开会");
  assert.partialDeepStrictEqual(friday, { rule: { days: "* * 5" }, after: "一点开会" });
});

test("no word of the source mixes Latin and Cyrillic letters, which look alike", () => {
  const folder = path.join(import.meta.dirname, "../../src/text");
  for (const file of readdirSync(folder)) {
    const mixed = /(?<!\\)[a-z](?=\p{Script=Cyrillic})|\p{Script=Cyrillic}(?=[a-z])/iu.exec(
      readFileSync(path.join(folder, file), "utf8"),
    );
    assert.equal(mixed, null, `${file}: ${mixed?.input.slice(mixed.index - 20, mixed.index + 20)}`);
  }
});
