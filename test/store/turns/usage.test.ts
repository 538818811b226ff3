import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId, type ChannelId, type TurnId } from "../../../src/core/ids.ts";
import { USAGE_KEYS } from "../../../src/core/listings.ts";
import type { ModelCallRow } from "../../../src/store/turns/model-calls.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { usage, modelCalls, turns } = weir.store;

const BEN = { id: "u-ben", name: "Ben", isBot: false };
const LONG_AGO = new Date("2020-01-01T00:00:00Z");

async function pay(channel: ChannelId, overrides: Partial<ModelCallRow>): Promise<void> {
  await modelCalls.add([
    {
      channel,
      turn: null,
      job: null,
      purpose: "turn",
      model: "big",
      outcome: "answered",
      estimatedTokens: 1,
      promptTokens: 100,
      cachedTokens: 40,
      completionTokens: 10,
      firstTokenMs: null,
      totalMs: 5,
      ...overrides,
    },
  ]);
}

async function begin(channel: ChannelId, from: number, to: number, agent?: string): Promise<TurnId> {
  const owner = { channel, epoch: 1 };
  const turn = await turns.begin(owner, from, to, agent === undefined ? undefined : agentId(agent));
  assert.ok(turn !== null);
  return turn.id;
}

const room = await weir.channel("room");
const other = await weir.channel("other");
const ann = await weir.say(room.id, "a question");
const ben = await weir.say(room.id, "another", { author: BEN });
const turn = await begin(room.id, ann, ben);
await pay(room.id, { turn });
await pay(room.id, { turn, purpose: "subagent", model: "small", cachedTokens: null });
await pay(room.id, { purpose: "compaction", model: "small", promptTokens: 900, completionTokens: 90 });
const asked = await weir.say(other.id, "for a guest", { author: BEN });
await pay(other.id, { turn: await begin(other.id, asked, asked, "guest"), promptTokens: 7, cachedTokens: 0 });
await weir.sql("update model_calls set at = '2026-11-20T23:30:00Z' where channel_id = $1", other.id);

/** Tokens in, by key. */
async function tokens(
  key: (typeof USAGE_KEYS)[number],
  scope: Partial<Parameters<typeof usage.by>[1]> = {},
): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const one of await usage.by(key, { since: LONG_AGO, ...scope }, "Europe/Berlin"))
    sums[String(one.key)] = (sums[String(one.key)] ?? 0) + one.promptTokens;
  return sums;
}

test("what calls have cost is told apart by each key, and the sum is the same", async () => {
  assert.deepEqual(await tokens("agent"), { main: 1100, guest: 7 });
  assert.deepEqual(await tokens("channel"), { "test:room": 1100, "test:other": 7 });
  assert.deepEqual(await tokens("purpose"), { turn: 107, subagent: 100, compaction: 900 });
  assert.deepEqual(await tokens("model"), { big: 107, small: 1000 });
  for (const key of USAGE_KEYS) {
    const sums = Object.values(await tokens(key));
    assert.equal(
      sums.reduce((all, one) => all + one, 0),
      1107,
      key,
    );
  }
});

test("a turn counts for who has asked first, its subagents with it, and summaries for nobody", async () => {
  assert.deepEqual(await tokens("person"), { "test:u-ann": 200, "test:u-ben": 7, null: 900 });
  const rows = await usage.by("person", { since: LONG_AGO }, "UTC");
  assert.deepEqual([...new Set(rows.map(({ name }) => name))].toSorted(), ["", "Ann", "Ben"]);
});

test("days begin in the time zone, and only the time, the channel and the person asked for are looked at", async () => {
  const days = await tokens("day");
  assert.equal(days["2026-11-21"], 7, "half past midnight in Berlin");
  assert.deepEqual(await tokens("agent", { since: new Date("2026-11-20T23:30:01Z") }), { main: 1100 });
  assert.deepEqual(await tokens("model", { channel: other.id }), { big: 7 });
  assert.deepEqual(await tokens("model", { person: { platform: "test", id: "u-ann" } }), {
    big: 100,
    small: 100,
  });
  assert.deepEqual(await tokens("model", { person: { platform: "elsewhere", id: "u-ann" } }), {});
});
