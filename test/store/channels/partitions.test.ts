import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { PARTITIONS, partitionOf } from "../../../src/ownership/homes.ts";
import { OperatorError } from "../../../src/core/errors.ts";
import { agentId, channelId, type ChannelId } from "../../../src/core/ids.ts";
import { StaleEpochError, StalePartitionError } from "../../../src/store/database/errors.ts";
import { answered, beginTurn } from "../../support/turns.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;
const ALL = Array.from({ length: PARTITIONS }, (_, id) => id);

/** A channel that nobody has taken. */
async function opened(name: string): Promise<{ id: ChannelId; partition: number }> {
  const address = { platform: "test", name };
  const id = await store.channels.open({ address, kind: "channel", workspace: "", agent: agentId("main") });
  return { id, partition: partitionOf(address) };
}

async function epochOf(partition: number): Promise<number> {
  const [row] = await weir.sql<{ epoch: number }>("select epoch from partitions where id = $1", partition);
  return row?.epoch ?? -1;
}

test("the partition of an address is the database's, whatever the address is made of", async () => {
  const names = ["general", "", "a:b", "ünï→ 日本 🧵", "x".repeat(3000), "'; drop"].filter(Boolean);
  const many = Array.from({ length: 400 }, (_, index) => `spread-${index}`);
  for (const name of [...names, ...many]) {
    const { id, partition } = await opened(name);
    assert.deepEqual(await store.partitions.ofChannel(id), { partition, platform: "test" }, name);
  }
  assert.equal(await store.partitions.ofChannel(channelId(999_999)), undefined);
  const [row] = await weir.sql<{ used: number }>("select count(distinct partition) as used from channels");
  assert.ok((row?.used ?? 0) > 60, "addresses spread over the partitions");
});

test("a daemon whose database has another number of partitions is refused, with a sentence", async () => {
  await store.partitions.assertCount(PARTITIONS);
  await assert.rejects(store.partitions.assertCount(32), (error: unknown) => {
    assert.ok(error instanceof OperatorError);
    assert.match(error.message, /64 partitions, and this Weir over 32/);
    return true;
  });
});

test("taking partitions raises their epochs, and those of no others", async () => {
  const before = await Promise.all([3, 4, 5].map(epochOf));
  const taken = await store.partitions.take([5, 3], "one");
  assert.deepEqual(
    taken.toSorted((a, b) => a.id - b.id),
    [
      { id: 3, epoch: (before[0] ?? 0) + 1 },
      { id: 5, epoch: (before[2] ?? 0) + 1 },
    ],
  );
  assert.equal(await epochOf(4), before[1]);
  const [row] = await weir.sql<{ owner: string; at: Date }>(
    "select owner, taken_at as at from partitions where id = 3",
  );
  assert.equal(row?.owner, "one");
  assert.ok(row?.at instanceof Date);
  await weir.refuses("WE001", "update partitions set epoch = epoch - 1 where id = 3");
});

test("daemons that take the same partitions at once get different epochs, and none waits for ever", async () => {
  const sets = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? ALL : ALL.toReversed()));
  const results = await Promise.all(sets.map(async (ids, index) => store.partitions.take(ids, `d${index}`)));
  for (const id of ALL) {
    const epochs = results.flatMap((rows) => rows.filter((one) => one.id === id).map(({ epoch }) => epoch));
    assert.equal(new Set(epochs).size, 8);
  }
});

test("a daemon that has lost a partition finishes what nobody else has taken, and takes nothing back", async () => {
  const { id, partition } = await opened("fenced");
  const [old] = await store.partitions.take([partition], "old");
  const epoch = await store.channels.take(id, old?.epoch ?? -1);
  await weir.say(id, "hello");
  const turn = await beginTurn(store, { channel: id, epoch }, 1, 1);
  const [next] = await store.partitions.take([partition], "next");
  // Nobody else has taken the channel yet.
  await store.turns.settle({ channel: id, epoch }, turn, answered("k-1"), new Date());
  await assert.rejects(store.channels.take(id, old?.epoch ?? -1), StalePartitionError);
  assert.equal((await store.channels.find({ platform: "test", name: "fenced" }))?.epoch, epoch);

  assert.equal(await store.channels.take(id, next?.epoch ?? -1), epoch + 1);
  await weir.say(id, "and now?");
  await assert.rejects(store.turns.begin({ channel: id, epoch }, 3, 3), StaleEpochError);
  await assert.rejects(store.channels.take(id, old?.epoch ?? -1), StalePartitionError);
});

