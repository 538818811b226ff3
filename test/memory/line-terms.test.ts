import assert from "node:assert/strict";
import { test } from "node:test";
import { whereSaid, Words } from "../../src/memory/line-terms.ts";
import { said } from "./said.ts";

const BOT = { id: "b", name: "Bot", isBot: true };

function where(
  telling: readonly string[],
  proofs: readonly number[],
  beside: readonly string[] = [],
): object {
  const lines = [
    said(1, "papaya for the mill"),
    said(2, "papaya again"),
    said(3, "papaya once more"),
    said(4, "papaya, papaya"),
    said(5, "papaya", { author: BOT }),
    said(6, "papaya", { deleted: true }),
  ];
  const cited = proofs.map((seq) => ({ seq, quote: "papaya" }));
  return whereSaid(new Set(telling), cited, lines, new Words(beside));
}

test("of each term the lines of people that have it are noted", () => {
  assert.deepEqual(where(["papaya", "mill"], [1]), { papaya: [1, 2, 3, 4], mill: [1] });
});

test("where too many have it, its sources are noted, and that others do", () => {
  const lines = Array.from({ length: 10 }, (_, index) => said(index + 1, "papaya"));
  const proofs = [{ seq: 2, quote: "papaya" }];
  assert.deepEqual(whereSaid(new Set(["papaya"]), proofs, lines, new Words()), { papaya: [2, 0] });
});

test("a person's name is said by each of their lines", () => {
  assert.deepEqual(where(["ann"], []), { ann: [1, 2, 3, 4] });
});

test("a term that the model has read elsewhere is noted, and one that it has read nowhere is its own word", () => {
  assert.deepEqual(where(["guava", "mill", "melon"], [1], ["a summary of guava and a mill"]), {
    guava: [0],
    mill: [1, 0],
  });
});
