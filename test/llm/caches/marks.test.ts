import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ModelMessage } from "../../../src/core/context.ts";
import { type CachedRequest, cacheMarks, markedParts } from "../../../src/llm/caches/marks.ts";
import { type CacheRule, cacheRuleOf } from "../../../src/llm/caches/rules.ts";

const BREAKPOINTS = cacheRuleOf({
  hostname: "api.openai.com",
  model: "gpt-5.6-luna",
  said: "auto",
  api: "chat",
});
const CONTROL = cacheRuleOf({ hostname: "", model: "claude-sonnet-5", said: "auto", api: "messages" });

const LONG = "A sentence of some words, which says little. ".repeat(200);
const call = (id: string): ModelMessage => ({
  role: "assistant",
  text: "",
  calls: [{ id, name: "search_history", arguments: "{}" }],
});
const result = (id: string): ModelMessage => ({ role: "tool", callId: id, text: "nothing" });
const answer = (text: string): ModelMessage => ({ role: "assistant", text, calls: [] });
const said = (text: string): ModelMessage => ({ role: "user", text });

const SYSTEM: ModelMessage = { role: "system", text: LONG };
const SUMMARIES = "Summary: of old.";
/** With the end of the summaries, and of what is said now, before the dynamic part. */
const MESSAGES: readonly ModelMessage[] = [
  SYSTEM,
  said(`${SUMMARIES}\none`),
  answer("two"),
  said("three"),
  call("c1"),
  result("c1"),
  answer("four"),
  said("five\nNow it is noon."),
];
const REQUEST: CachedRequest = {
  messages: MESSAGES,
  tools: [],
  stableEnds: [
    { message: 0, length: LONG.length },
    { message: 1, length: SUMMARIES.length },
    { message: 7, length: "five".length },
  ],
};

function marksOf(
  request: CachedRequest,
  rule: CacheRule,
  takesResults = true,
): (readonly [number, number])[] {
  const { ends } = cacheMarks(request, rule, takesResults);
  return ends.filter(({ isMarked }) => isMarked).map(({ message, length }) => [message, length] as const);
}

describe("where the marks go", () => {
  const system = [0, LONG.length] as const;
  const summaries = [1, SUMMARIES.length] as const;

  test("at what is stable, and again at the ends of the turns before", () => {
    const wanted = [system, summaries, [1, SUMMARIES.length + 4], [3, 5], [7, 4]];
    assert.deepEqual(marksOf(REQUEST, BREAKPOINTS), wanted);
  });

  test("of Anthropic's four one is spent on the turn before only where a look back would not reach it", () => {
    assert.deepEqual(marksOf(REQUEST, CONTROL), [system, summaries, [3, 5], [7, 4]]);
    assert.deepEqual(marksOf(REQUEST, { ...CONTROL, most: 3 }), [system, summaries, [7, 4]]);
    const rounds = Array.from({ length: 9 }, (_, index) => [call(`d${index}`), result(`d${index}`)]).flat();
    const messages = [...MESSAGES.slice(0, 4), ...rounds, answer("four"), said("five\nNow it is noon.")];
    const stableEnds = [...(REQUEST.stableEnds ?? []).slice(0, 2), { message: 23, length: 4 }];
    const far = { ...REQUEST, messages, stableEnds };
    assert.deepEqual(marksOf(far, { ...CONTROL, most: 3 }), [summaries, [3, 5], [23, 4]]);
  });

  test("each mark of a request is marked in the next one, too", () => {
    const next: CachedRequest = {
      ...REQUEST,
      messages: [...MESSAGES.slice(0, 7), said("five"), answer("six"), said("seven\nNow it is one.")],
      stableEnds: [...(REQUEST.stableEnds ?? []).slice(0, 2), { message: 9, length: 5 }],
    };
    const repeated = new Set(marksOf(next, BREAKPOINTS).map(String));
    for (const mark of marksOf(REQUEST, BREAKPOINTS).slice(-2)) assert.ok(repeated.has(String(mark)));
  });
});

