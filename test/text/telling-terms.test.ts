// proves: src/text/terms.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { tellingTerms, withoutTerms } from "../../src/text/terms.ts";
import { cpuMs } from "../support/cpu-time.ts";

/** Do two texts share a term by which one tells the other? */
function share(one: string, other: string): boolean {
  return !tellingTerms(one).isDisjointFrom(tellingTerms(other));
}

test("a text is told by its words, numbers and identifiers, however they are written", () => {
  for (const [one, other] of [
    ["the PIN is 4711", '{"query":"pin"}'],
    ["it is PIN4711", "Ann's code: 4711"],
    ["call 0171 / 555-12", "Ann has the number 017155512."],
    ["Ann loves pineapples", "the password is Pineapple"],
    ["api_key_zxq", "the key of the API"],
    ["ＺＸＱ", "zxq"],
    ["the PIN is 𝟒𝟕𝟙𝟷", "4711"],
    ["the PIN is 𝟜𝟩𝟭𝟏", "4711"],
    ["合言葉は桜の木", "桜の木を植えた"],
    ["she was born on 1990-05-12", "1990-05-12"],
  ] as const)
    assert.ok(share(one, other), `${one} / ${other}`);
});

test("a text is not told by what every text has, nor by the day of an absolute date", () => {
  for (const [one, other] of [
    ["that is what I said to you", "and who are you to say so"],
    ["On 2026-11-21 Ann moved.", "there were 21 guests"],
    ["the reading was 7", "17 and 70"],
    ["the PIN is 𝟜𝟟𝟙𝟙", "9999"],
  ] as const)
    assert.ok(!share(one, other), `${one} / ${other}`);
});

test("the terms of a text cost as much as it is long, whatever it is made of", () => {
  for (const one of ["1", "1 ", "1---", "a_1", "a1", "東京"]) {
    const text = one.repeat(100_000 / one.length);
    assert.ok(cpuMs(() => tellingTerms(text)) < 1500, one);
  }
});

test("a word with a character inside that nobody sees is the same word", () => {
  for (const one of ["zxq\u200Bpine", "zxq\u00ADpine", "zxq\u2060pine"]) {
    assert.ok(tellingTerms(one).has("zxqpin") || tellingTerms(one).has("zxqpine"), JSON.stringify(one));
    assert.ok(!tellingTerms(one).isDisjointFrom(tellingTerms("zxqpine")));
  }
  // As memories of a version before have them.
  assert.ok(tellingTerms("zxq\u200Bpine").has("zxq"));
});

test("a text loses the sentences that have a term, and keeps its lines", () => {
  const text = "# Rowing\n- They rowed. The safe is 4711.\n- Code 4711.\nIt rained.";
  assert.equal(withoutTerms(text, new Set(["4711"])), "# Rowing\n- They rowed.\nIt rained.");
  assert.equal(withoutTerms(text, new Set(["heron"])), text);
  assert.equal(withoutTerms("Code 4711.", new Set(["4711"])), "");
  // Its parts are told apart, and are one number side by side.
  assert.equal(withoutTerms("Dial 47\n11 now", new Set(["4711"])), "Dial 47\n11 now");
  assert.equal(withoutTerms("Dial 47. 11 is next.\nIt rained.", new Set(["4711"])), "It rained.");
});
