import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { ToolCall } from "../../src/core/entry.ts";
import { type Tool, type ToolContext, ToolFailure, type ToolOutcome } from "../../src/tools/tool.ts";
import { createTools } from "../../src/tools/tools.ts";
import { runToolCalls, storableCalls, type ToolRun } from "../../src/turn/tool-calls.ts";

function tool(name: string, body: Tool["run"]): Tool {
  return { spec: { name, description: name, parameters: { type: "object" } }, run: body };
}

function call(name: string, args = "{}", id = name): ToolCall {
  return { id, name, arguments: args };
}

function result(text: string): ToolOutcome {
  return { kind: "result", text, references: [] };
}

const shipped = createTools({ render: (name) => name }, { recall: "all" });

/** Runs calls, and keeps the process alive meanwhile: a signal's own timer does not. */
async function run(
  calls: readonly ToolCall[],
  options: {
    tools?: readonly Tool[];
    timeoutMs?: number;
    signal?: AbortSignal;
    found?: ToolContext["searchHistory"];
    held?: ReadonlyMap<string, string>;
  } = {},
): Promise<ToolRun & { failures: [tool: string, why: string][] }> {
  const failures: [string, string][] = [];
  const over = new AbortController();
  const awake = delay(60_000, undefined, { signal: over.signal }).catch(() => undefined);
  const done = await runToolCalls(calls, {
    tools: options.tools ?? shipped,
    timeoutMs: options.timeoutMs ?? 10_000,
    signal: options.signal ?? new AbortController().signal,
    effectKeys: async (made) => made.map(({ id }) => `key of ${id}`),
    context: {
      seesImages: false,
      searchHistory: options.found ?? (async () => ({ kind: "found", lines: [], hasMore: false })),
      readMessages: async () => ({ lines: [], next: null }),
      recallMemories: async () => [],
      react: async () => "shown",
      handOff: async ({ message }) => ({ kind: "hand_off", to: null, name: "Weir", message }),
      kitOf: () => assert.fail("no feature is there"),
    },
    ...(options.held !== undefined && { held: options.held }),
    onFailure: (name, why) => failures.push([name, why]),
  });
  over.abort();
  await awake;
  return { ...done, failures };
}

test("calls are stored with ids of their own, whatever model they are from", () => {
  const calls = ["same", "same", "", "odd id\0"].map((id) => call("na\0me", '{"a":"\0"}', id));
  const stored = storableCalls(calls);
  assert.equal(new Set(stored.map(({ id }) => id)).size, calls.length);
  assert.equal(stored[0]?.id, "same");
  for (const one of stored) {
    assert.match(one.id, /^\w+$/);
    assert.doesNotMatch(one.name + one.arguments, /\0/);
  }
});

describe("the calls of one answer", () => {
  test("run side by side, and give one result each, in the order of the calls", async () => {
    const both = Promise.withResolvers<undefined>();
    const tools = [
      tool("waits", async () => {
        await both.promise;
        return result("late");
      }),
      tool("frees", async () => {
        both.resolve(undefined);
        return result("early");
      }),
    ];
    const { results, skip } = await run([call("waits"), call("frees")], { tools });
    assert.deepEqual(
      results.map(({ callId, text }) => [callId, text]),
      [
        ["waits", "late"],
        ["frees", "early"],
      ],
    );
    assert.equal(skip, null);
  });

  test("are 16 at most, and the model is told of those that did not run", async () => {
    let ran = 0;
    const counting = tool("count", async () => result(String(++ran)));
    const calls = Array.from({ length: 20 }, (_, index) => call("count", "{}", `c${index}`));
    const { results } = await run(calls, { tools: [counting] });
    assert.equal(ran, 16);
    assert.equal(results.length, 20);
    assert.deepEqual(
      results.slice(15).map(({ callId, text }) => [callId, text.startsWith("Error: At most 16")]),
      [
        ["c15", false],
        ["c16", true],
        ["c17", true],
        ["c18", true],
        ["c19", true],
      ],
    );
  });

  test("end the turn where one of them is a skip, and the others have done what they should", async () => {
    const { results, skip } = await run([
      call("react", '{"emoji":"👍"}'),
      call("skip", '{"reason":" thanks "}', "first"),
      call("skip", '{"reason":"twice"}', "second"),
    ]);
    assert.equal(skip, "thanks");
    assert.deepEqual(
      results.map(({ text }) => text),
      ["Your reaction is under the newest message.", "You stay silent.", "You stay silent."],
    );
    const none = await run([call("skip", '{"reason":""}')]);
    assert.equal(none.skip, null);
    assert.match(none.results[0]?.text ?? "", /^Error: the arguments do not fit/);
  });

  test("do not end it in silence where one of them failed, and the model has to know", async () => {
    const { results, skip } = await run([
      call("skip", '{"reason":"a sign is enough"}'),
      call("react", '{"emoji":""}'),
    ]);
    assert.equal(skip, null);
    assert.match(results[0]?.text ?? "", /Another call has failed/);
    assert.match(results[1]?.text ?? "", /^Error: the arguments do not fit/);
  });
});

