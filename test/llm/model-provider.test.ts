// proves: src/llm/catalog/model-listing.ts, src/llm/catalog/ollama.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { OperatorError } from "../../src/core/errors.ts";
import { ModelError } from "../../src/llm/model.ts";
import { createRetryingModel } from "../../src/llm/retrying-model.ts";
import { OPENAI_AUTO_MODEL, openModels } from "../../src/llm/model-provider.ts";
import { stalledStream, status, text } from "../support/model-behaviours.ts";
import { llm, modelSaid } from "../support/llm-config.ts";
import { ask } from "../support/model-calls.ts";
import { startModelServer } from "../support/model-server.ts";

/** A port of loopback on which nobody listens. */
async function unusedOrigin(): Promise<string> {
  const server = await startModelServer();
  await server[Symbol.asyncDispose]();
  return server.origin;
}

describe("models come", () => {
  test("from the configured server, without a key if there is none", async () => {
    await using server = await startModelServer();
    server.reply(text("hello"));
    await using models = await openModels(llm({ baseUrl: `${server.url}/` }));
    assert.equal(models.isOffline, false);
    assert.equal((await ask(models.model, { model: "some-model" })).answer?.text, "hello");
    assert.equal(server.requests[0]?.body.model, "some-model");
    assert.match(models.describe(), new RegExp(`^${server.origin} .no key`));
  });

  test("with the key, which no description shows", async () => {
    await using server = await startModelServer();
    server.reply(text("hello"));
    await using models = await openModels(llm({ baseUrl: server.url, apiKey: "sk-secret" }));
    await ask(models.model);
    assert.equal(server.requests[0]?.headers.authorization, "Bearer sk-secret");
    assert.doesNotMatch(models.describe(), /secret/);
  });

  test("from OpenAI where only a key is set, and nothing is asked before the first turn", async () => {
    await using models = await openModels(llm({ apiKey: "sk-secret" }));
    assert.match(models.describe(), /^https:\/\/api\.openai\.com /);
    assert.equal(await models.resolve("auto"), OPENAI_AUTO_MODEL);
    assert.equal(await models.resolve("gpt-4o"), "gpt-4o");
    assert.equal(models.windowOf("gpt-4o", 0), 128_000);
  });

  test("from an Ollama on this machine where nothing is configured", async () => {
    await using server = await startModelServer();
    server.routes["GET /api/tags"] = { models: [{ name: "gemma3:4b" }] };
    server.models = [{ id: "nomic-embed-text:latest" }, { id: "gemma3:4b" }];
    server.reply(text("hello"));
    await using models = await openModels(llm(), { ollamaOrigin: server.origin });
    assert.equal(models.isOffline, false);
    assert.equal((await ask(models.model, { model: "auto" })).answer?.model, "gemma3:4b");
  });

  test("from the offline model otherwise, which says what it is and what to do", async () => {
    await using models = await openModels(llm(), { ollamaOrigin: await unusedOrigin() });
    assert.equal(models.isOffline, true);
    assert.match(models.describe(), /not a language model.*OPENAI_API_KEY/);
    assert.equal(await models.resolve("auto"), "offline");
    assert.match((await ask(models.model)).answer?.text ?? "", /not a language model/);
  });

  test("from the offline model where the Ollama has no model, or is something else, or does not answer", async () => {
    await using server = await startModelServer();
    server.routes["GET /api/tags"] = { models: [] };
    await using empty = await openModels(llm(), { ollamaOrigin: server.origin });
    assert.match(empty.describe(), /ollama pull/);
    server.routes["GET /api/tags"] = { hello: "world" };
    await using other = await openModels(llm(), { ollamaOrigin: server.origin });
    assert.equal(other.isOffline, true);
  });

  test("from nowhere where the URL is none", async () => {
    await assert.rejects(openModels(llm({ baseUrl: "zxqhost:8000" })), (error: Error) => {
      assert.ok(error instanceof OperatorError);
      assert.doesNotMatch(error.message, /zxqhost/);
      return true;
    });
  });
});

describe("what [models] says of a model", () => {
  const said = [modelSaid({ name: "small", contextWindow: 5000, maxOutputTokens: 100 })];

  test("is its window, over an agent's own and the table's, and under a refusal", async () => {
    await using server = await startModelServer();
    await using models = await openModels(llm({ baseUrl: server.url, models: said }));
    assert.equal(models.windowOf("small", 0), 5000);
    assert.equal(models.windowOf("small", 200_000), 5000);
    assert.equal(models.windowOf("other", 200_000), 200_000);
    models.learnWindow("small", 4000);
    assert.equal(models.windowOf("small", 200_000), 4000);
  });

  test("is the longest answer that it is asked for", async () => {
    await using server = await startModelServer();
    await using models = await openModels(llm({ baseUrl: server.url, models: said }));
    for (const [model, expected] of [
      ["small", 100],
      ["other", 2000],
    ] as const) {
      server.reply(text("hello"));
      await ask(models.model, { model, maxOutputTokens: 2000 });
      const body = server.requests.at(-1)?.body;
      assert.equal(body?.max_tokens ?? body?.max_completion_tokens, expected);
    }
    server.reply(text("hello"));
    await ask(models.model, { model: "small", maxOutputTokens: 16 });
    const last = server.requests.at(-1)?.body;
    assert.equal(last?.max_tokens ?? last?.max_completion_tokens, 16);
  });
});

