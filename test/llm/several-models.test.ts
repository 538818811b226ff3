import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { openModels } from "../../src/llm/model-provider.ts";
import { createRetryingModel } from "../../src/llm/retrying-model.ts";
import type { LearnedModels } from "../../src/llm/catalog/learned-models.ts";
import type { ServerConfig } from "../../src/config/config.ts";
import { status, text } from "../support/model-behaviours.ts";
import { llm, modelSaid } from "../support/llm-config.ts";
import { ask } from "../support/model-calls.ts";
import { startModelServer } from "../support/model-server.ts";

function named(name: string, baseUrl: string, more: Partial<ServerConfig> = {}): ServerConfig {
  return { name, baseUrl, apiKey: null, api: "auto", headers: {}, ...more };
}

test("headers of the environment never replace a server's own key", async (t) => {
  for (const name of ["OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"]) {
    const before = process.env[name];
    process.env[name] = "Authorization: Bearer of-another-server";
    t.after(() => {
      if (before === undefined) delete process.env[name];
      else process.env[name] = before;
    });
  }
  await using server = await startModelServer();
  const paths: string[] = [];
  server.respond(({ model }) => {
    paths.push(model);
    return text("hello");
  });
  for (const api of ["chat", "messages"] as const) {
    const servers = [named("one", server.url, { api, apiKey: "sk-own-key" })];
    await using models = await openModels(llm({ servers }));
    await ask(models.model, { model: "one/small" });
  }
  const keys = server.requests.map(({ headers }) => headers.authorization);
  assert.ok(keys.length > 0);
  assert.deepEqual([...new Set(keys)], ["Bearer sk-own-key"]);
});

test("what was said to a server that a reload takes away goes to no other", async () => {
  await using first = await startModelServer();
  await using second = await startModelServer();
  const config = llm({ baseUrl: first.url, servers: [named("home", second.url)] });
  await using models = await openModels(config);
  models.configure({ ...config, servers: [] });
  const { failure } = await ask(models.model, { model: "home/small" });
  assert.match(failure?.message ?? "", /no server "home" any more/);
  assert.deepEqual([first.requests.length, second.requests.length], [0, 0]);
  models.configure(config);
  second.respond(() => text("here again"));
  assert.equal((await ask(models.model, { model: "home/small" })).answer?.text, "here again");
});

describe("several servers", () => {
  test("a model's name says whose it is, and each is sent its own key, headers and name", async () => {
    await using first = await startModelServer();
    await using second = await startModelServer();
    first.respond(() => text("from the first"));
    second.respond(() => text("from the second"));
    const servers = [named("fast", second.url, { apiKey: "sk-fast-key", headers: { "x-team": "blue" } })];
    await using models = await openModels(llm({ baseUrl: first.url, apiKey: "sk-main-key", servers }));
    const asked = await ask(models.model, { model: "fast/google/gemma" });
    assert.deepEqual([asked.answer?.text, asked.answer?.model], ["from the second", "fast/google/gemma"]);
    assert.equal(asked.records[0]?.model, "fast/google/gemma");
    const { body, headers } = second.requests[0] ?? {};
    assert.deepEqual(
      [body?.model, headers?.authorization, headers?.["x-team"]],
      ["google/gemma", "Bearer sk-fast-key", "blue"],
    );
    // No server is called google.
    assert.equal((await ask(models.model, { model: "google/gemma" })).answer?.text, "from the first");
    assert.equal(first.requests[0]?.body.model, "google/gemma");
    assert.equal(first.requests[0]?.headers.authorization, "Bearer sk-main-key");
    assert.match(models.describe(), /fast: http/);
    assert.doesNotMatch(models.describe(), /sk-/);
  });

  test("a fallback answers from another server where the first is down", async () => {
    await using first = await startModelServer();
    await using second = await startModelServer();
    await first.leave();
    second.reply(text("I am here"));
    await using models = await openModels(llm({ baseUrl: first.url, servers: [named("fast", second.url)] }));
    const passedOver: string[] = [];
    const model = createRetryingModel(models.model, {
      fallbacks: ["fast/small"],
      maxAttempts: 1,
      onPassedOver: (by, failure) => passedOver.push(`${by} for ${failure.model}`),
    });
    const { answer, records } = await ask(model, { model: "big" });
    assert.deepEqual([answer?.text, answer?.model], ["I am here", "fast/small"]);
    assert.deepEqual(
      records.map((record) => [record.model, record.outcome]),
      [
        ["big", "unavailable"],
        ["fast/small", "answered"],
      ],
    );
    assert.deepEqual(passedOver, ["fast/small for big"]);
  });

  test("a refusal names the model in full, and hides its server's key", async () => {
    await using server = await startModelServer();
    server.reply(status(400, "the key sk-fast-key is fine, the model is not"));
    const servers = [named("fast", server.url, { apiKey: "sk-fast-key" })];
    await using models = await openModels(llm({ servers }));
    const { failure } = await ask(models.model, { model: "fast/small" });
    assert.equal(failure?.model, "fast/small");
    assert.doesNotMatch(failure.message, /sk-fast/);
  });
});

