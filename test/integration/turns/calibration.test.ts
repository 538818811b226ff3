// proves: src/core/calibration.ts, src/channel/model-usage.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { contextLengthError } from "../../support/model-refusals.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const WINDOW = 8192;
const USABLE = WINDOW - 2048;
const config = (model: string): string => `
[[agents]]
id = "main"
model = "${model}"
context_window = ${WINDOW}
max_output_tokens = 1024
generation_reserve = 1024
[agents.compaction]
enabled = false
`;
const PARAGRAPH = "The quick brown fox jumps over the lazy dog and reports to the committee. ".repeat(8);

/** A request's tokens by our own formula, near enough. */
function estimated({ messages, tools }: ChatRequest): number {
  const texts = messages.map(({ content }) => estimateTokens(content ?? "") + 4);
  return texts.reduce((sum, tokens) => sum + tokens, estimateTokens(JSON.stringify(tools ?? [])));
}

/** Answers and counts so many tokens for each that we estimate; a request over the window is refused. */
function countWith(server: ModelServer, rate: number): (request: ChatRequest) => number {
  const count = (body: ChatRequest): number => Math.ceil(estimated(body) * rate);
  server.respond((body) => {
    const prompt = count(body);
    return prompt > WINDOW ? contextLengthError("openai", WINDOW) : text("noted", { usage: { prompt } });
  });
  return count;
}

/** Says so many paragraphs, each answered before the next. */
async function talk(weir: TestWeir, room: string, messages: number): Promise<void> {
  for (let index = 1; index <= messages; index++) {
    const { length } = weir.platform.texts(room);
    await weir.say(`${index}: ${PARAGRAPH}`, { room });
    await weir.platform.until(() => weir.platform.texts(room).length > length);
  }
}

test("a model that counts 1.8 times our estimate never gets more than it has room for", async () => {
  await using server = await startModelServer();
  const countOf = countWith(server, 1.8);
  const connection = database.connection;
  await using weir = await startWeir({ connection, modelUrl: server.url, config: config("dear") });
  await talk(weir, "dear", 40);
  const counted = server.requests.map(({ body }) => countOf(body));
  assert.ok(Math.max(...counted) <= USABLE, `${Math.max(...counted)} tokens in ${USABLE}`);
  assert.ok(Math.max(...counted) > USABLE * 0.8, "and the window is used");
  assert.equal(counted.length, 40, "no request was made twice");
  assert.ok(weir.events.some(({ type }) => type === "emergency"));

  // What one channel has taught serves the next, at its first request.
  for (let index = 0; index < 40; index++) await weir.say(PARAGRAPH, { room: "other", addressed: false });
  await talk(weir, "other", 1);
  assert.equal(server.requests.length, 41);
  assert.ok(countOf(server.requests[40]?.body ?? { model: "", messages: [] }) <= USABLE);
});

test("a model that counts 0.7 times our estimate has its window used fuller, also after a restart", async () => {
  await using server = await startModelServer();
  const countOf = countWith(server, 0.7);
  const options = { connection: database.connection, modelUrl: server.url, config: config("cheap") };
  {
    await using weir = await startWeir(options);
    // By the estimate alone, the emergency would come at 0.95 * 0.7 of the window.
    while (countOf(server.requests.at(-1)?.body ?? { model: "", messages: [] }) < USABLE * 0.8) {
      await talk(weir, "cheap", 1);
    }
    assert.equal(weir.events.filter(({ type }) => type === "emergency").length, 0);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: "cheap" });
    assert.ok(row !== undefined);
    const last = countOf(server.requests.at(-1)?.body ?? { model: "", messages: [] });
    const stored = async () => (await weir.daemon.store.load(row.id)).lastUsage;
    while ((await stored())?.reported !== last) await delay(5);
    assert.equal((await stored())?.model, "cheap");
  }
  await using weir = await startWeir(options);
  await talk(weir, "cheap", 1);
  assert.equal(weir.events.filter(({ type }) => type === "emergency").length, 0, "the anchor was kept");
  await talk(weir, "cheap", 20);
  const counted = server.requests.map(({ body }) => countOf(body));
  assert.ok(Math.max(...counted) <= USABLE, `${Math.max(...counted)} tokens in ${USABLE}`);
  assert.ok(Math.max(...counted) > USABLE * 0.85, `${Math.max(...counted)} tokens in ${USABLE}`);
  assert.ok(weir.events.some(({ type }) => type === "emergency"));
});

test("a refusal that names the window we believed in teaches that the estimate was short", async () => {
  await using server = await startModelServer();
  const countOf = countWith(server, 2.4);
  const connection = database.connection;
  await using weir = await startWeir({ connection, modelUrl: server.url, config: config("unknown") });
  for (let index = 0; index < 40; index++) await weir.say(PARAGRAPH, { room: "refused", addressed: false });
  await talk(weir, "refused", 1);
  assert.deepEqual(weir.platform.texts("refused"), ["noted"]);
  const [first = 0, second = 0, ...more] = server.requests.map(({ body }) => countOf(body));
  assert.ok(first > WINDOW && second <= WINDOW, `${second} after ${first}`);
  assert.equal(more.length, 0);
});