describe("the model `auto`", () => {
  test("is the first that the server lists and one can chat with, asked for once", async () => {
    await using server = await startModelServer();
    server.models = [{ id: "text-embedding-3" }, { id: "bge-m3" }, { id: "chatty" }, { id: "other" }];
    await using models = await openModels(llm({ baseUrl: server.url }));
    assert.equal(await models.resolve("auto"), "chatty");
    assert.equal(await models.resolve("auto"), "chatty");
    assert.deepEqual(server.otherRequests.toSorted(), [
      "GET /api/tags",
      "GET /api/version",
      "GET /v1/models",
    ]);
    assert.match(models.describe(), /chatty/);
  });

  test("fails without a word of the address's path, where some servers want a key", async () => {
    await using server = await startModelServer();
    const path = "/zxqpathkey/v1";
    const listings: unknown[] = [{ data: [] }, { detail: "no" }];
    for (const listing of listings) {
      server.routes[`GET ${path}/models`] = listing;
      await using models = await openModels(llm({ baseUrl: `${server.origin}${path}` }));
      assert.ok(models.describe().startsWith(`${server.origin} (`));
      const { failure } = await ask(models.model, { model: "auto" });
      const message = failure?.message ?? "";
      assert.ok(message.startsWith(`${server.origin} `), message);
      assert.doesNotMatch(message, /zxqpathkey/);
    }
    await using down = await openModels(llm({ baseUrl: `${await unusedOrigin()}${path}` }));
    const { failure } = await ask(down.model, { model: "auto" });
    assert.match(failure?.message ?? "", /No model server answers at http:\/\/127/);
    assert.doesNotMatch(failure?.message ?? "", /zxqpathkey/);
  });

  test("fails with advice while the server is down, and works as soon as it is up", async () => {
    const origin = await unusedOrigin();
    await using models = await openModels(llm({ baseUrl: `${origin}/v1` }));
    const { failure } = await ask(models.model, { model: "auto" });
    assert.equal(failure?.kind, "unavailable");
    assert.match(failure.message, /ECONNREFUSED.*Is it running\? Check llm\.base_url/);
    await using server = await startModelServer({ port: Number(new URL(origin).port) });
    server.reply(text("hello"));
    assert.equal((await ask(models.model, { model: "auto" })).answer?.text, "hello");
  });

  test("fails with advice where the server lists nothing or refuses", async () => {
    await using server = await startModelServer();
    await using models = await openModels(llm({ baseUrl: server.url }));
    server.models = undefined;
    await assert.rejects(
      models.resolve("auto"),
      (error) => error instanceof ModelError && /404/.test(error.message),
    );
    server.models = [];
    await assert.rejects(models.resolve("auto"), /lists no model/);
  });
});

test("the model `auto` is another one once the server serves another, for an agent that knows the first by its name, too", async () => {
  await using server = await startModelServer();
  let served = "first";
  server.respond(({ model }) =>
    model === served ? text(`from ${served}`) : status(404, { error: { message: "no such model" } }),
  );
  server.models = [{ id: "first" }];
  await using models = await openModels(llm({ baseUrl: server.url }));
  assert.equal((await ask(models.model, { model: "auto" })).answer?.text, "from first");
  served = "second";
  server.models = [{ id: "second" }];
  assert.equal((await ask(models.model, { model: "first" })).answer?.text, "from second");
  assert.equal(await models.resolve("auto"), "second");
  assert.equal((await ask(models.model, { model: "nobody" })).failure?.kind, "rejected");
  served = "third";
  assert.equal((await ask(models.model, { model: "auto" })).failure?.kind, "rejected");
});