describe("what is known of a model", () => {
  test("windows, prices, pictures and `auto` are those of the model's own server", async () => {
    await using first = await startModelServer();
    await using second = await startModelServer();
    first.models = [{ id: "small", context_length: 10_000 }];
    second.models = [
      { id: "small", context_length: 20_000, pricing: { prompt: "0.000001", completion: "0.000002" } },
    ];
    const said = [
      modelSaid({ name: "fast/blind", contextWindow: 5000, seesImages: false }),
      modelSaid({ name: "blind", contextWindow: 6000 }),
    ];
    const servers = [named("fast", second.url)];
    await using models = await openModels(llm({ baseUrl: first.url, servers, models: said }));
    assert.equal(await models.resolve("auto"), "small");
    assert.equal(await models.resolve("fast/auto"), "fast/small");
    assert.equal(models.windowOf("small", 0), 10_000);
    assert.equal(models.windowOf("fast/small", 0), 20_000);
    assert.equal(models.priceOf("fast/small")?.input, 1);
    assert.equal(models.priceOf("small"), undefined);
    assert.deepEqual([models.windowOf("fast/blind", 0), models.windowOf("blind", 0)], [5000, 6000]);
    assert.deepEqual([models.seesImages("fast/blind"), models.seesImages("blind")], [false, true]);
    models.learnWindow("fast/small", 3000);
    assert.deepEqual([models.windowOf("fast/small", 0), models.windowOf("small", 0)], [3000, 10_000]);
  });

  test("there is a model as long as any server is named: the first answers names without one", async () => {
    await using server = await startModelServer();
    server.respond(() => text("hello"));
    await using models = await openModels(llm({ servers: [named("only", server.url)] }));
    assert.equal(models.isOffline, false);
    assert.equal(await models.resolve("auto"), "test-model");
    assert.equal((await ask(models.model, { model: "auto" })).answer?.text, "hello");
    assert.equal((await ask(models.model, { model: "only/auto" })).answer?.model, "only/test-model");
  });

  test("what was learned is kept by server and by the name that the server has for the model", async () => {
    await using server = await startModelServer();
    const kept: string[] = [];
    const learned: LearnedModels = {
      load: async () => [{ model: "small", window: null, factor: 1.5 }],
      keepWindow: async (_, model) => void kept.push(model),
      keepFactor: async () => undefined,
    };
    await using models = await openModels(llm({ servers: [named("fast", server.url)] }), { learned });
    await models.recallLearned();
    assert.equal(models.factorOf("fast/small"), 1.5);
    models.learnWindow("fast/small", 3000);
    await models[Symbol.asyncDispose]();
    assert.deepEqual(kept, ["small"]);
  });
});

describe("a reload", () => {
  test("puts a changed server in force from the next request on, and a call in flight goes on", async () => {
    await using old = await startModelServer();
    await using next = await startModelServer();
    const gate = Promise.withResolvers<void>();
    old.reply(async (exchange) => {
      await gate.promise;
      await text("from the old one")(exchange);
    });
    next.respond(() => text("from the new one"));
    await using models = await openModels(llm({ servers: [named("fast", old.url)] }));
    const asked = ask(models.model, { model: "fast/small" });
    await old.received(1);
    models.configure({ models: [], servers: [named("fast", next.url)] });
    assert.equal((await ask(models.model, { model: "fast/small" })).answer?.text, "from the new one");
    gate.resolve();
    assert.equal((await asked).answer?.text, "from the old one");
  });

  test("keeps what was learned of a server that stays as it is", async () => {
    await using server = await startModelServer();
    const servers = [named("fast", server.url)];
    await using models = await openModels(llm({ servers }));
    models.learnWindow("fast/small", 3000);
    const more = modelSaid({ name: "fast/other", contextWindow: 4000 });
    models.configure({ models: [more], servers: [...servers, named("slow", server.url)] });
    assert.equal(models.windowOf("fast/small", 0), 3000);
    assert.equal(models.windowOf("fast/other", 0), 4000);
    const window = models.trying({ models: [], servers: [] }, () => models.windowOf("fast/other", 0));
    assert.equal(window, 32_768);
    assert.equal(models.windowOf("fast/other", 0), 4000);
  });
});
