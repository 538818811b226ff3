import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId, turnId } from "../../../src/core/ids.ts";
import type { ModelCallRow } from "../../../src/store/turns/model-calls.ts";
import { answered, beginTurn } from "../../support/turns.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

async function room(
  name: string,
): Promise<{ channel: Awaited<ReturnType<typeof weir.channel>>["id"]; epoch: number }> {
  const { id: channel, epoch } = await weir.channel(name);
  return { channel, epoch };
}

test("turns are told with their last entry and what was found for them, those that run are not", async () => {
  const owner = await room("turns");
  const { channel } = owner;
  await weir.say(channel, "one");
  const first = await beginTurn(store, owner, 1, 1);
  const recalled = { entries: [1], memories: [] };
  await store.turns.settle(owner, first, { ...answered("past-1"), recalled }, new Date());
  await weir.say(channel, "three");
  const second = await beginTurn(store, owner, 3, 3);
  const skip = { state: "skipped", reason: null, modelMs: 1, entry: null, idempotencyKeys: [] } as const;
  await store.turns.settle(owner, second, skip, new Date());
  await weir.say(channel, "four");
  await beginTurn(store, owner, 4, 4);
  await weir.sql("update turns set agent = 'guest' where id = $1", second.id);
  const found = await store.past.turns(channel, 1, 100);
  assert.deepEqual(found, [
    { id: first.id, fromSeq: 1, toSeq: 1, state: "answered", lastSeq: 2, recalled },
    {
      id: second.id,
      fromSeq: 3,
      toSeq: 3,
      agent: agentId("guest"),
      state: "skipped",
      lastSeq: null,
      recalled: { entries: [], memories: [] },
    },
  ]);
  assert.deepEqual(await store.past.turns(channel, 2, 3), found.slice(1));
  assert.deepEqual(await store.past.turns((await room("others")).channel, 1, 100), []);
});

test("resets, and how long committed summaries are, by kind, level and who wrote them", async () => {
  const owner = await room("summaries");
  const { channel, epoch } = owner;
  for (let seq = 1; seq <= 9; seq++) await weir.say(channel, `line ${seq}`, { addressed: false });
  const write = async (
    fromSeq: number,
    toSeq: number,
    kind: "model" | "digest",
    tokens: number,
  ): Promise<void> => {
    const plan = { kind: "leaf", tier: "background", level: 1, sourceTokens: 900, fromSeq, toSeq } as const;
    const job = await store.jobs.begin(owner, plan);
    const summary = { kind, text: "They spoke.", tokens, model: null };
    assert.ok(await store.jobs.stage(job, { parts: [], memories: [], summary }));
    assert.equal(await store.jobs.commit(job), "committed");
  };
  await write(1, 2, "model", 90);
  await write(3, 4, "model", 60);
  await write(5, 5, "digest", 30);
  await store.channels.reset(channel, epoch, 7);
  const failed = await store.jobs.begin(owner, {
    kind: "leaf",
    tier: "background",
    level: 1,
    sourceTokens: 500,
    fromSeq: 8,
    toSeq: 8,
  });
  await store.jobs.fail(failed, "the model is away");
  assert.deepEqual(await store.past.resets(channel), [7]);
  assert.deepEqual(await store.past.summaryLengths(channel), [
    { kind: "leaf", level: 1, madeBy: "digest", count: 1, sourceTokens: 900, tokens: 30 },
    { kind: "leaf", level: 1, madeBy: "model", count: 2, sourceTokens: 1800, tokens: 150 },
  ]);
});

test("of model calls: the last turn's model, what was counted, and the summariser's median", async () => {
  const { channel } = await room("calls");
  const nothing = { model: null, estimated: 0, reported: 0, summariserMs: null };
  assert.deepEqual(await store.past.calls(channel), nothing);
  const call: ModelCallRow = {
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
  };
  await store.modelCalls.add([call]);
  await store.modelCalls.add([{ ...call, promptTokens: null, model: "fallback" }]);
  await store.modelCalls.add([{ ...call, outcome: "empty", model: "broken" }]);
  const [{ id: guests } = { id: 0 }] = await weir.sql<{ id: number }>(
    `insert into turns (channel_id, epoch, from_seq, to_seq, state, agent, settled_at)
     values ($1, 1, 1, 1, 'answered', 'guest', now()) returning id`,
    channel,
  );
  await store.modelCalls.add([{ ...call, turn: turnId(guests), model: "guest", promptTokens: 9 }]);
  for (const totalMs of [2000, 9000, 4000])
    await store.modelCalls.add([{ ...call, purpose: "compaction", model: "small", totalMs }]);
  assert.deepEqual(await store.past.calls(channel), {
    model: "fallback",
    estimated: 1000,
    reported: 900,
    summariserMs: 4000,
  });
});
