import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import type { ModelCallRow } from "../../../src/store/turns/model-calls.ts";
import { answered, beginTurn } from "../../support/turns.ts";
import { openTestStore } from "../open-store.ts";

const weir = await openTestStore();
const { store } = weir;

function call(overrides: Pick<ModelCallRow, "channel"> & Partial<ModelCallRow>): ModelCallRow {
  return {
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

test("turns are told with when they were asked for, shown and settled", async () => {
  const { id: channel, epoch } = await weir.channel("turns");
  const owner = { channel, epoch };
  await weir.say(channel, "only read", { addressed: false });
  await weir.say(channel, "a question");
  const first = await beginTurn(store, owner, 1, 2);
  const { parts } = await store.turns.settle(owner, first, answered("timeline-1"), new Date());
  await weir.say(channel, "another");
  const second = await beginTurn(store, owner, 4, 4);
  assert.equal(parts.length, 1);
  await weir.sql(
    "update deliveries set state = 'sent', message_id = 'm', ended_at = '2026-05-01T12:00:09Z' where channel_id = $1",
    channel,
  );
  const [heard] = await weir.sql<{ at: Date }>(
    "select appended_at as at from entries where channel_id = $1 and seq = 2",
    channel,
  );
  const { turns } = await store.timeline.read(channel);
  const [settled, running] = turns;
  assert.deepEqual(
    turns.map(({ id, state }) => [id, state]),
    [
      [first.id, "answered"],
      [second.id, "running"],
    ],
  );
  assert.deepEqual(settled?.heardAt, heard?.at);
  assert.deepEqual(settled?.shownAt, new Date("2026-05-01T12:00:09Z"));
  assert.ok(settled?.settledAt instanceof Date);
  assert.deepEqual([running?.shownAt, running?.settledAt], [null, null]);
});

test("compactions are told with their last model call and what their summary takes", async () => {
  const { id: channel, epoch } = await weir.channel("jobs");
  const owner = { channel, epoch };
  for (let seq = 1; seq <= 4; seq++) await weir.say(channel, `line ${seq}`, { addressed: false });
  const plan = { kind: "leaf", tier: "background", level: 1, sourceTokens: 900 } as const;
  const made = await store.jobs.begin(owner, { ...plan, fromSeq: 1, toSeq: 2 });
  await store.modelCalls.add([call({ channel, job: made.id, purpose: "compaction" })]);
  const summary = { kind: "model", text: "They spoke.", tokens: 90, model: null } as const;
  assert.ok(await store.jobs.stage(made, { parts: [], memories: [], summary }));
  assert.equal(await store.jobs.commit(made), "committed");
  const failed = await store.jobs.begin(owner, { ...plan, tier: "aggressive", fromSeq: 3, toSeq: 4 });
  await store.jobs.fail(failed, "the model is away");
  const { jobs } = await store.timeline.read(channel);
  assert.deepEqual(
    jobs.map(({ id, tier, state, summaryTokens, isAhead, calledAt, endedAt }) => {
      return [id, tier, state, summaryTokens, isAhead, calledAt !== null, endedAt !== null];
    }),
    [
      [made.id, "background", "committed", 90, false, true, true],
      [failed.id, "aggressive", "failed", null, false, false, true],
    ],
  );
});

test("of each turn's requests the last that was answered is told, with who has asked", async () => {
  const { id: channel, epoch } = await weir.channel("requests");
  const owner = { channel, epoch };
  const turns = [];
  for (const key of ["one", "two"]) {
    const seq = await weir.say(channel, key);
    const turn = await beginTurn(store, owner, seq, seq);
    await store.turns.settle(owner, turn, answered(`timeline-${key}`), new Date());
    turns.push(turn.id);
  }
  const [first = null, second = null] = turns;
  await weir.sql("update turns set agent = 'guest' where id = $1", second);
  await store.modelCalls.add([
    call({ channel, turn: first, promptTokens: 500 }),
    call({ channel, turn: first, promptTokens: null, estimatedTokens: 700 }),
    call({ channel, turn: first, outcome: "empty", promptTokens: 9 }),
    call({ channel, turn: first, purpose: "embedding", promptTokens: 8 }),
    call({ channel, turn: second, model: "large", promptTokens: 800 }),
  ]);
  const { requests } = await store.timeline.read(channel);
  assert.deepEqual(
    requests.map(({ agent, model, tokens }) => ({ agent, model, tokens })),
    [
      { agent: null, model: "main", tokens: 700 },
      { agent: agentId("guest"), model: "large", tokens: 800 },
    ],
  );
  assert.deepEqual(await store.timeline.read((await weir.channel("calm")).id), {
    turns: [],
    jobs: [],
    requests: [],
  });
});