describe("where no marks go", () => {
  test("never on an assistant's text, nor on one that says nothing", () => {
    const messages = [SYSTEM, said("one"), answer("two"), said(" \n")];
    const stableEnds = [
      { message: 2, length: 3 },
      { message: 3, length: 2 },
    ];
    for (const rule of [BREAKPOINTS, CONTROL])
      assert.deepEqual(marksOf({ messages, tools: [], stableEnds }, rule), [[1, 3]]);
    assert.deepEqual(marksOf({ messages: [said(" ")], tools: [], stableEnds }, BREAKPOINTS), []);
  });

  test("none in what is too short to be cached, with its tools", () => {
    const short = { ...REQUEST, messages: [{ ...SYSTEM, text: "You are Weir." }, ...MESSAGES.slice(1)] };
    assert.deepEqual(marksOf(short, BREAKPOINTS), []);
    const tools = [{ name: "search", description: LONG, parameters: {} }];
    assert.equal(marksOf({ ...short, tools }, BREAKPOINTS).length, 5);
    assert.deepEqual(marksOf({ ...REQUEST, stableEnds: [] }, BREAKPOINTS), []);
  });
});

describe("what else is marked", () => {
  test("behind the newest result from the second round of tools on, where the wire can", () => {
    const one = { ...REQUEST, messages: [...MESSAGES, call("d1"), result("d1")] };
    assert.deepEqual(marksOf(one, BREAKPOINTS), marksOf(REQUEST, BREAKPOINTS));
    const two = { ...one, messages: [...one.messages, call("d2"), result("d2")] };
    assert.deepEqual(marksOf(two, BREAKPOINTS).at(-1), [11, 7]);
    assert.deepEqual(marksOf(two, BREAKPOINTS, false), marksOf(REQUEST, BREAKPOINTS));
    assert.equal(marksOf(two, CONTROL).length, 4);
  });

  test("nowhere in a cache of prefixes", () => {
    const prefix = cacheRuleOf({ hostname: "api.openai.com", model: "gpt-5.5", said: "auto", api: "chat" });
    assert.deepEqual(cacheMarks(REQUEST, prefix, true), { ends: [], ofPart: {}, ofRequest: {} });
    assert.deepEqual(cacheMarks(REQUEST, undefined, true).ends, []);
  });

  test("only where it was marked before, if nothing is worth a write; and nowhere, if all is forgotten", () => {
    const late = Array.from({ length: 8 }, () => 24 * 60 * 60_000);
    for (const rule of [BREAKPOINTS, CONTROL]) {
      assert.deepEqual(marksOf({ ...REQUEST, waits: late }, rule), []);
      const pairs = late.flatMap((wait) => [wait, 1000]);
      assert.deepEqual(marksOf({ ...REQUEST, waits: pairs }, rule), [[3, 5]]);
    }
  });

  test("the fields are those of the provider, with the life that fits the pace", () => {
    const { ofPart, ofRequest } = cacheMarks(REQUEST, BREAKPOINTS, true);
    assert.deepEqual(ofPart, { prompt_cache_breakpoint: { mode: "explicit" } });
    assert.deepEqual(ofRequest, { prompt_cache_options: { mode: "explicit" } });
    assert.deepEqual(cacheMarks(REQUEST, CONTROL, true).ofPart, { cache_control: { type: "ephemeral" } });
    const waits = Array.from({ length: 6 }, () => 20 * 60_000);
    assert.deepEqual(cacheMarks({ ...REQUEST, waits }, CONTROL, true).ofPart, {
      cache_control: { type: "ephemeral", ttl: "1h" },
    });
  });
});

test("parts of a text are all of it", () => {
  const end = (length: number, isMarked = true) => ({ message: 0, length, isMarked });
  const parts = (text: string, ...ends: ReturnType<typeof end>[]) =>
    markedParts(said(text), ends).map((part) => ("image" in part ? null : [part.text, part.isMarked]));
  assert.deepEqual(parts("one two"), [["one two", false]]);
  assert.deepEqual(parts("one two", end(3)), [
    ["one", true],
    [" two", false],
  ]);
  assert.deepEqual(parts("one two", end(3, false), end(7)), [
    ["one", false],
    [" two", true],
  ]);
});
