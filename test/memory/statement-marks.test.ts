import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { marksOf } from "../../src/memory/statement-marks.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

const CASES: readonly [statement: string, marks: string, about: string][] = [
  ["The deploy is on Friday.", "@friday ^the", "deploy is on the"],
  ["Ann lives in Berlin.", "@berlin ^ann", "ann in live"],
  ["ann doesn't like tea", "x:1", "ann like tea"],
  ["Friday is the deadline", "@friday", "deadline is the"],
  ["The port of db_main is 5432, not 5,433.", "@db_main ^the n:5,433 n:5432 x:1", "is of port the"],
  ["The deadline is 2026-12-01 at 9:30", "^the d:2026-12-01 n:9:30", "at deadline is the"],
  ["three geese", "n:3", "geese"],
  ["Ann also speaks French", "@french ^ann", ""],
  ["", "", ""],
  ["\u0000\ud800 🦆", "", ""],
];

describe("the marks of a statement", () => {
  for (const [statement, marks, about] of CASES)
    test(`are what counts in "${statement}"`, () => {
      const found = marksOf(statement);
      assert.equal(found.marks.join(" "), marks);
      assert.equal(found.about.join(" "), about);
    });

  test("are weekdays, names in katakana and negations in scripts without spaces, and all else is compared by pairs", () => {
    const [wednesday, thursday] = [marksOf("会議は水曜日です"), marksOf("会議は木曜日ではない")];
    assert.ok(wednesday.marks.includes("@水曜") && thursday.marks.includes("@木曜"));
    assert.ok(thursday.marks.includes("x:1") && !wednesday.marks.includes("x:1"));
    assert.ok(wednesday.about.includes("会議") && wednesday.marks.includes("^会議"));
    assert.ok(marksOf("アンは東京に住む").marks.includes("@アン"));
  });
});

test("the slots of a statement are what takes one value of most things, and that something has changed", () => {
  for (const [statement, slots, about] of [
    ["Ann speaks German", "", "ann speak"],
    ["The deploy is on Friday, and not in June", "@friday @june x:1", "and deploy in is on the"],
    ["The port is 5432 since 2026-12-01", "d:2026-12-01 n:5432", "is port since the"],
    ["Ann now lives in Hamburg", "c:", "ann in live"],
    ["Ann no longer eats meat", "c: e:ann e:eats e:meat x:1", "ann eat meat"],
    ["Ann doesn't eat meat anymore", "c: e:ann e:eat e:meat x:1", "ann eat meat"],
    ["We ship on Monday instead", "@monday c:", "on ship we"],
    ["会議は木曜日になった", "@木曜 c:", marksOf("会議は木曜日になった").about.join(" ")],
  ] as const) {
    const found = marksOf(statement);
    assert.deepEqual([found.slots.join(" "), found.about.join(" ")], [slots, about], statement);
  }
});

const anything = fc.string({ unit: anyCharacter, maxLength: 300 });
const word = fc.constantFrom(
  "the",
  "deploy",
  "is",
  "on",
  "at",
  "Ann",
  "Berlin",
  "12",
  "not",
  "鴨池",
  "2026-12-01",
  "friday",
);
const statement = fc.array(word, { maxLength: 12 }).map((words) => words.join(" "));

test("marks are each there once, in order, the same for the same words, and small enough for any text", () => {
  fc.assert(
    fc.property(fc.oneof(anything, statement), (text) => {
      const { marks, about, slots } = marksOf(text);
      for (const list of [marks, about, slots]) assert.deepEqual(list, [...new Set(list)].toSorted());
      assert.deepEqual(marksOf(text), { marks, about, slots });
      assert.ok(
        marks.every((mark) => /^(?:[dnx]:|[@^])./su.test(mark)),
        marks.join(" "),
      );
    }),
  );
});

test("white space and a full stop change no marks, another number, name or negation does", () => {
  fc.assert(
    fc.property(statement, fc.constantFrom("77", "Zanzibar", "never"), (text, more) => {
      const { marks } = marksOf(`so ${text}`);
      assert.deepEqual(marksOf(`  so   ${text.replaceAll(" ", "  ")}. `).marks, marks);
      assert.notDeepEqual(marksOf(`so ${text} ${more}`).marks, marks);
    }),
  );
});

test("which is preferred to which makes another statement", () => {
  for (const [one, other] of [
    ["Ann prefers tea to coffee", "Ann prefers coffee to tea"],
    ["Ann likes tea more than coffee", "Ann likes coffee more than tea"],
    ["Timo trinkt lieber Tee als Kaffee", "Timo trinkt lieber Kaffee als Tee"],
    ["Inés prefiere el té que el café", "Inés prefiere el café que el té"],
    ["千早はコーヒーより紅茶が好き", "千早は紅茶よりコーヒーが好き"],
  ] as const) {
    assert.notDeepEqual(marksOf(one).marks, marksOf(other).marks, one);
    assert.deepEqual(marksOf(`${one}.`).marks, marksOf(one).marks);
  }
});

test("a long text costs no more than a short one", () => {
  const ms = cpuMs(() => {
    marksOf("ann ".repeat(500_000));
    marksOf("鴨".repeat(500_000));
  });
  assert.ok(ms < 1000, `${ms} ms`);
});
