import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EntryReference } from "../../src/core/entry.ts";
import {
  asksForRecall,
  fittingLines,
  fittingResults,
  leastCoverage,
  wantedBy,
} from "../../src/memory/recall-worth.ts";

function said(seq: number, text: string | null, author = "Ben"): EntryReference {
  return { seq, at: new Date(0), author, text };
}

test("a question is shown all that is found, a statement what holds much of it", () => {
  for (const question of [
    "where is the key?",
    "鍵はどこ？",
    "أين المفتاح؟",
    " Where is it? And who has it? ",
  ])
    assert.equal(leastCoverage(question), 0);
  const whole = leastCoverage("the key is behind the door");
  assert.ok(whole > 0.2);
  assert.equal(leastCoverage("the key is on https://example.org/a?b=c"), whole, "a link asks nothing");
  const told = "The key is behind the door. The mill has been shut since May. ";
  const mixed = leastCoverage(`${told}Who has the other one?`);
  assert.ok(mixed > 0.2 && mixed < whole, "the more it tells, the more");
  assert.ok(leastCoverage(`${told.repeat(5)}Who has the other one?`) > mixed);
});

test("a text tells more than it asks, asks for one answer or for several", () => {
  for (const told of [
    "The key is behind the door.",
    "The key is behind the door, and the mill has been shut since May. Right?",
    "see https://example.org/who?all=1",
  ])
    assert.equal(wantedBy(told), "told", told);
  for (const one of [
    "where is the key?",
    "What does Ann like?",
    "What is Ann allergic to?",
    "When did Ben leave?",
    "Wo ist der Schlüssel?",
    "鍵はどこ？",
  ])
    assert.equal(wantedBy(one), "one", one);
  for (const several of [
    "Who has a key?",
    "How many pets does Ann have?",
    "What old books has Ben read?",
    "What are Ann's plans?",
    "Welche Städte hat Ben besucht?",
    "Quels livres a-t-il lus ?",
    "¿Cuántos hijos tiene?",
    "Сколько детей у Анны?",
    "誰が鍵を持っていますか？",
  ])
    assert.equal(wantedBy(several), "several", several);
});

test("only the end of a long text says how much it asks for", () => {
  assert.equal(
    wantedBy(`${"The mill has been shut since May. ".repeat(200)}\n${"Who? ".repeat(400)}`),
    "several",
  );
});

describe("a text asks for recall", () => {
  const frequencies = new Map([
    ["thank", 0.03],
    ["great", 0.02],
    ["boat", 0.05],
  ]);
  const asks = (text: string, ...lexemes: string[]): boolean => asksForRecall(text, lexemes, frequencies);

  test("with a question, an uncommon word or many words; a pleasantry does not", () => {
    assert.equal(asks("thanks, great!", "thank", "great"), false);
    assert.equal(asks("the boat?", "boat"), true);
    assert.equal(asks("船は？"), true);
    assert.equal(asks("Erna, thanks", "erna", "thank"), true);
    assert.equal(asks("thank great boat boat", "thank", "great", "boat", "boat"), true);
  });

  test("where nobody knows what is common, always; and in scripts without lexemes", () => {
    assert.equal(asksForRecall("thanks", ["thank"], new Map()), true);
    assert.equal(asks("鍵はどこ"), true);
  });
});

describe("the results of a search", () => {
  const long = "the boathouse key hangs behind the door of the mill ".repeat(60);

  test("are all of them where they fit, in the order in which they were said", () => {
    const found = [said(9, "the key"), said(31, "千早"), said(5, "blue"), said(30, null)];
    assert.deepEqual(
      fittingResults(found).lines.map(({ seq }) => seq),
      [5, 9, 30, 31],
    );
  });

  test("are the best, where they are too much together", () => {
    const found = Array.from({ length: 20 }, (_, index) => said(20 - index, long));
    const { lines, taken } = fittingResults(found);
    const shown = lines.map(({ seq }) => seq);
    assert.deepEqual(shown, [19, 20], "a long one counts no more than what is shown of it");
    assert.equal(taken, 2);
    assert.deepEqual(fittingResults([]), { lines: [], taken: 0 });
  });

  test("come with the lines beside them as far as there is room, each line once", () => {
    const found = [said(9, "the key"), said(20, long), said(30, long), said(40, long)];
    const beside = (seq: number) => [said(seq + 1, `beside ${seq}`), said(seq - 1, `before ${seq}`)];
    const { lines, taken } = fittingResults(found, beside);
    assert.deepEqual(
      lines.map(({ seq }) => seq),
      [8, 9, 10, 19, 20, 21, 29, 30, 31],
    );
    assert.equal(taken, 3);
  });

  test("that stand beside a better one already count as shown", () => {
    const { lines, taken } = fittingResults([said(5, "one"), said(6, "two")], (seq) =>
      seq === 5 ? [said(6, "two")] : [],
    );
    assert.deepEqual([lines.length, taken], [2, 2]);
  });
});

describe("what is read in order", () => {
  test("is cut behind the last line that fits", () => {
    const long = "the boathouse key hangs behind the door of the mill ".repeat(60);
    const lines = Array.from({ length: 9 }, (_, index) => said(index + 1, long));
    assert.deepEqual(
      fittingLines(lines).map(({ seq }) => seq),
      [1, 2, 3, 4],
    );
    assert.equal(fittingLines(lines.slice(0, 3)).length, 3);
  });
});