async function failing(
  one: ToolCall,
  options: Parameters<typeof run>[1] = {},
): Promise<[text: string, why: string]> {
  const { results, failures } = await run([one], options);
  assert.equal(results.length, 1);
  assert.equal(results[0]?.callId, one.id);
  assert.equal(failures.length, 1);
  return [results[0]?.text ?? "", failures[0]?.[1] ?? ""];
}

test("only what was run by a tool that finds something out is a finding, and did not fail", async () => {
  const finding = (name: string, body: Tool["run"]): Tool => ({ ...tool(name, body), findsOut: true });
  const tools = [
    finding("look", async () => result("12 degrees")),
    finding("fail", async () => {
      throw new ToolFailure("the disk is full");
    }),
    finding("held", async () => result("it has run")),
    tool("repeat", async () => result("Ann said so")),
    ...shipped,
  ];
  const held = new Map([["held", "Nobody has allowed it yet."]]);
  const names = ["look", "fail", "held", "repeat", "unknown", "search_history", "memory_recall"];
  const { results } = await run(
    names.map((name) => call(name, '{"query":"x"}')),
    { tools, held },
  );
  assert.deepEqual(
    results.filter(({ isFinding }) => isFinding === true).map(({ tool: name }) => name),
    ["look"],
  );
});

describe("a call that fails", () => {
  test("because there is no such tool tells which there are", async () => {
    const [text, why] = await failing(call("🎈".repeat(60)));
    const known = shipped.map(({ spec }) => spec.name).join(", ");
    assert.equal(text, `Error: there is no tool "${"🎈".repeat(32)}". There are: ${known}.`);
    assert.equal(why, "unknown tool");
  });

  test("because its arguments are wrong tells what to change", async () => {
    assert.match(
      (await failing(call("search_history", '{"que')))[0],
      /^Error: the arguments do not fit.*not valid JSON/,
    );
    assert.match((await failing(call("search_history", "[]")))[0], /arguments do not fit/);
    assert.match((await failing(call("search_history", "")))[0], /query/);
    assert.match((await failing(call("search_history", '{"query":"x","limit":99}')))[0], /limit/);
    assert.match((await failing(call("search_history", '{"query":"x","other":1}')))[0], /other/);
  });

  test("quotes nothing that the log cannot hold", async () => {
    const [text] = await failing(call("search_history", String.raw`{"query":"x","\u0000\ud83d":1}`));
    assert.ok(!text.includes("\0") && text.isWellFormed());
  });

  test("because it throws, at once or later, keeps the cause to the log", async () => {
    const secret = "password is hunter2";
    const throws: Tool["run"][] = [
      () => {
        throw new Error(secret);
      },
      async () => {
        throw new TypeError(secret);
      },
    ];
    for (const broken of throws) {
      const [text, why] = await failing(call("broken"), { tools: [tool("broken", broken)] });
      assert.equal(text, "Error: the tool failed.");
      assert.equal(why, secret);
    }
  });

  test("because it cannot do what was asked tells why, and keeps the cause to the log", async () => {
    const cannot = (options?: ErrorOptions): Tool =>
      tool("cannot", async () => {
        throw new ToolFailure("Use words.", options);
      });
    assert.deepEqual(await failing(call("cannot"), { tools: [cannot()] }), [
      "Error: Use words.",
      "Use words.",
    ]);
    const cause = new Error("password is hunter2");
    assert.deepEqual(await failing(call("cannot"), { tools: [cannot({ cause })] }), [
      "Error: Use words.",
      "password is hunter2",
    ]);
  });
});

describe("a call that hangs", () => {
  test("is given up when the time of its tool is over, or that of any tool", async () => {
    const slow = { ...tool("slow", async () => new Promise(() => undefined)), timeoutMs: 20 };
    assert.equal((await failing(call("slow"), { tools: [slow] }))[0], "Error: no result within 0.02 s.");
    const patient = { ...slow, timeoutMs: 60_000 };
    assert.equal(
      (await failing(call("slow"), { tools: [patient], timeoutMs: 30 }))[0],
      "Error: no result within 0.03 s.",
    );
  });

  test("is over in time, and the tool is told so", async () => {
    let seen: AbortSignal | undefined;
    const hangs = tool("hangs", async (_, { signal }) => {
      seen = signal;
      return new Promise(() => undefined);
    });
    const [text, why] = await failing(call("hangs"), { tools: [hangs], timeoutMs: 30 });
    assert.equal(text, "Error: no result within 0.03 s.");
    assert.equal(why, "no result within 0.03 s");
    assert.equal(seen?.aborted, true);
  });

  test("is over at once where the turn was stopped, also where the tool does not listen", async () => {
    const stop = new AbortController();
    const hangs = tool("hangs", async () => {
      stop.abort();
      return new Promise(() => undefined);
    });
    assert.equal(
      (await failing(call("hangs"), { tools: [hangs], signal: stop.signal }))[0],
      "Error: the tool failed.",
    );
  });
});
