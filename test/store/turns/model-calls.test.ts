import assert from "node:assert/strict";
import { after, test } from "node:test";

import type { ChannelId } from "../../../src/core/ids.ts";
import type { ModelCallRow } from "../../../src/store/turns/model-calls.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

function row(channel: ChannelId, overrides: Partial<ModelCallRow>): ModelCallRow {
  return {
    channel,
    turn: null,
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
  await store.modelCalls.add(row(id, { promptTokens: 700 }));
  await store.modelCalls.add(row(id, { model: "fallback", estimatedTokens: 2000, promptTokens: 1500 }));
  await store.modelCalls.add(row(id, { promptTokens: null }));
  await store.modelCalls.add(row(id, { outcome: "empty" }));
  await store.modelCalls.add(row(id, { purpose: "compaction" }));
  await store.modelCalls.add(row(other.id, {}));
  const expected = { model: "fallback", estimated: 2000, reported: 1500 };
  assert.deepEqual((await store.load(id)).lastUsage, expected);
});
