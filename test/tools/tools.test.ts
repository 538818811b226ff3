// proves: src/tools/tool.ts, src/tools/arguments.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { DESCRIBED_FEATURE_TOOLS, FEATURE_TOOLS } from "../../src/features/declarations.ts";
import { BUILT_IN_TOOLS } from "../../src/config/tool-names.ts";
import type { EntryReference } from "../../src/core/entry.ts";
import type {
  HistoryFound,
  HistoryRequest,
  MessagesRead,
  ReadRequest,
} from "../../src/memory/history-search.ts";
import { memoryId } from "../../src/core/ids.ts";
import type { Memory } from "../../src/core/memory.ts";
import { PlatformError } from "../../src/platforms/platform.ts";
import {
  type Reaction,
  type ToolContext,
  ToolFailure,
  ToolInputError,
  makeTool,
} from "../../src/tools/tool.ts";
import { handOffTool } from "../../src/tools/hand-off.ts";
import { z } from "zod";
import { createTools, standaloneTools } from "../../src/tools/tools.ts";

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  "tool-memory-recall": "Remember.",
  "tool-react": "React.",
  "tool-read-messages": "Read.",
  "tool-search-history": "Search.",
  "tool-skip": "Stay silent.",
};
const tools = createTools({ render: (name) => DESCRIPTIONS[name] ?? "" }, { recall: "all" });
const signal = new AbortController().signal;
/** What a turn gives to a tool, where nothing is found and nothing fails. */
function turnContext(more: Partial<ToolContext> = {}): ToolContext {
  return {
    signal,
    callId: "call-1",
    effectKey: "key-1",
    seesImages: false,
    searchHistory: async () => ({ kind: "found", lines: [], hasMore: false }),
    readMessages: async () => ({ lines: [], next: null }),
    recallMemories: async () => [],
    react: async () => "shown",
    handOff: async ({ message }) => ({ kind: "hand_off", to: null, name: "Weir", message }),
    kitOf: () => assert.fail("no feature is there"),
    ...more,
  };
}

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
      assert.match(
        spec.description,
        /^(?:Keep|Note|Remember|React|Read|Remind|Search|Stay silent|Take up|Lay down)\.$/,
      );
      assert.equal(spec.parameters["type"], "object");
      assert.equal(spec.parameters["additionalProperties"], false);
    }
  });
});

describe("search_history", () => {
  const found: EntryReference = { seq: 3, at: new Date(0), author: "Ann", text: "blue" };

  const finds = (result: HistoryFound): Partial<ToolContext> => ({ searchHistory: async () => result });

  test("asks for eight entries where the model does not say, and refers to what was found", async () => {
    const asked: HistoryRequest[] = [];
    const searchHistory = async (request: HistoryRequest): Promise<HistoryFound> => {
      asked.push(request);
      return { kind: "found", lines: [found], hasMore: false };
    };
    const context = turnContext({ searchHistory });
    const outcome = await named("search_history").run({ query: "  colour " }, context);
    const anybody = { person: null, when: null, page: 1, context: 0 };
    assert.deepEqual(asked, [{ query: "colour", limit: 8, ...anybody }]);
    assert.deepEqual(outcome, { kind: "result", text: "", references: [found] });
    // A default needs no mention in what the model must send.
    assert.equal(named("search_history").spec.parameters["required"], undefined);
    const more = { limit: 3, page: 2, person: "Ann", when: "last week", context: 1 };
    await named("search_history").run(more, context);
    assert.deepEqual(asked.at(-1), { query: null, ...more });
    // Some models send each argument.
    await named("search_history").run({ query: "x", person: "", when: " " }, context);
    assert.deepEqual(asked.at(-1), { query: "x", limit: 8, ...anybody });
  });

  test("says so where nothing was found, and where there is more", async () => {
    const run = async (input: object, result: HistoryFound) =>
      named("search_history").run({ query: "x", ...input }, turnContext(finds(result)));
    const nothing = { kind: "found", lines: [], hasMore: false } as const;
    const text = "Nothing was found in this channel besides what you see.";
    assert.deepEqual(await run({}, nothing), { kind: "result", text, references: [] });
    const none = { kind: "result", text: "Nothing more was found.", references: [] };
    assert.deepEqual(await run({ page: 2 }, nothing), none);
    const more = { kind: "result", text: "More on page 3.", references: [found] };
    assert.deepEqual(await run({ page: 2 }, { kind: "found", lines: [found], hasMore: true }), more);
  });

  test("shows who has a name like that of nobody, and repeats no name in its text", async () => {
    const unknown = async (like: readonly EntryReference[]) =>
      named("search_history").run({ person: "An" }, turnContext(finds({ kind: "unknown_person", like })));
    const text = "Nobody has that name in the messages that you cannot see.";
    assert.deepEqual(await unknown([]), { kind: "result", text, references: [] });
    const like = { kind: "result", text: `${text} Did you mean who said this?`, references: [found] };
    assert.deepEqual(await unknown([found]), like);
  });

  test("refuses what is no query", async () => {
    const context = turnContext(finds({ kind: "found", lines: [found], hasMore: false }));
    for (const input of [
      null,
      1,
      [],
      {},
      { query: " " },
      { query: "x", limit: 0 },
      { query: "x", limit: 1.5 },
      { query: "x", page: 0 },
      { query: "x", context: 4 },
      { limit: 3, context: 1 },
      { person: " ", when: "" },
    ]) {
      await assert.rejects(named("search_history").run(input, context), ToolInputError);
    }
    const unread = turnContext(finds({ kind: "unread_time" }));
    await assert.rejects(named("search_history").run({ when: "some time" }, unread), /`when` names no time/);
  });
});