describe("a model's window", () => {
  test("is configured, listed by the server, known, or assumed", async () => {
    await using server = await startModelServer();
    server.models = [
      { id: "a", max_model_len: 16_384 },
      { id: "b", context_length: 65_536 },
      { id: "llama3.1", object: "model" },
      { id: "nobody-knows-it" },
    ];
    await using models = await openModels(llm({ baseUrl: server.url }));
    assert.equal(models.windowOf("a", 0), 32_768);
    await models.resolve("a");
    assert.equal(models.windowOf("a", 0), 16_384);
    assert.equal(models.windowOf("a", 20_000), 20_000);
    assert.equal(models.windowOf("b", 0), 65_536);
    assert.equal(models.windowOf("llama3.1", 0), 131_072);
    assert.equal(models.windowOf("nobody-knows-it", 0), 32_768);
  });

  test("does not keep a named model from being used where the server lists nothing", async () => {
    await using server = await startModelServer();
    server.models = undefined;
    server.respond(() => text("hello"));
    await using models = await openModels(llm({ baseUrl: server.url }));
    await ask(models.model, { model: "named" });
    await ask(models.model, { model: "named" });
    assert.deepEqual(server.otherRequests.toSorted(), [
      "GET /api/tags",
      "GET /api/version",
      "GET /v1/models",
    ]);
    assert.equal(server.requests.length, 2);
  });
});

describe("the window of a model in Ollama", () => {
  test("is the one that Ollama has loaded the model with, which it cuts prompts to without an error", async () => {
    await using server = await startModelServer();
    server.routes["GET /api/tags"] = { models: [{ name: "llama3.1:latest" }] };
    server.routes["GET /api/ps"] = { models: [{ name: "llama3.1:latest", context_length: 4096 }] };
    await using models = await openModels(llm(), { ollamaOrigin: server.origin });
    assert.equal(models.windowOf("llama3.1", 0), 32_768);
    await models.resolve("llama3.1");
    assert.equal(models.windowOf("llama3.1", 0), 4096);
    assert.equal(models.windowOf("llama3.1", 8192), 4096);
    // Of an earlier time, when it ran with more.
    models.learnFactor("llama3.1", { estimated: 5000, reported: 6000 });
    models.learnWindow("llama3.1", 2048);
    assert.equal(models.windowOf("llama3.1", 0), 4096);
  });

  test("is looked up by loading the model where Ollama has not, and not again at every turn", async () => {
    await using server = await startModelServer();
    server.routes["GET /api/tags"] = { models: [{ name: "llama3.1:latest" }] };
    server.routes["GET /api/ps"] = { models: [] };
    server.routes["POST /api/generate"] = { done: true };
    await using models = await openModels(llm(), { ollamaOrigin: server.origin });
    await models.resolve("llama3.1");
    await models.resolve("llama3.1");
    assert.deepEqual(server.otherRequests, [
      "GET /api/tags",
      "GET /v1/models",
      "GET /api/ps",
      "POST /api/show",
      "POST /api/generate",
      "GET /api/ps",
    ]);
    assert.equal(models.windowOf("llama3.1", 0), 32_768);
  });
});

describe("an Ollama", () => {
  test("is known by its API, whatever its port is, and tells the window of a model that runs, or what is set for it", async () => {
    for (const [routes, window] of [
      [{ "GET /api/ps": { models: [{ name: "llama3.1:latest", context_length: 4096 }] } }, 4096],
      [{ "GET /api/ps": { models: [] }, "POST /api/show": { parameters: "stop x\nnum_ctx     8192" } }, 8192],
    ] as const) {
      await using server = await startModelServer();
      Object.assign(server.routes, { "GET /api/version": { version: "0.13.3" }, ...routes });
      const small: unknown[] = [];
      await using models = await openModels(llm({ baseUrl: server.url }), {
        onSmallOllama: (...told) => small.push(told),
      });
      assert.equal(models.windowOf("llama3.1", 0), 131_072);
      await models.resolve("llama3.1");
      assert.deepEqual(models.knownWindow("llama3.1", 0), { tokens: window, source: "listed", until: null });
      assert.deepEqual(small, []);
    }
  });

  test("tells what a model could have, where it gives it less", async () => {
    await using server = await startModelServer();
    Object.assign(server.routes, {
      "GET /api/tags": { models: [{ name: "gemma3:latest" }] },
      "GET /api/ps": { models: [{ name: "gemma3:latest", context_length: 4096 }] },
      "POST /api/show": { model_info: { "gemma3.embedding_length": 2560, "gemma3.context_length": 131_072 } },
    });
    const small: unknown[] = [];
    await using models = await openModels(llm({ baseUrl: server.url }), {
      onSmallOllama: (...told) => small.push(told),
    });
    await models.resolve("gemma3");
    await models.resolve("gemma3");
    assert.deepEqual(models.knownWindow("gemma3", 0), {
      tokens: 4096,
      source: "listed",
      until: null,
      most: 131_072,
    });
    assert.deepEqual(small, [["gemma3", 4096, 131_072]]);
  });

  test("is not what has a version alone", async () => {
    await using server = await startModelServer();
    server.routes["GET /api/version"] = { version: "0.6.5" };
    await using models = await openModels(llm({ baseUrl: server.url }));
    await models.resolve("llama3.1");
    await models.resolve("llama3.1");
    assert.equal(models.windowOf("llama3.1", 0), 131_072);
    assert.deepEqual(server.otherRequests.toSorted(), [
      "GET /api/ps",
      "GET /api/tags",
      "GET /api/version",
      "GET /v1/models",
    ]);
  });
});

