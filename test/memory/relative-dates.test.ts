import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { hasRelativeDate } from "../../src/memory/relative-dates.ts";

describe("a statement needs absolute dates", () => {
  const relative = [
    "Ann flies tomorrow.",
    "Ann's birthday was yesterday",
    "They meet next Friday",
    "They met last week.",
    "Ann moved two years ago",
    "Ann fliegt übermorgen",
    "Ben kommt morgen",
    "Sie treffen sich nächste Woche",
    "Elle part demain",
    "Ils se voient la semaine prochaine",
    "Aujourd’hui elle part",
    "Il est parti hier",
    "Ella viaja mañana",
    "Se vieron la semana pasada",
    "会議は明日です",
    "来週会います",
    "他们下周见面",
    "안은 내일 떠난다",
    "Ann moves in two weeks",
    "Ann moves in a fortnight.",
    "The contract ends in 90 days",
    "Ann zieht in zwei Wochen um",
    "Ben kam vor drei Monaten",
    "Elle part dans deux semaines",
    "Il est parti il y a trois jours",
    "Ella viaja en dos semanas",
    "Se mudó hace 3 meses",
    "Parte tra due settimane",
    "Ela viaja amanhã",
    "Она уезжает через две недели",
    "千早は2週間後に引っ越す",
    "健太は三日前に来た",
    "他两周后搬家",
    "안은 2주 후에 떠난다",
  ];
  for (const statement of relative) {
    test(statement, () => {
      assert.equal(hasRelativeDate(statement), true);
      assert.equal(hasRelativeDate(`${statement} (2026-11-22)`), false);
    });
  }

  test("and is left alone where it only looks as if it had none", () => {
    for (const statement of [
      "Ann lives in Morgantown",
      "Ann läuft am Morgen",
      "Ben arbeitet hier",
      "Ella corre por la mañana",
      "The weekly meeting is on Fridays",
      "The pump runs 90 days a year",
      "Ann hat drei Tage Urlaub",
      "Ella trabaja tres días por semana",
      "健太は三日間休む",
    ])
      assert.equal(hasRelativeDate(statement), false, statement);
  });
});
