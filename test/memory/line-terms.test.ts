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

test("of each term the sources that have it are noted, and the newest lines of people", () => {
  assert.deepEqual(where(["papaya", "mill"], []), { papaya: [2, 3, 4], mill: [1] });
  assert.deepEqual(where(["papaya"], [1, 2]), { papaya: [1, 2, 3, 4] });
});

test("a person's name is said by each of their lines", () => {
  assert.deepEqual(where(["ann"], []), { ann: [2, 3, 4] });
});

test("a term that people do not say is noted where the model has read it, and is its own word elsewhere", () => {
  assert.deepEqual(where(["guava", "melon"], [], ["a summary of guava"]), { guava: [] });
});
