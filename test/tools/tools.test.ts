import assert from "node:assert/strict";
import { describe, test } from "node:test";

import type { EntryReference } from "../../src/core/entry.ts";
import { memoryId } from "../../src/core/ids.ts";
import type { Memory } from "../../src/core/memory.ts";
import { ToolInputError } from "../../src/tools/tool.ts";
import { createTools } from "../../src/tools/tools.ts";

const tools = createTools({ memoryRecall: "Remember.", searchHistory: "Search.", skip: "Stay silent." });
const signal = new AbortController().signal;
const recallMemories = async (): Promise<Memory[]> => [];

function named(name: string) {
  const tool = tools.find(({ spec }) => spec.name === name);
  assert.ok(tool !== undefined);
  return tool;
}

describe("the tools", () => {
  test("are sorted by name, described by the prompts, and take an object without further keys", () => {
    const names = tools.map(({ spec }) => spec.name);
    assert.deepEqual(names, names.toSorted());
    for (const { spec } of tools) {
      assert.match(spec.description, /^(?:Remember|Search|Stay silent)\.$/);
      assert.equal(spec.parameters["type"], "object");
      assert.equal(spec.parameters["additionalProperties"], false);
    }
  });
});

describe("search_history", () => {
  const found: EntryReference = { seq: 3, at: new Date(0), author: "Ann", text: "blue" };

  test("asks for eight entries where the model does not say, and refers to what was found", async () => {
    const asked: [string, number][] = [];
    const searchHistory = async (query: string, limit: number): Promise<EntryReference[]> => {
      asked.push([query, limit]);
      return [found];
    };
    const outcome = await named("search_history").run(
      { query: "  colour " },
      { signal, searchHistory, recallMemories },
    );
    assert.deepEqual(asked, [["colour", 8]]);
    assert.deepEqual(outcome, { kind: "result", text: "", references: [found] });
    // A default needs no mention in what the model must send.
    assert.deepEqual(named("search_history").spec.parameters["required"], ["query"]);
  });

  test("says so where nothing was found", async () => {
    const context = { signal, searchHistory: async () => [], recallMemories };
    const outcome = await named("search_history").run({ query: "x", limit: 1 }, context);
    assert.deepEqual(outcome, { kind: "result", text: "Nothing was found in this channel.", references: [] });
  });

  test("refuses what is no query", async () => {
    const context = { signal, searchHistory: async () => [found], recallMemories };
    for (const input of [
      null,
      1,
      [],
      {},
      { query: " " },
      { query: "x", limit: 0 },
      { query: "x", limit: 1.5 },
    ]) {
      await assert.rejects(named("search_history").run(input, context), ToolInputError);
    }
  });
});

describe("memory_recall", () => {
  const memory: Memory = {
    id: memoryId(7),
    type: "preference",
    scope: "channel",
    subject: "Ann",
    assertedBy: "Ann",
    statement: "Ann drinks tea.",
    importance: 0.5,
    at: new Date(0),
    proofs: 1,
  };

  test("refers to what is remembered", async () => {
    const asked: string[] = [];
    const context = {
      signal,
      searchHistory: async () => [],
      recallMemories: async (query: string): Promise<Memory[]> => {
        asked.push(query);
        return [memory];
      },
    };
    const outcome = await named("memory_recall").run({ query: " tea " }, context);
    assert.deepEqual(asked, ["tea"]);
    const { type, assertedBy, at, statement } = memory;
    const memories = [{ id: memoryId(7), memory: { type, assertedBy, at, statement } }];
    assert.deepEqual(outcome, { kind: "result", text: "", references: [], memories });
  });

  test("says so where nothing is remembered, and refuses what is no query", async () => {
    const context = { signal, searchHistory: async () => [], recallMemories };
    const outcome = await named("memory_recall").run({ query: "x" }, context);
    assert.ok(outcome.kind === "result" && outcome.text === "Nothing is remembered about that.");
    for (const input of [null, {}, { query: " " }, { query: "x", limit: 2 }])
      await assert.rejects(named("memory_recall").run(input, context), ToolInputError);
  });
});
