// proves: src/llm/chat/chat-chunk.ts, src/llm/chat/call-accumulator.ts, src/llm/chat/answer-accumulator.ts, src/llm/chat/chat-events.ts
// What servers send where OpenAI's documentation says otherwise, read in memory, cut at every thirteenth byte.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AnswerAccumulator } from "../../../src/llm/chat/answer-accumulator.ts";
import { readChunk } from "../../../src/llm/chat/chat-chunk.ts";
import { chatEvents } from "../../../src/llm/chat/chat-events.ts";
import { modelRequest, SEARCH_HISTORY } from "../../support/model-calls.ts";

const WEATHER = { ...SEARCH_HISTORY, name: "get_weather" };
const REQUEST = modelRequest({ tools: [SEARCH_HISTORY, WEATHER] });

interface Read {
  readonly text: string;
  readonly calls: readonly (readonly [name: string, values: unknown])[];
  readonly ids: readonly string[];
  /** What a person saw at the end. */
  readonly shown: string;
}

async function readOnce(body: string, every: number): Promise<Read | "unfinished" | "empty"> {
  const bytes = new TextEncoder().encode(body);
  const pieces = Array.from({ length: Math.ceil(bytes.length / every) }, (_, index) =>
    bytes.subarray(index * every, (index + 1) * every),
  );
  const answer = new AnswerAccumulator(REQUEST);
  let shown = "";
  const response = new Response(ReadableStream.from(pieces));
  for await (const event of chatEvents(response, undefined, () => answer.done())) {
    const { text, voided } = answer.add(readChunk(event));
    shown = voided ? text : shown + text;
  }
  answer.closed();
  if (!answer.isFinished) return "unfinished";
  const end = answer.end();
  shown = end.voided ? end.text : shown + end.text;
  const whole = answer.answer("m");
  if (whole === undefined) return "empty";
  const calls = whole.calls.map((call) => [call.name, jsonOf(call.arguments)] as const);
  return { text: whole.text, calls, ids: whole.calls.map(({ id }) => id), shown };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Whole, and cut at every thirteenth byte. */
async function read(body: string): Promise<Read | "unfinished" | "empty"> {
  const whole = await readOnce(body, Math.max(1, body.length * 4));
  const cut = await readOnce(body, 13);
  if (typeof whole === "string" || typeof cut === "string") assert.equal(cut, whole);
  else {
    assert.deepEqual({ ...cut, ids: [] }, { ...whole, ids: [] });
    assert.equal(whole.shown, whole.text);
  }
  return whole;
}

async function textOf(body: string): Promise<string> {
  const answer = await read(body);
  return typeof answer === "string" ? answer : answer.text;
}

const data = (event: unknown): string =>
  `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
const choice = (fields: object): object => ({ choices: [{ index: 0, ...fields }] });
const delta = (fields: object, finish: unknown = null): string =>
  data(choice({ delta: fields, finish_reason: finish }));
const says = (...texts: readonly string[]): string => texts.map((text) => delta({ content: text })).join("");
const STOP = delta({}, "stop");
const DONE = "data: [DONE]\n\n";
const usage = { prompt_tokens: 9, completion_tokens: 3 };

describe("one odd field voids nothing else", () => {
  const cases: readonly (readonly [name: string, body: string])[] = [
    ["choices that are no list", says("Hel") + data({ choices: 7 }) + says("lo") + STOP],
    ["one choice that is no list", data({ choices: { delta: { content: "Hello" }, finish_reason: "stop" } })],
    ["choices of null and a string", says("Hel") + data({ choices: [null, "x"] }) + says("lo") + STOP],
    ["a delta of null", says("Hel") + data(choice({ delta: null })) + says("lo") + STOP],
    ["a finish reason of another type", says("Hello") + delta({}, { type: "stop" })],
    ["a finish reason as a number", says("Hello") + delta({}, 1)],
    // DashScope's forms: the words "null" and "" with each piece.
    ["finish reasons that are none", delta({ content: "Hel" }, "null") + delta({ content: "lo" }, "") + STOP],
    [
      "usage as a list, a text, numbers as texts",
      says("Hel") +
        data({ ...choice({ delta: { content: "lo" } }), usage: ["9"] }) +
        data({ choices: [], usage: { prompt_tokens: "9" } }) +
        STOP,
    ],
    ["a content that is a list of texts", delta({ content: ["Hel", { text: "lo" }] }) + STOP],
    ["a content that is one part", delta({ content: { type: "text", text: "Hello" } }) + STOP],
    [
      "a refusal that is no text, and a role of null",
      delta({ role: null, refusal: { a: 1 }, content: "Hello" }) + STOP,
    ],
    ["tool calls that are no list", delta({ content: "Hello", tool_calls: "none" }) + STOP],
    ["tool calls of null", delta({ content: "Hello", tool_calls: [null, {}, 7] }) + STOP],
    [
      "an event that is a number, a list, null",
      says("Hel") + data(7) + data([]) + data("null") + says("lo") + STOP,
    ],
    ["words that are no JSON", "data: ping\n\n" + says("Hel") + "data: keep-alive\n\n" + says("lo") + STOP],
    [
      "the old completions' text",
      data(choice({ text: "Hel" })) + data(choice({ text: "lo", finish_reason: "stop" })),
    ],
  ];
  for (const [name, body] of cases)
    test(name, async () => {
      assert.equal(await textOf(body), "Hello");
    });
});

describe("an answer ends", () => {
  test("with [DONE], without a finish reason (opencode's issue 43882)", async () => {
    assert.equal(await textOf(says("Hel", "lo") + DONE), "Hello");
    assert.equal(await textOf(says("Hel", "lo") + 'data:"[DONE]" \n'), "Hello");
  });

  test("with a usage behind its text", async () => {
    assert.equal(await textOf(says("Hel", "lo") + data({ choices: [], usage })), "Hello");
  });

  test("not with a usage before its text or in the middle of it", async () => {
    assert.equal(await read(data({ choices: [], usage }) + says("Hello")), "unfinished");
    assert.equal(await read(says("Hel") + data({ choices: [], usage }) + says("lo")), "unfinished");
    assert.equal(await read(data({ ...choice({ delta: { content: "Hello" } }), usage })), "unfinished");
    assert.equal(await read(delta({ reasoning_content: "hm" }) + data({ choices: [], usage })), "unfinished");
  });

  test("with Ollama's own mark", async () => {
    const lines = ["Hel", "lo"].map((content) => ({ message: { role: "assistant", content }, done: false }));
    const last = { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" };
    assert.equal(await textOf([...lines, last].map((line) => `${JSON.stringify(line)}\n`).join("")), "Hello");
  });

  test("with the end of a body that is no stream", async () => {
    const body = {
      object: "chat.completion",
      choices: [{ message: { role: "assistant", content: "Hello" } }],
    };
    assert.equal(await textOf(JSON.stringify(body)), "Hello");
    assert.equal(await textOf(`\uFEFF\n${JSON.stringify(body, null, 2)}\n`), "Hello");
    assert.equal(await read(says("Hello")), "unfinished");
  });

  test("with [DONE], and its calls are whole or left out (pi's issue 6226)", async () => {
    const begun = delta({
      tool_calls: [{ index: 0, id: "a", function: { name: "get_weather", arguments: '{"a":1}' } }],
    });
    const cut = delta({
      tool_calls: [{ index: 1, id: "b", function: { name: "get_weather", arguments: '{"a":' } }],
    });
    const answer = await read(begun + cut + DONE);
    assert.ok(typeof answer !== "string");
    assert.deepEqual(answer.calls, [["get_weather", { a: 1 }]]);
    assert.equal(await read(cut + DONE), "empty");
  });
});

describe("bytes and frames", () => {
  const answer = (frame: (event: string) => string, end = ""): string =>
    ["Hel", "lo"].map((text) => frame(JSON.stringify(choice({ delta: { content: text } })))).join("") +
    frame(JSON.stringify(choice({ delta: {}, finish_reason: "stop" }))) +
    end;
  const cases: readonly (readonly [name: string, body: string])[] = [
    ["a byte order mark", `\uFEFF${answer((event) => `data: ${event}\n\n`)}`],
    ["carriage returns alone", answer((event) => `data: ${event}\r\r`)],
    ["both", answer((event) => `data: ${event}\r\n\r\n`)],
    ["no space behind `data:`", answer((event) => `data:${event}\n\n`)],
    ["no empty line between events", answer((event) => `data: ${event}\n`, "data: [DONE]\n")],
    ["JSON lines", answer((event) => `${event}\n`)],
    ["JSON lines with a [DONE]", answer((event) => `${event}\n`, "[DONE]\n")],
    ["JSON lines with empty ones between", answer((event) => `${event}\n\n`)],
    ["one list of events", `[${answer((event) => `${event}\n,\n`)}{}]`],
    [
      "names, ids and comments",
      `: hi\n\n${answer((event) => `id: 1\nevent: completion\ndata: ${event}\n\n: ping\n\n`)}`,
    ],
  ];
  for (const [name, body] of cases)
    test(name, async () => {
      assert.equal(await textOf(body), "Hello");
    });

  test("a line of JSON with an error, where a server breaks off, is that error", async () => {
    await assert.rejects(read(`${says("Hel")}{"error":{"message":"no room"}}\n`), /no room/);
  });
});

describe("what repeats the text so far is no piece of it", () => {
  const cases: readonly (readonly [name: string, body: string, text: string])[] = [
    // ragflow's issue 15443, Rapid-MLX's issue 1709.
    [
      "as a message",
      says("once", " only") + data(choice({ message: { content: "once only" }, finish_reason: "stop" })),
      "once only",
    ],
    ["as a delta with the end", says("once", " only") + delta({ content: "once only" }, "stop"), "once only"],
    ["as a delta before the end", says("once", " only", "once only") + STOP + DONE, "once only"],
    ["as a delta before [DONE]", says("once", " only", "once only") + DONE, "once only"],
    ["in one piece", says("once only") + delta({ content: "once only" }, "stop"), "once only"],
    ["without the white space round it", says(" once", " only", "\n", "once only") + STOP, " once only\n"],
    ["twice", says("once", " only", "once only", "once only") + STOP, "once only"],
    [
      "with more behind it",
      says("once", " only") + data(choice({ message: { content: "once only, and more" } })) + STOP,
      "once only, and more",
    ],
    [
      "as another text, without the thoughts",
      says("<think>hm</think>", "once only") + data(choice({ message: { content: "once only" } })) + STOP,
      "once only",
    ],
    ["with each event", says("He", "Hello", "Hello wo", "Hello world", "Hello world") + STOP, "Hello world"],
    [
      "with each message",
      ["Hel", "Hello", "Hello wo"].map((content) => data(choice({ message: { content } }))).join("") + STOP,
      "Hello wo",
    ],
  ];
  for (const [name, body, text] of cases)
    test(name, async () => {
      assert.equal(await textOf(body), text);
    });

  const said: readonly (readonly string[])[] = [
    ["ha", "ha"],
    ["ha", "ha", "haha"],
    ["no ", "no ", "no ", "no "],
    ["I will not. ", "I will not. "],
    ["I will ", "not. ", "I will not. ", "I promise."],
    ["row, ", "row, ", "row your boat"],
    ["=", "==", "===", " x"],
    ["1", "12", "123", "4"],
    ["A", "An", " ant"],
  ];
  for (const pieces of said)
    test(`and ${JSON.stringify(pieces)} is all said`, async () => {
      assert.equal(await textOf(says(...pieces) + STOP), pieces.join(""));
    });

  test("pieces that come as messages are pieces", async () => {
    const body = ["Hel", "lo, ", "you"].map((content) => data(choice({ message: { content } }))).join("");
    assert.equal(await textOf(body + STOP), "Hello, you");
  });
});

interface Piece {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: unknown;
  readonly [field: string]: unknown;
}
const piece = (...calls: readonly Piece[]): string => delta({ tool_calls: calls });
const f = (name?: unknown, json?: unknown): { readonly function: object } => ({
  function: { ...(name !== undefined && { name }), ...(json !== undefined && { arguments: json }) },
});
const A = ["get_weather", { city: "Rome" }] as const;
const B = ["search_history", { query: "a longer one" }] as const;
const [jsonA, jsonB] = [JSON.stringify(A[1]), JSON.stringify(B[1])];
const half = (json: string): readonly [string, string] => [json.slice(0, 9), json.slice(9)];
const [a1, a2] = half(jsonA);
const [b1, b2] = half(jsonB);

const two: readonly (readonly [name: string, body: string])[] = [
  // agno's issue 8879.
  [
    "the head of the second under the first one's index",
    piece({ index: 0, id: "a", ...f(A[0], "") }) +
      piece({ index: 0, ...f(undefined, jsonA) }) +
      piece({ index: 0, id: "b", ...f(B[0], "") }) +
      piece({ index: 1, ...f(undefined, b1) }) +
      piece({ index: 1, ...f(undefined, b2) }),
  ],
  [
    "pieces under a wrong index with their id",
    piece({ index: 0, id: "a", ...f(A[0], a1) }) +
      piece({ index: 1, id: "b", ...f(B[0], b1) }) +
      piece({ index: 1, id: "a", ...f(undefined, a2) }) +
      piece({ index: 0, id: "b", ...f(undefined, b2) }),
  ],
  [
    "ids as numbers (opencode's issue 19947)",
    piece({ index: 0, id: 1, ...f(A[0], jsonA) }) + piece({ index: 1, id: 2, ...f(B[0], jsonB) }),
  ],
  [
    "the id and the name with each piece",
    piece({ index: 0, id: "a", ...f(A[0], a1) }) +
      piece({ index: 0, id: "a", ...f(A[0], a2) }) +
      piece({ index: 1, id: "b", ...f(B[0], b1) }) +
      piece({ index: 1, id: "b", ...f(B[0], b2) }),
  ],
  [
    "another index with each piece",
    piece({ index: 0, id: "a", ...f(A[0], a1) }) +
      piece({ index: 1, id: "a", ...f(A[0], a2) }) +
      piece({ index: 2, id: "b", ...f(B[0], b1) }) +
      piece({ index: 3, id: "b", ...f(B[0], b2) }),
  ],
  // SGLang's pull request 4067: the index is null, the name empty behind the first piece.
  [
    "no index, ids with each piece",
    piece({ index: null, id: "0", ...f(A[0], "") }) +
      piece({ id: "0", ...f("", a1) }) +
      piece({ id: "0", ...f("", a2) }) +
      piece({ id: "1", ...f(B[0], "") }) +
      piece({ id: "1", ...f("", jsonB) }),
  ],
  [
    "no index, ids with the heads",
    piece({ id: "a", ...f(A[0], "") }) +
      piece(f(undefined, a1)) +
      piece(f(undefined, a2)) +
      piece({ id: "b", ...f(B[0], b1) }) +
      piece(f(undefined, b2)),
  ],
  [
    "no index, no ids, the name with each piece",
    piece(f(A[0], a1)) + piece(f(A[0], a2)) + piece(f(B[0], b1)) + piece(f(B[0], b2)),
  ],
  [
    "all under index 0",
    piece({ index: 0, id: "a", ...f(A[0], "") }) +
      piece({ index: 0, ...f(undefined, jsonA) }) +
      piece({ index: 0, id: "b", ...f(B[0], "") }) +
      piece({ index: 0, ...f(undefined, b1) }) +
      piece({ index: 0, ...f(undefined, b2) }),
  ],
  [
    "indexes as texts, below zero, as fractions",
    piece({ index: "0", id: "a", ...f(A[0], a1) }) +
      piece({ index: "0", ...f(undefined, a2) }) +
      piece({ index: -1, id: "b", ...f(B[0], b1) }) +
      piece({ index: 0.5, ...f(undefined, b2) }),
  ],
  // A gateway to Bedrock counts a block of thinking as well (bedrock-access-gateway's issue 134).
  [
    "an index that begins with 1",
    piece({ index: 1, id: "a", ...f(A[0], jsonA) }) + piece({ index: 2, id: "b", ...f(B[0], jsonB) }),
  ],
  [
    "arguments as objects",
    piece({ index: 0, id: "a", ...f(A[0], A[1]) }, { index: 1, id: "b", ...f(B[0], B[1]) }),
  ],
  [
    "whole calls twice",
    piece({ index: 0, id: "a", ...f(A[0], jsonA) }, { index: 1, id: "b", ...f(B[0], jsonB) }).repeat(2),
  ],
  [
    "whole calls twice, without ids",
    piece({ index: 0, ...f(A[0], jsonA) }, { index: 1, ...f(B[0], jsonB) }).repeat(2),
  ],
  [
    "all so far with each piece",
    piece({ index: 0, id: "a", ...f(A[0], a1) }) +
      piece({ index: 0, id: "a", ...f(A[0], jsonA) }) +
      piece({ index: 1, id: "b", ...f(B[0], b1) }) +
      piece({ index: 1, id: "b", ...f(B[0], jsonB) }),
  ],
  [
    "once more as a message",
    piece({ index: 0, id: "a", ...f(A[0], jsonA) }) +
      piece({ index: 1, id: "b", ...f(B[0], b1) }) +
      data(
        choice({
          message: {
            content: null,
            tool_calls: [
              { id: "a", ...f(A[0], jsonA) },
              { id: "b", ...f(B[0], jsonB) },
            ],
          },
        }),
      ),
  ],
  [
    "an empty object first",
    piece({ index: 0, id: "a", ...f(A[0], "{}") }) +
      piece({ index: 0, ...f(undefined, a1) }) +
      piece({ index: 0, ...f(undefined, a2) }) +
      piece({ index: 1, id: "b", ...f(B[0], {}) }) +
      piece({ index: 1, ...f(undefined, jsonB) }),
  ],
  [
    "names in pieces",
    piece({ index: 0, id: "a", ...f("get_") }) +
      piece({ index: 0, ...f("weather", jsonA) }) +
      piece({ index: 1, id: "b", ...f("search_") }) +
      piece({ index: 1, ...f("history", "") }) +
      piece({ index: 1, ...f(undefined, jsonB) }),
  ],
  [
    "names in pieces, without ids and index",
    piece(f("get_")) + piece(f("weather", jsonA)) + piece(f("search_history", jsonB)),
  ],
  [
    "arguments before the name",
    piece({ index: 0, id: "a", ...f(undefined, a1) }) +
      piece({ index: 0, id: "a", ...f(A[0], a2) }) +
      piece({ index: 1, ...f(undefined, b1) }) +
      piece({ index: 1, id: "b", ...f(B[0], b2) }),
  ],
  // vLLM's issue 32587.
  [
    "gpt-oss's marks behind the names",
    piece({ index: 0, id: "a", ...f(`${A[0]}<|channel|>commentary`, jsonA) }) +
      piece({ index: 1, id: "b", ...f(`${B[0]}<|channel|>json`, jsonB) }),
  ],
  [
    "without `function`",
    piece({ index: 0, id: "a", name: A[0], arguments: jsonA }) +
      piece({ index: 1, id: "b", name: B[0], arguments: B[1] }),
  ],
];

test("the same for ever is cut off", () => {
  const endless = [
    choice({ delta: { content: "once only" } }),
    choice({
      delta: {
        tool_calls: [{ index: 0, id: "a", function: { name: "get_weather", arguments: '{"a":"x' } }],
      },
    }),
    choice({
      delta: { tool_calls: [{ index: 0, id: "a", function: { name: "get_weather", arguments: "{}" } }] },
    }),
  ];
  for (const event of endless) {
    const answer = new AnswerAccumulator({ ...REQUEST, maxOutputTokens: 50 });
    for (const text of ["once", " only"]) answer.add(readChunk(choice({ delta: { content: text } })));
    let events = 0;
    for (; !answer.isOverlong && events < 10_000; events++) answer.add(readChunk(event));
    assert.ok(events <= 801, `${events} events`);
  }
});

describe("two calls", () => {
  for (const [name, body] of two)
    test(`come whole and apart: ${name}`, async () => {
      const answer = await read(body + delta({}, "tool_calls") + DONE);
      assert.ok(typeof answer !== "string");
      assert.deepEqual(answer.calls, [A, B]);
      assert.equal(new Set(answer.ids).size, 2);
    });
});

describe("calls", () => {
  test("keep ids that are numbers, for the results", async () => {
    const answer = await read(piece({ index: 0, id: 17, ...f(A[0], jsonA) }) + delta({}, "tool_calls"));
    assert.deepEqual(typeof answer === "string" ? answer : answer.ids, ["17"]);
  });

  test("may have no arguments, null or a list, and `function` may be null", async () => {
    for (const json of [undefined, null, "", "null", {}]) {
      const answer = await read(
        piece({ index: 0, id: "a", ...f(A[0], json) }, { index: 1, function: null }) + STOP,
      );
      assert.deepEqual(typeof answer === "string" ? answer : answer.calls, [[A[0], {}]]);
    }
  });

  test("come as the one `function_call` of old", async () => {
    const body =
      delta({ function_call: { name: A[0], arguments: a1 } }) + delta({ function_call: { arguments: a2 } });
    const answer = await read(body + delta({}, "function_call"));
    assert.deepEqual(typeof answer === "string" ? answer : answer.calls, [A]);
  });

  test("are two where the same is asked for twice", async () => {
    const both = piece({ index: 0, id: "a", ...f(A[0], jsonA) }, { index: 1, id: "b", ...f(A[0], jsonA) });
    for (const body of [both, piece({ ...f(A[0], jsonA) }, { ...f(A[0], jsonA) })]) {
      const answer = await read(body + STOP);
      assert.deepEqual(typeof answer === "string" ? answer : answer.calls, [A, A]);
    }
  });
});
