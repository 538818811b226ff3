import assert from "node:assert/strict";
import { after, test } from "node:test";

import { type ChannelId, jobId } from "../../../src/core/ids.ts";
import type { ModelCallRow } from "../../../src/store/turns/model-calls.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

function row(channel: ChannelId, overrides: Partial<ModelCallRow>): ModelCallRow {
  return {
    channel,
    turn: null,
    job: null,
    purpose: "turn",
    model: "main",
    outcome: "answered",
    estimatedTokens: 1000,
    promptTokens: 900,
    cachedTokens: null,
    completionTokens: null,
    firstTokenMs: null,
    totalMs: 5,
    ...overrides,
  };
}

test("a channel is loaded with the last request of its turns that was answered and counted", async () => {
  await using opened = openStore(database.connection);
  const { store } = opened;
  const { id } = await opened.channel("counted");
  const other = await opened.channel("other");
  assert.equal((await store.load(id)).lastUsage, null);
  await store.modelCalls.add([row(id, { promptTokens: 700 })]);
  await store.modelCalls.add([row(id, { model: "fallback", estimatedTokens: 2000, promptTokens: 1500 })]);
  await store.modelCalls.add([row(id, { promptTokens: null })]);
  await store.modelCalls.add([row(id, { outcome: "empty" })]);
  await store.modelCalls.add([row(id, { purpose: "compaction" })]);
  await store.modelCalls.add([row(other.id, {})]);
  const expected = { model: "fallback", estimated: 2000, reported: 1500 };
  assert.deepEqual((await store.load(id)).lastUsage, expected);
});

test("a channel's calls are summed by purpose and model, and those of compactions by their job", async () => {
  await using opened = openStore(database.connection);
  const { store } = opened;
  const { id } = await opened.channel("summed");
  const [job] = await opened.sql<{ id: number }>(
    `insert into jobs (channel_id, kind, tier, from_seq, to_seq, level, source_tokens)
     values ($1, 'leaf', 'background', 1, 1, 1, 100) returning id`,
    id,
  );
  const first = jobId(job?.id ?? 0);
  const compaction = { purpose: "compaction", model: "small", completionTokens: 10 } as const;
  await store.modelCalls.add([row(id, { cachedTokens: 500, writtenTokens: 60, completionTokens: 7 })]);
  await store.modelCalls.add([row(id, { promptTokens: null, assumedPromptTokens: 1000 })]);
  await store.modelCalls.add([row(id, { outcome: "timeout", promptTokens: null })]);
  await store.modelCalls.add([row(id, { ...compaction, job: first, promptTokens: 2000 })]);
  const { models, ...sum } = await store.modelCalls.totals(id);
  assert.deepEqual(sum, {
    calls: 4,
    promptTokens: 3900,
    cachedTokens: 500,
    writtenTokens: 60,
    completionTokens: 17,
    peakTokens: 900,
  });
  assert.deepEqual(
    models.map(({ purpose, model, calls, uncounted }) => [purpose, model, calls, uncounted]),
    [
      ["turn", "main", 3, 1],
      ["compaction", "small", 1, 0],
    ],
  );
  const spent = await store.modelCalls.ofJobs(id);
  assert.equal(spent.size, 1);
  assert.equal(spent.get(first)?.[0]?.promptTokens, 2000);
});
