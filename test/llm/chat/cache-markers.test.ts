import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { z } from "zod";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import { cacheRuleOf } from "../../../src/llm/caches/rules.ts";
import type { TextEnd } from "../../../src/core/canonical.ts";
import type { Model, ModelRequest } from "../../../src/llm/model.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import { type ModelServer, type RecordedRequest, startModelServer } from "../../support/model-server.ts";

function modelOf(server: ModelServer, marked = "marked"): Model {
  return createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    cacheRule: (model) => ({
      ...cacheRuleOf({ hostname: "", model, said: model === marked, api: "chat" }),
      least: 0,
    }),
    timeouts: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
  });
}

const MESSAGES: ModelRequest["messages"] = [
  { role: "system", text: "You are Weir. 🦫" },
  { role: "user", text: "[Compaction Summary]: 昔々\none" },
  { role: "assistant", text: "", calls: [{ id: "c1", name: "search_history", arguments: "{}" }] },
  { role: "tool", callId: "c1", text: "nothing" },
  { role: "assistant", text: "two", calls: [] },
  { role: "user", text: "three\nnow it is noon" },
];
const SUMMARIES = { message: 1, length: "[Compaction Summary]: 昔々".length };
const REQUEST = {
  model: "marked",
  messages: MESSAGES,
  tools: [SEARCH_HISTORY],
  stableEnds: [endOf(0), SUMMARIES, { message: 5, length: "three".length }],
};

/** The end of a message. */
function endOf(message: number, messages = MESSAGES): TextEnd {
  return { message, length: messages[message]?.text.length ?? 99 };
}

const textPart = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  cache_control: z.strictObject({ type: z.literal("ephemeral") }).optional(),
});
const bodySchema = z.looseObject({ messages: z.array(z.looseObject({ content: z.unknown() })) });
const partsSchema = z.array(z.union([textPart, z.looseObject({ type: z.literal("image_url") })]));

/** The texts of the parts with a marker, each with the place of its message. */
function markedIn({ raw }: RecordedRequest): [place: number, text: string][] {
  const { messages } = bodySchema.parse(JSON.parse(raw));
  return messages.flatMap(({ content }, place) => {
    const parts = partsSchema.safeParse(content).data ?? [];
    return parts.flatMap((part): [number, string][] =>
      part.type === "text" && part.cache_control !== undefined ? [[place, part.text]] : [],
    );
  });
}

async function sent(overrides: Partial<ModelRequest> = {}): Promise<RecordedRequest> {
  await using server = await startModelServer();
  server.respond(() => text("ok"));
  const { failure } = await ask(modelOf(server), { ...REQUEST, ...overrides });
  assert.equal(failure, undefined);
  const [request] = server.requests;
  assert.ok(request !== undefined);
  return request;
}

describe("cache markers", () => {
  test("stand at the end of the system prompt, of the summaries, and of what the next request begins with", async () => {
    const request = await sent();
    assert.deepEqual(markedIn(request), [
      [0, "You are Weir. 🦫"],
      [1, "[Compaction Summary]: 昔々"],
      [5, "three"],
    ]);
    assert.equal(request.raw.match(/cache_control/g)?.length, 3);
  });

  test("change no byte of a text", async () => {
    const marked = await sent();
    const plain = await sent({ model: "plain" });
    const textsOf = ({ body }: RecordedRequest) => body.messages.map(({ role, content }) => [role, content]);
    assert.deepEqual(textsOf(marked), textsOf(plain));
    assert.deepEqual(markedIn(plain), []);
    assert.doesNotMatch(plain.raw, /cache_control/);
  });

  test("stand on texts that say something, before calls, results and pictures", async () => {
    const before = [[1, "[Compaction Summary]: 昔々\none"]];
    assert.deepEqual(markedIn(await sent({ stableEnds: [endOf(3)] })), before);
    assert.deepEqual(markedIn(await sent({ stableEnds: [{ message: 5, length: 0 }] })), before);
    const images = [{ type: "image/png", base64: "AAAA", at: "look".length }];
    const messages = [...MESSAGES.slice(0, 1), { role: "user", text: "look\nnow", images } as const];
    const pictured = await sent({ messages, stableEnds: [{ message: 1, length: "look".length }] });
    assert.deepEqual(markedIn(pictured), [[1, "look"]]);
    assert.match(pictured.raw, /"look","cache_control":[^}]*\}\},\{"type":"image_url"[^\]]*"text":"\\nnow"/);
    const empty = [{ role: "user", text: " \n" } as const, { role: "user", text: "hi" } as const];
    assert.deepEqual(markedIn(await sent({ messages: empty, stableEnds: [{ message: 0, length: 2 }] })), []);
  });

  test("are never more than three, and none where nothing is stable", async () => {
    const messages = Array.from({ length: 9 }, (_, place) => ({ role: "user", text: `m${place}` }) as const);
    const stableEnds = [0, 1, 2, 3, 4, 5].map((message) => ({ message, length: 2 }));
    assert.deepEqual(markedIn(await sent({ messages, stableEnds })), [
      [0, "m0"],
      [4, "m4"],
      [5, "m5"],
    ]);
    assert.deepEqual(markedIn(await sent({ stableEnds: [] })), []);
    assert.deepEqual(markedIn(await sent({ stableEnds: [{ message: 0, length: 0 }] })), []);
    const beyond = [endOf(0), endOf(0), { message: 99, length: 99 }];
    assert.deepEqual(
      markedIn(await sent({ stableEnds: beyond })).map(([place]) => place),
      [0, 1, 5],
    );
  });
});