describe("a window that was learned", () => {
  test("is what a refusal taught, and only shrinks", async () => {
    await using models = await openModels(llm({ apiKey: "key" }));
    models.learnWindow("gpt-4o", 100_000);
    models.learnWindow("gpt-4o", 110_000);
    assert.equal(models.windowOf("gpt-4o", 0), 100_000);
    assert.equal(models.windowOf("gpt-4o", 120_000), 100_000);
    assert.equal(models.windowOf("gpt-4o", 8000), 8000);
  });

  test("is never less than the least that the configuration takes, nor than a prompt that was answered", async () => {
    await using models = await openModels(llm({ apiKey: "key" }));
    models.learnWindow("gpt-4o", 50);
    assert.equal(models.windowOf("gpt-4o", 0), 1024);
    models.learnFactor("gpt-4o", { estimated: 5000, reported: 6000 });
    assert.equal(models.windowOf("gpt-4o", 0), 6000);
    assert.equal(models.windowOf("gpt-4o", 4000), 4000);
    models.learnFactor("gpt-4o", { estimated: 5000, reported: 4_000_000 });
    assert.equal(models.windowOf("gpt-4o", 0), 6000, "a count that nobody can believe");
    models.learnFactor("gpt-4.1", { estimated: 5000, reported: 6000 });
    assert.equal(models.windowOf("gpt-4.1", 0), 1_047_576, "no refusal, nothing to correct");
  });
});

describe("a picture", () => {
  const PICTURE = { type: "image/png", base64: "AAAA" };
  const messages = [{ role: "user", text: "what is this? [image a.png]", images: [PICTURE] }] as const;

  test("is not sent to a model that is said not to see, also as a fallback", async () => {
    await using server = await startModelServer();
    const said = [modelSaid({ name: "blind", seesImages: false })];
    await using models = await openModels(llm({ baseUrl: server.url, models: said }));
    const model = createRetryingModel(models.model, { fallbacks: ["blind"], maxAttempts: 1 });
    server.respond((request) => (request.model === "sighted" ? status(500, {}) : text("a mill")));
    const { answer } = await ask(model, { model: "sighted", messages });
    assert.equal(answer?.model, "blind");
    assert.deepEqual(
      server.requests.map(({ body }) => [body.model, body.messages[0]?.content]),
      [
        ["sighted", "what is this? [image a.png]<image>"],
        ["blind", "what is this? [image a.png]"],
      ],
    );
    assert.doesNotMatch(server.requests.at(-1)?.raw ?? "", /image_url/);
  });
});

describe("a price", () => {
  test("is configured, or listed by the server for a token, or unknown", async () => {
    await using server = await startModelServer();
    server.models = [
      { id: "a", pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003" } },
      { id: "b", pricing: { prompt: "0.0000001", completion: "0" } },
      { id: "router", pricing: { prompt: "-1", completion: "-1" } },
      { id: "per-million", pricing: { input: 3, output: 15 } },
      { id: "numbers", pricing: { prompt: 3, completion: 15 } },
      { id: "nonsense", pricing: "cheap" },
    ];
    const said = [modelSaid({ name: "b", priceIn: 7, priceOut: 8 })];
    await using models = await openModels(llm({ baseUrl: server.url, models: said }));
    assert.equal(models.priceOf("a"), undefined);
    await models.resolve("a");
    assert.deepEqual(models.priceOf("a"), { input: 3, cached: 0.3, write: 3, output: 15 });
    assert.deepEqual(models.priceOf("b"), { input: 7, cached: 7, write: 7, output: 8 });
    for (const model of ["router", "per-million", "numbers", "nonsense", "unlisted"])
      assert.equal(models.priceOf(model), undefined, model);
  });

  test("of the built-in stand-in is nothing, and of other models it knows none", async () => {
    await using models = await openModels(llm(), { ollamaOrigin: await unusedOrigin() });
    assert.deepEqual(models.priceOf("offline"), { input: 0, cached: 0, write: 0, output: 0 });
    assert.equal(models.priceOf("gpt-6-luna"), undefined);
  });
});

describe("disposing", () => {
  test("ends the calls in flight", async () => {
    await using server = await startModelServer();
    server.reply(stalledStream("half"));
    const models = await openModels(llm({ baseUrl: server.url }));
    const asked = ask(models.model);
    await server.received(1);
    await models[Symbol.asyncDispose]();
    assert.equal((await asked).failure?.kind, "aborted");
    assert.equal(await server.requests[0]?.done, "aborted");
  });
});
