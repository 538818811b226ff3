import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { UserEntry } from "../../src/core/entry.ts";
import { checkMemories } from "../../src/memory/gates.ts";
import { said } from "./said.ts";
import { cpuMs } from "../support/cpu-time.ts";

const TEA = {
  type: "preference",
  subject: "Ann",
  statement: "Ann likes tea.",
  quote: "likes tea",
  sources: [1],
};

function check(entries: readonly UserEntry[], memories: readonly unknown[]) {
  const sources = new Map(entries.map((entry) => [entry.seq, entry]));
  return checkMemories(
    { memories },
    { sources, promptText: "", agentName: "Weir", dayOf: (at: Date) => at.toISOString().slice(0, 10) },
  );
}

describe("the sources of a memory", () => {
  test("are looked at once each, and fifty at most; the surplus does not cost the memory", () => {
    const entries = Array.from({ length: 60 }, (_, index) => said(index + 1, "Ann likes tea"));
    const numbers = entries.map(({ seq }) => seq);
    const { kept, dropped } = check(entries, [{ ...TEA, sources: [...numbers, 1, 2, "none"] }]);
    assert.deepEqual(dropped, []);
    assert.deepEqual(
      kept[0]?.sources.map(({ seq }) => seq),
      numbers.slice(0, 50),
    );
  });

  test("may be the same a million times, none of which has the quote", () => {
    const ms = cpuMs(() => {
      const entries = [said(1, "the river rose again. ".repeat(1000))];
      const { dropped } = check(entries, [{ ...TEA, sources: Array.from({ length: 1_000_000 }, () => 1) }]);
      assert.match(dropped[0]?.why ?? "kept", /does not stand in line 1/);
      const none = check(entries, [
        { ...TEA, sources: Array.from({ length: 1_000_000 }, (_, index) => `x${index}`) },
      ]);
      assert.ok((none.dropped[0]?.why.length ?? 0) < 10_000);
    });
    assert.ok(ms < 10_000, `${ms} ms`);
  });

  test("are read once in a call, however many memories cite them", () => {
    let reads = 0;
    const entry = Object.defineProperty(said(1, ""), "text", {
      enumerable: true,
      get: () => (reads++, "Ann likes tea"),
    });
    const memories = Array.from({ length: 20 }, (_, index) => ({
      ...TEA,
      statement: `Ann likes ${"very ".repeat(index)}tea.`,
    }));
    assert.equal(check([entry], memories).kept.length, 20);
    assert.equal(reads, 1);
  });
});
