import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { TakeoverWatch } from "../../src/ownership/takeover-watch.ts";
import type { ChannelId } from "../../src/core/ids.ts";
import type { Delivery } from "../../src/store/turns/deliveries.ts";
import type { RunningTurn } from "../../src/store/turns/turn-rows.ts";
import { openStore, SILENT } from "../store/open-store.ts";
import { answered, beginTurn } from "../support/turns.ts";
import { createTestDatabase } from "../support/database.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

/**
 * Looks each 20 ms.
 * @param before what happens before each look, by its number
 */
function open(
  before: (look: number) => Promise<unknown> = async () => null,
  stillMs = 20,
  elsewhere: readonly ChannelId[] = [],
): {
  lost: TakeoverWatch;
  taken: ChannelId[];
  looks: () => number;
  [Symbol.dispose]: () => void;
} {
  const taken: ChannelId[] = [];
  let looks = 0;
  const lost = new TakeoverWatch({
    async unfinished(id) {
      looks++;
      await before(looks);
      return store.channels.unfinished(id);
    },
    elsewhere: async () => elsewhere,
    take: async (id) => void taken.push(id),
    log: SILENT,
    lookMs: 20,
    stillMs,
    searchMs: 20,
  });
  return { lost, taken, looks: () => looks, [Symbol.dispose]: () => lost.close() };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await delay(2);
}

test("a lost channel in which something is due and nothing goes on is taken back", async () => {
  const { id } = await weir.channel("abandoned");
  await weir.say(id, "are you there?");
  using scene = open();
  scene.lost.add(id);
  scene.lost.add(id);
  await until(() => scene.taken.length > 0);
  assert.deepEqual([scene.taken, scene.looks()], [[id], 2]);
});

test("a lost channel in which nothing is due stays with whoever has it", async () => {
  const { id } = await weir.channel("quiet");
  await weir.say(id, "just so", { addressed: false });
  using scene = open();
  scene.lost.add(id);
  await until(() => scene.looks() > 0);
  await delay(100);
  assert.deepEqual([scene.taken, scene.looks()], [[], 1]);
});

test("a lost channel in which somebody is at work stays with them", async () => {
  const { id, epoch } = await weir.channel("busy");
  const owner = { channel: id, epoch };
  await weir.say(id, "one");
  let turn: RunningTurn | undefined;
  let parts: readonly Delivery[] = [];
  using scene = open(async (look) => {
    if (look === 2) turn = await beginTurn(store, owner, 1, 1);
    if (look === 3 && turn !== undefined)
      ({ parts } = await store.turns.settle(owner, turn, answered("key-1"), new Date()));
    if (look === 4) for (const part of parts) await store.deliveries.sent(owner, part.id, "m-1");
  });
  scene.lost.add(id);
  await until(() => scene.looks() === 4);
  await delay(100);
  assert.deepEqual([scene.taken, scene.looks(), parts.length], [[], 4, 1]);
});

test("a message for which no turn begins is unknown to the owner, and is not waited for like a slow answer", async () => {
  const { id, epoch } = await weir.channel("unheard");
  await weir.say(id, "one");
  const turn = await beginTurn(store, { channel: id, epoch }, 1, 1);
  const hour = 3_600_000;
  {
    using scene = open(undefined, hour);
    scene.lost.add(id);
    await until(() => scene.looks() >= 4);
    assert.deepEqual(scene.taken, [], "the model may be slow");
  }
  await store.turns.settle({ channel: id, epoch }, turn, answered("key-3"), new Date());
  await weir.say(id, "two");
  using scene = open(undefined, hour);
  scene.lost.add(id);
  await until(() => scene.taken.length > 0);
  assert.deepEqual([scene.taken, scene.looks()], [[id], 2]);
});

test("a channel that was never loaded here is taken over as well, if nobody goes on with it", async () => {
  const left = await weir.channel("left");
  const running = await weir.channel("running");
  for (const { id } of [left, running]) await weir.say(id, "are you there?");
  await beginTurn(store, { channel: running.id, epoch: running.epoch }, 1, 1);
  using scene = open(undefined, 3_600_000, [left.id, running.id]);
  await until(() => scene.taken.length > 0 && scene.looks() > 10);
  assert.deepEqual([...new Set(scene.taken)], [left.id]);
});

test("an answer that is not sent is unfinished, too; a database that is away is asked again", async () => {
  const { id, epoch } = await weir.channel("unsent");
  const owner = { channel: id, epoch };
  await weir.say(id, "one");
  const turn = await beginTurn(store, owner, 1, 1);
  await store.turns.settle(owner, turn, answered("key-2"), new Date());
  using scene = open(async (look) => {
    if (look <= 2) throw new Error("the database is away");
  });
  scene.lost.add(id);
  await until(() => scene.taken.length > 0);
  assert.equal(scene.looks(), 4);
});

test("a channel that is lost again and again is looked at less and less often", async () => {
  const { id } = await weir.channel("fought-over");
  await weir.say(id, "are you there?");
  using scene = open();
  const startedAt = performance.now();
  for (let count = 1; count <= 4; count++) {
    scene.lost.add(id);
    await until(() => scene.taken.length === count);
  }
  // Two looks each, after 20, 40, 80 and 160 ms.
  assert.ok(performance.now() - startedAt > 590);
});
