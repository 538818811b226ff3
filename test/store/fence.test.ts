// proves: src/store/turns/turns.ts, src/store/database/errors.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { TurnEntryDraft } from "../../src/core/entry.ts";
import { StaleEpochError } from "../../src/store/database/errors.ts";
import type { Settlement } from "../../src/store/turns/turns.ts";
import { createTestDatabase } from "../support/database.ts";
import { openStore } from "./open-store.ts";
import { TEST_DIGESTER } from "../support/digester.ts";
import { answered, beginTurn } from "../support/turns.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

const ANSWER: TurnEntryDraft = { kind: "assistant", text: "hello", stopped: false };
const SETTLEMENT = answered("key-1");

test("whoever lost a channel writes nothing to it any more", async () => {
  const { store } = weir;
  const { id, epoch } = await weir.channel("fenced");
  await weir.say(id, "one");
  const former = { channel: id, epoch };
  const turn = await beginTurn(store, former, 1, 1);
  const delivery = await store.deliveries.open(former, turn.id, "key-0");
  const owner = { channel: id, epoch: await store.channels.take(id) };
  assert.equal(owner.epoch, epoch + 1);
  const before = await everyRow(id);
  const stale = StaleEpochError;
  await assert.rejects(store.turns.begin(former, 1, 1), stale);
  await assert.rejects(store.turns.beginAgain(former, turn, 0), stale);
  await assert.rejects(
    store.log.appendTurnEntries(former, { id: turn.id, after: 1 }, [ANSWER], new Date()),
    stale,
  );
  await assert.rejects(store.turns.settle(former, turn, SETTLEMENT, new Date()), stale);
  await assert.rejects(store.turns.settle(former, turn, { ...SETTLEMENT, entry: null }, new Date()), stale);
  await assert.rejects(store.deliveries.open(former, turn.id, "key-2"), stale);
  await assert.rejects(store.deliveries.shown(former, delivery.id, "m1"), stale);
  await assert.rejects(store.deliveries.sent(former, delivery.id, "m1"), stale);
  await assert.rejects(store.deliveries.failed(former, delivery.id, "gone"), stale);
  await assert.rejects(store.channels.reset(id, epoch, 1), stale);
  assert.equal(await store.channels.omit(id, epoch, 1), false);
  await weir.refuses("stale", `update turns set reason = 'mine' where id = ${turn.id}`);
  assert.deepEqual(await everyRow(id), before, "nothing was written");

  const again = await store.turns.beginAgain(owner, turn, 0);
  assert.deepEqual({ ...again, id: 0 }, { id: 0, fromSeq: 1, toSeq: 1, attempts: 2, deaths: 1, failures: 0 });
  const third = await store.turns.beginAgain(owner, again, 1);
  assert.deepEqual(
    [third.attempts, third.deaths, third.failures],
    [3, 1, 1],
    "the former owner ended over it once",
  );
  const { parts } = await store.turns.settle(owner, turn, SETTLEMENT, new Date());
  assert.equal(parts[0]?.idempotencyKey, "key-0", "the key under which a piece may have been shown");
  // A settled turn is no error of its own to a daemon that lost the channel.
  await assert.rejects(store.turns.settle(former, turn, SETTLEMENT, new Date()), stale);
});

test("a takeover that races a settlement leaves the turn to exactly one of them", async () => {
  const { store } = weir;
  for (let round = 0; round < 20; round++) {
    const { id, epoch } = await weir.channel(`race-${round}`);
    await weir.say(id, "one");
    const turn = await beginTurn(store, { channel: id, epoch }, 1, 1);
    const settlement = answered(`race-${round}`);
    const [settled, taken] = await Promise.allSettled([
      store.turns.settle({ channel: id, epoch }, turn, settlement, new Date()),
      store.channels.take(id),
    ]);
    assert.ok(taken.status === "fulfilled");
    const { running, history } = await store.load(id);
    assert.equal(running === null, settled.status === "fulfilled");
    assert.equal(history.lastSeq, settled.status === "fulfilled" ? 2 : 1);
    if (settled.status === "rejected") assert.ok(settled.reason instanceof StaleEpochError);
  }
});

test("a turn begins behind an edit under way, and an edit sees the turn that began before it", async () => {
  const { store } = weir;
  const { id, epoch } = await weir.channel("begin-and-edit");
  await weir.say(id, "one");
  let begun: Promise<unknown> = Promise.resolve();
  let isBegun = false;
  await weir.db.transaction(async (client) => {
    // As an edit and a deletion do first.
    await client.query("test_lock", "select from channels where id = $1 for no key update", [id]);
    begun = store.turns.begin({ channel: id, epoch }, 1, 1).then(() => (isBegun = true));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isBegun, false);
  });
  await begun;
  assert.equal(isBegun, true);
});

test("messages, edits and deletions may be written by anyone", async () => {
  const { store } = weir;
  const { id } = await weir.channel("anyone");
  await weir.say(id, "one", { id: "first" });
  await store.channels.take(id);
  assert.equal(await weir.say(id, "two"), 2);
  assert.equal((await store.log.edit(id, "first", "uno", new Date(), TEST_DIGESTER)).outcome, "replaced");
  assert.equal(await store.log.delete(id, "first", TEST_DIGESTER), 1);
});

test("a turn that ends without a word owes the platform nothing, also where a piece of it was shown", async () => {
  const { store } = weir;
  const { id, epoch } = await weir.channel("withdrawn");
  await weir.say(id, "one");
  const owner = { channel: id, epoch };
  const turn = await beginTurn(store, owner, 1, 1);
  await store.deliveries.open(owner, turn.id, "withdrawn-1");
  const settlement: Settlement = { ...SETTLEMENT, state: "skipped", entry: null, idempotencyKeys: [] };
  await store.turns.settle(owner, turn, settlement, new Date());
  const work = await store.channels.withWork(["test"], 300);
  assert.ok(work.every((channel) => channel.id !== id));
});

test("a reset ends what was due, covers what was said, and lets what came after it wait for its turn", async () => {
  const { store } = weir;
  const { id, epoch } = await weir.channel("reset");
  await weir.say(id, "one", { id: "r1" });
  await weir.say(id, "listened", { id: "r2", addressed: false });
  await weir.say(id, "two", { id: "r3" });
  await weir.say(id, "after", { id: "r4" });
  const ended = await store.channels.reset(id, epoch, 3);
  assert.deepEqual(ended?.messageIds, ["r1", "r3"]);
  const end = await store.turns.outcome(ended.id);
  assert.deepEqual(end, { state: "stopped", reason: "reset", modelMs: 0, inReplyTo: ["r1", "r3"] });
  const { history, running } = await store.load(id);
  assert.equal(running, null);
  assert.deepEqual([history.coveredTo, history.settledTo, history.entries.length], [3, 3, 1]);
  assert.equal(await store.channels.reset(id, epoch, 3), null, "a second time there is nothing to end");
  const turn = await beginTurn(store, { channel: id, epoch }, 4, 4);
  const again = await store.channels.reset(id, epoch, 4);
  assert.deepEqual(again, { id: turn.id, messageIds: ["r4"] });
});

async function everyRow(channel: number): Promise<unknown> {
  const tables = ["entries", "turns", "deliveries", "summaries"];
  const rows = await Promise.all(
    tables.map(async (table) =>
      weir.sql(`select * from ${table} where channel_id = $1 order by 1, 2`, channel),
    ),
  );
  return [...rows, await weir.sql("select * from channels where id = $1", channel)];
}
