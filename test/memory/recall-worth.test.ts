import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EntryReference } from "../../src/core/entry.ts";
import { asksForRecall, fittingResults, worthShowing } from "../../src/memory/recall-worth.ts";

function said(seq: number, text: string | null, author = "Ben"): EntryReference {
  return { seq, at: new Date(0), author, text };
}

function seqsFor(query: string, found: readonly EntryReference[]): number[] {
  return worthShowing(query, found).map(({ seq }) => seq);
}

describe("what is shown before anybody has asked for it", () => {
  test("is what holds a fifth of the question, with the lines beside it, and nothing that merely shares a word", () => {
    const found = [
      said(10, "who has the spare key of the boathouse?"),
      said(11, "Ayla"),
      said(30, "the green boat was painted on Monday"),
      said(50, null),
    ];
    assert.deepEqual(seqsFor("where is the key of the boathouse?", found), [10, 11]);
    assert.deepEqual(
      seqsFor(
        "the committee wrote forty pages about rudders, sails, anchors and one boat that nobody bought",
        found,
      ),
      [],
    );
  });

  test("is so by whom it was said, too", () => {
    assert.deepEqual(
      seqsFor("what did Chidi want?", [said(3, "more tea", "Chidi"), said(90, "no tea")]),
      [3],
    );
  });

  test("is at most the four best, the first two with their neighbours", () => {
    const found = Array.from({ length: 30 }, (_, index) =>
      said(index + 1, index % 3 === 0 ? "the mill race" : "-"),
    );
    const seqs = seqsFor("how deep is the mill race?", found);
    assert.ok(seqs.length >= 4 && seqs.length <= 8, seqs.join(" "));
    assert.deepEqual(seqsFor("mill race", []), []);
  });
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

  test("are all of them where they fit, in the order of the log", () => {
    const found = [said(5, "blue"), said(9, "the key"), said(30, null), said(31, "千早")];
    assert.deepEqual(fittingResults("the key", found), found);
  });

  test("are those that hold most of what was asked, where they are too much together", () => {
    const found = Array.from({ length: 20 }, (_, index) => said(index, index === 17 ? `ruby ${long}` : long));
    const shown = fittingResults("where is the ruby?", found).map(({ seq }) => seq);
    assert.ok(shown.includes(17), String(shown));
    assert.equal(shown.length, 2, "a long one counts no more than what is shown of it");
    assert.deepEqual(
      shown,
      shown.toSorted((a, b) => a - b),
    );
  });
});
