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
    ])
      assert.equal(hasRelativeDate(statement), false, statement);
  });
});