describe("read_messages", () => {
  const line: EntryReference = { seq: 3, at: new Date(0), author: "Ann", text: "blue" };
  const read = async (input: unknown, result: MessagesRead) => {
    const asked: ReadRequest[] = [];
    const context = turnContext({
      readMessages: async (request) => {
        asked.push(request);
        return result;
      },
    });
    return { outcome: await named("read_messages").run(input, context), asked };
  };

  test("refers to what it reads, and says where to go on", async () => {
    const part = await read({ from: 3 }, { lines: [line], next: 40 });
    assert.deepEqual(part.asked, [{ from: 3, to: null }]);
    assert.deepEqual(part.outcome, { kind: "result", text: "Go on with from=40.", references: [line] });
    const whole = await read({ from: 3, to: 9 }, { lines: [line], next: null });
    assert.deepEqual(whole.asked, [{ from: 3, to: 9 }]);
    assert.deepEqual(whole.outcome, { kind: "result", text: "", references: [line] });
    const none = await read({ from: 90 }, { lines: [], next: null });
    assert.ok(none.outcome.kind === "result" && none.outcome.text.startsWith("Nothing is to be read"));
  });

  test("takes numbers alone", async () => {
    for (const input of [null, {}, { to: 3 }, { from: 0 }, { from: 1.5 }, { from: "1" }, { from: 1e300 }])
      await assert.rejects(named("read_messages").run(input, turnContext()), ToolInputError);
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
    const context = turnContext({
      recallMemories: async (query) => {
        asked.push(query);
        return [memory];
      },
    });
    const outcome = await named("memory_recall").run({ query: " tea " }, context);
    assert.deepEqual(asked, ["tea"]);
    const { type, assertedBy, at, statement } = memory;
    const memories = [{ id: memoryId(7), memory: { type, assertedBy, at, statement } }];
    assert.deepEqual(outcome, { kind: "result", text: "", references: [], memories });
  });

  test("says so where nothing is remembered, and refuses what is no query", async () => {
    const context = turnContext();
    const outcome = await named("memory_recall").run({ query: "x" }, context);
    assert.ok(outcome.kind === "result" && outcome.text === "Nothing is remembered about that.");
    for (const input of [null, {}, { query: " " }, { query: "x", limit: 2 }])
      await assert.rejects(named("memory_recall").run(input, context), ToolInputError);
  });
});