test("a channel is not taken while another daemon takes its partition: whoever is first is first for both", async () => {
  const { id, partition } = await opened("raced");
  const [old] = await store.partitions.take([partition], "old");
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const taking = weir.db.transaction(async (client) => {
    await client.query("", "select take_partitions($1, 'next')", [[partition]]);
    begun.resolve();
    await goOn.promise;
  });
  await begun.promise;
  // It may fail before the other one is known to have ended.
  const isTooLate = assert.rejects(store.channels.take(id, old?.epoch ?? -1), StalePartitionError);
  // It has come so far that it waits for the other one.
  for (;;) {
    const waiting = await weir.sql(
      "select from pg_stat_activity where wait_event_type = 'Lock' and strpos(query, 'take_channel') > 0 and datname = current_database()",
    );
    if (waiting.length > 0) break;
    await delay(5);
  }
  goOn.resolve();
  await taking;
  await isTooLate;
});

test("without a cluster a channel is taken as ever, whoever has its partition", async () => {
  const { id, partition } = await opened("alone");
  await store.partitions.take([partition], "somebody");
  assert.equal(await store.channels.take(id), 1);
});

test("what is due in a partition: asked, not settled, and asked so long ago; whoever has waited the longest comes first", async () => {
  const quiet = await opened("due-quiet");
  const settled = await opened("due-settled");
  const asked = await opened("due-asked");
  const listened = await opened("due-listened");
  const mine = [quiet, asked, settled, listened].map(({ partition }) => partition);
  await weir.say(listened.id, "only said", { addressed: false });
  const epoch = await store.channels.take(settled.id);
  await weir.say(settled.id, "answered before");
  const turn = await beginTurn(store, { channel: settled.id, epoch }, 1, 1);
  await store.turns.settle({ channel: settled.id, epoch }, turn, answered("k-settled"), new Date());
  await weir.say(asked.id, "a question");
  await weir.say(asked.id, "by the way", { addressed: false });
  const ours = <Found extends { readonly address: { readonly name: string } }>(
    found: readonly Found[],
  ): Found[] => found.filter(({ address }) => address.name.startsWith("due-"));
  const due = async (forMs: number, partitions = mine): Promise<string[]> =>
    ours(await store.partitions.due(partitions, ["test"], forMs)).map(
      ({ address, seq }) => `${address.name} ${seq}`,
    );
  assert.deepEqual(await due(0), ["due-asked 1"]);
  assert.deepEqual(await due(3_600_000), [], "a message of just now may still be on its way");
  const others = ALL.filter((id) => id !== asked.partition);
  assert.deepEqual(await due(0, others), []);
  assert.deepEqual(await store.partitions.due(mine, ["elsewhere"], 0), []);

  // It was made before the other one, and is asked behind it.
  await weir.say(settled.id, "another one");
  assert.deepEqual(await due(0), ["due-asked 1", "due-settled 3"]);
  const work = await store.channels.withWorkIn(mine, ["test"], 1000);
  assert.deepEqual(
    ours(work).map(({ address }) => address.name),
    ["due-asked", "due-settled"],
  );
});

test("a look at what is due reads the channels of its partitions by their index, and messages of those that wait alone", async () => {
  await weir.db.script(`
    insert into channels (platform, name, kind, agent) select 'many', 'c' || n, 'channel', 'main' from generate_series(1, 10000) n;
    analyze channels; analyze entries`);
  const plan = (
    await weir.sql<{ "QUERY PLAN": string }>(
      `explain (analyze, costs off, timing off, summary off) select c.id from channels c cross join lateral (
         select e.appended_at from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to order by e.seq limit 1) d
        where c.partition = any('{1,2}') and c.platform = any('{many}') and c.due_to > c.settled_to
          and d.appended_at <= clock_timestamp() - interval '1 s'`,
    )
  ).map((row) => row["QUERY PLAN"]);
  assert.ok(
    plan.some((line) => line.includes("channels_in_partition")),
    plan.join("\n"),
  );
  const ofMessages = plan.find((line) => line.includes("on entries"));
  assert.match(ofMessages ?? "", /never executed/, plan.join("\n"));
});