describe("cache markers that a server refuses", () => {
  for (const [name, refusal] of [
    [
      "names them",
      { error: { message: "messages.0.content.0.cache_control: Extra inputs are not permitted" } },
    ],
    [
      "wants plain texts",
      { detail: [{ loc: ["body", "messages", 0], msg: "Input should be a valid string" }] },
    ],
  ] as const) {
    test(`are left out for good of what a model is sent whose server ${name}`, async () => {
      await using server = await startModelServer();
      server.reply(status(400, refusal));
      server.respond(() => text("ok"));
      const model = modelOf(server);
      const { answer } = await ask(model, REQUEST);
      assert.equal(answer?.text, "ok");
      await ask(model, REQUEST);
      assert.deepEqual(
        server.requests.map((request) => markedIn(request).length),
        [3, 0, 0],
      );
    });
  }
});

describe("breakpoints", () => {
  const OPENAI = cacheRuleOf({ hostname: "api.openai.com", model: "gpt-6-luna", said: "auto", api: "chat" });
  const LONG = "A sentence of some words. ".repeat(400);
  const REQUESTED = {
    model: "gpt-6-luna",
    cacheKey: "room",
    messages: [{ role: "system", text: LONG } as const, ...MESSAGES.slice(1)],
    tools: [SEARCH_HISTORY],
    stableEnds: [{ message: 0, length: LONG.length }, ...REQUEST.stableEnds.slice(1)],
  };

  function newest(server: ModelServer): Model {
    const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
    const said = { apiKey: undefined, isOpenAi: false, takesCacheKey: false };
    return createChatModel({ baseUrl: server.url, ...said, cacheRule: () => OPENAI, timeouts });
  }

  test("are explicit, under the conversation's key, and on no assistant's text", async () => {
    await using server = await startModelServer();
    server.respond(() => text("ok"));
    await ask(newest(server), REQUESTED);
    const [{ raw } = { raw: "" }] = server.requests;
    const body = z
      .looseObject({
        prompt_cache_options: z.strictObject({ mode: z.literal("explicit") }),
        prompt_cache_key: z.literal("room"),
        messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
      })
      .parse(JSON.parse(raw));
    const marked = body.messages.filter(({ content }) =>
      JSON.stringify(content ?? "").includes("prompt_cache_breakpoint"),
    );
    assert.deepEqual(
      marked.map(({ role }) => role),
      ["system", "user", "user"],
    );
    assert.doesNotMatch(raw, /cache_control/);
  });

  test("are none where nothing is stable: then nothing is written", async () => {
    await using server = await startModelServer();
    server.respond(() => text("ok"));
    const { stableEnds: _, ...once } = REQUESTED;
    await ask(newest(server), once);
    const [{ raw } = { raw: "" }] = server.requests;
    assert.match(raw, /"prompt_cache_options":\{"mode":"explicit"\}/);
    assert.doesNotMatch(raw, /prompt_cache_breakpoint/);
  });

  for (const field of ["prompt_cache_options", "prompt_cache_breakpoint"]) {
    test(`are left out for good of what a model is sent that refuses ${field}`, async () => {
      await using server = await startModelServer();
      server.reply(status(400, { error: { message: `Unsupported parameter: '${field}'.` } }));
      server.respond(() => text("ok"));
      const model = newest(server);
      assert.equal((await ask(model, REQUESTED)).answer?.text, "ok");
      await ask(model, REQUESTED);
      assert.deepEqual(
        server.requests.map(({ raw }) => /prompt_cache_(?:options|breakpoint)/.test(raw)),
        [true, false, false],
      );
    });
  }
});