test("the configuration knows the names of all tools that come with Weir", () => {
  const prompts = { render: () => "" };
  const all = createTools(prompts, {
    recall: "all",
    described: DESCRIBED_FEATURE_TOOLS.map(
      (name) => () => makeTool({ name, description: "", input: z.unknown(), run: assert.fail }),
    ),
    ofFeatures: FEATURE_TOOLS.map((name) =>
      Object.assign(() => makeTool({ name, description: "", input: z.unknown(), run: assert.fail }), {
        tool: name,
      }),
    ),
  });
  const names = [...all, handOffTool(prompts, "Weir", [])].map(({ spec }) => spec.name);
  assert.deepEqual(names.toSorted(), BUILT_IN_TOOLS.toSorted());
});

test("what can be called beside turns is nothing that a person would have to allow", () => {
  const offered = standaloneTools(
    tools.map((tool) => {
      const asks = { search_history: "always", memory_recall: "writes" } as const;
      const { name } = tool.spec;
      return name === "search_history" || name === "memory_recall" ? { ...tool, asks: asks[name] } : tool;
    }),
  );
  assert.deepEqual(
    offered.map(({ spec }) => spec.name),
    ["memory_recall", "read_messages"],
  );
});

describe("what looks something up", () => {
  test("one whose definition takes too much of a small window is left out there", () => {
    const of = (window: number): string[] =>
      createTools({ render: () => "" }, { recall: "all", window }).map(({ spec }) => spec.name);
    assert.ok(!of(8191).includes("read_messages"));
    assert.ok(of(8191).includes("search_history"));
    assert.ok(of(8192).includes("read_messages"));
  });

  test("is offered as far as the agent may", () => {
    const offered = (recall: "all" | "messages" | "memories" | "off"): string[] =>
      createTools({ render: () => "" }, { recall }).map(({ spec }) => spec.name);
    assert.deepEqual(offered("all"), ["memory_recall", "react", "read_messages", "search_history", "skip"]);
    assert.deepEqual(offered("messages"), ["react", "read_messages", "search_history", "skip"]);
    assert.deepEqual(offered("memories"), ["memory_recall", "react", "skip"]);
    assert.deepEqual(offered("off"), ["react", "skip"]);
  });
});

describe("react", () => {
  test("says that the emoji is there", async () => {
    const asked: string[] = [];
    const react = async (emoji: string): Promise<Reaction> => {
      asked.push(emoji);
      return "shown";
    };
    const outcome = await named("react").run({ emoji: " 👍 " }, turnContext({ react }));
    const text = "Your reaction is under the newest message.";
    assert.deepEqual(outcome, { kind: "result", text, references: [] });
    assert.deepEqual(asked, ["👍"]);
  });

  test("says in plain words why there is none, and nothing that the platform said", async () => {
    const refused = (kind: PlatformError["kind"]) => async (): Promise<Reaction> => {
      throw new PlatformError("test", kind, "HTTP 400, code 10014");
    };
    const cases: [() => Promise<Reaction>, RegExp][] = [
      [async () => "unsupported", /^There are no reactions here\. Use words/],
      [async () => "gone", /the message is gone/],
      [refused("gone"), /the message is gone, or you may not react there/],
      [refused("rejected"), /this emoji cannot be put there\. Give a common one/],
      [refused("unavailable"), /the platform takes none just now/],
    ];
    for (const [react, words] of cases) {
      await assert.rejects(named("react").run({ emoji: ":party:" }, turnContext({ react })), (error) => {
        assert.ok(error instanceof ToolFailure);
        assert.match(error.message, words);
        assert.doesNotMatch(error.message, /10014/);
        return true;
      });
    }
  });

  test("does not take a fault of Weir's for the platform's", async () => {
    const fault = new TypeError("a fault");
    const react = async (): Promise<Reaction> => {
      throw fault;
    };
    await assert.rejects(named("react").run({ emoji: "👍" }, turnContext({ react })), fault);
  });

  test("wants one emoji", async () => {
    for (const input of [null, {}, { emoji: " " }, { emoji: "x".repeat(65) }, { emoji: "👍", to: "Ann" }])
      await assert.rejects(named("react").run(input, turnContext()), ToolInputError);
  });
});
