import assert from "node:assert/strict";
import { test } from "node:test";
import type { EmbeddingsConfig } from "../../src/config/config.ts";
import { createEmbeddings } from "../../src/llm/embeddings.ts";
import { ModelError } from "../../src/llm/model.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";

const KEY = "sk-embeddings-key";

function asked(server: ModelServer, overrides: Partial<EmbeddingsConfig> = {}) {
  const embeddings = createEmbeddings({
    model: "words",
    sentAs: "words",
    serverHeaders: {},
    dimensions: 0,
    baseUrl: server.url,
    apiKey: KEY,
    ...overrides,
  });
  return async (...texts: string[]) => (await embeddings.embed(texts, AbortSignal.timeout(5000))).vectors;
}

async function failure(work: Promise<unknown>): Promise<ModelError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof ModelError, String(error));
    assert.doesNotMatch(error.message, new RegExp(KEY));
    return error;
  }
  return assert.fail("it did not fail");
}

test("texts are sent together, and each has its vector", async () => {
  await using server = await startModelServer();
  server.embed = ({ input }) => input.map((text) => [text.length, -1]);
  assert.deepEqual(await asked(server)("a", "bcd"), [
    [1, -1],
    [3, -1],
  ]);
  assert.deepEqual(server.embedded, [{ model: "words", input: ["a", "bcd"], encoding_format: "float" }]);
  await asked(server, { dimensions: 2 })("a");
  assert.equal(server.embedded[1]?.dimensions, 2);
});

test("what texts come to is told where the server tells it, and nonsense costs nobody the vectors", async () => {
  await using server = await startModelServer();
  server.embed = ({ input }) => input.map(() => [1]);
  const embeddings = createEmbeddings({
    model: "words",
    sentAs: "words",
    serverHeaders: {},
    dimensions: 0,
    baseUrl: server.url,
    apiKey: null,
  });
  for (const [told, tokens] of [
    [7, 14],
    [undefined, null],
    ["many", null],
    [-1, null],
    [1e300, null],
  ] as const) {
    server.tokensOfText = told;
    assert.deepEqual(await embeddings.embed(["a", "b"], AbortSignal.timeout(5000)), {
      vectors: [[1], [1]],
      promptTokens: tokens,
    });
  }
});

test("what is wrong with an answer is said", async () => {
  await using server = await startModelServer();
  const other = await failure(asked(server)("a"));
  assert.deepEqual([other.kind, other.status], ["rejected", 404]);
  server.embed = () => [[1]];
  assert.match((await failure(asked(server)("a", "b"))).message, /1 vectors for 2 texts/);
  assert.match((await failure(asked(server, { dimensions: 3 })("a"))).message, /has 1 numbers, and not 3/);
  server.embed = () => [[1], [1, 2]];
  assert.match((await failure(asked(server)("a", "b"))).message, /has 2 numbers, and not 1/);
  server.embed = () => [[]];
  assert.match((await failure(asked(server)("a"))).message, /no list of embeddings/);
});

test("an answer that is too long to be read whole is one that fewer texts may mend", async () => {
  await using server = await startModelServer();
  server.embed = ({ input }) => input.map(() => Array.from({ length: 300_000 }, () => 0.1234567890123));
  const { kind, message } = await failure(asked(server)("a", "b"));
  assert.deepEqual([kind, /too long/.test(message)], ["rejected", true]);
});

test("a server that refuses the key, or has trouble, is told apart", async () => {
  await using server = await startModelServer();
  server.embed = () => ({ status: 401, message: `no such key: ${KEY}` });
  assert.equal((await failure(asked(server)("a"))).kind, "unauthorized");
  server.embed = () => ({ status: 503, message: "busy" });
  assert.equal((await failure(asked(server)("a"))).kind, "unavailable");
  await server.leave();
  assert.equal((await failure(asked(server)("a"))).kind, "unavailable");
});
