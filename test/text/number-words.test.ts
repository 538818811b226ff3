import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { numbersIn } from "../../src/text/number-words.ts";

suite("the numbers of a text", () => {
  const cases: readonly [text: string, number: string][] = [
    ["2,000 chairs", "2000"],
    ["two thousand chairs", "2000"],
    ["2 thousand chairs", "2000"],
    ["2k chairs", "2000"],
    ["1.5 million", "1500000"],
    ["three hundred", "300"],
    ["zwei tausend Stühle", "2000"],
    ["2万円", "20000"],
    ["八万円", "80000"],
    ["三億二千万円", "320000000"],
    ["3 Milliarden", "3000000000"],
    ["twenty five", "25"],
    ["14:05", "5"],
  ];
  for (const [text, number] of cases)
    test(`has ${number} in: ${text}`, () =>
      assert.ok(numbersIn(text).has(number), [...numbersIn(text)].join()));

  test("has no product of what only stands side by side", () => {
    assert.deepEqual([...numbersIn("room 12, hundred chairs")], ["12", "100"]);
    assert.deepEqual([...numbersIn("v2.3k8 and abc2k")], ["2.3", "8", "2"]);
  });

  test("has what is surely meant alone, if it is read strictly", () => {
    assert.deepEqual([...numbersIn("two thousand", true)], ["2000"]);
    assert.deepEqual([...numbersIn("5 m and 3 million", true)], ["3000000", "5"]);
    assert.deepEqual([...numbersIn("千葉の二人が八万円で三匹を一番に", true)], ["2", "80000", "3"]);
  });
});
