// proves: migrations/baseline/22_cluster.sql
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";
import { toldMember } from "../told-member.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { gatewayShards: shards, gatewaySessions: sessions, members } = weir.store;

interface Daemon {
  readonly owner: string;
  readonly member: string;
}

async function daemon(owner: string): Promise<Daemon> {
  const told = toldMember(owner);
  await members.tell(told);
  return { owner, member: told.id };
}

const place = (session: string, sequence: number) => ({
  shard: 0,
  shards: 2,
  account: "bot",
  session,
  resumeUrl: "wss://resume",
  sequence,
});

/** As if the last word of a daemon, and its taking of shards, were some time ago. */
async function age({ member }: Daemon): Promise<void> {
  await weir.sql("update members set seen_at = seen_at - interval '1 minute' where id = $1", member);
  await weir.sql(
    "update gateway_shards set taken_at = taken_at - interval '1 minute' where member = $1",
    member,
  );
}

test("a shard's epoch rises with each daemon that takes it, and never falls", async () => {
  const [a, b] = [await daemon("a"), await daemon("b")];
  assert.equal(await shards.agree("rising", 2), 2);
  assert.deepEqual(await shards.take("rising", [1, 0], 2, a), [
    { shard: 0, epoch: 1 },
    { shard: 1, epoch: 1 },
  ]);
  assert.deepEqual(await shards.take("rising", [0], 2, b), [{ shard: 0, epoch: 2 }]);
  const shown = (await shards.all()).filter(({ platform }) => platform === "rising");
  assert.deepEqual(
    shown.map(({ shard, of, epoch, owner }) => [shard, of, epoch, owner]),
    [
      [0, 2, 2, "b"],
      [1, 2, 1, "a"],
    ],
  );
  await weir.refuses("WE001", "update gateway_shards set epoch = 1 where platform = 'rising' and shard = 0");
});

test("who has lost a shard keeps nothing of it any more; who belongs to no cluster asks nobody", async () => {
  const [a, b] = [await daemon("a"), await daemon("b")];
  await shards.agree("fenced", 2);
  const [first] = (await shards.take("fenced", [0], 2, a)) ?? [];
  const older = first?.epoch ?? 0;
  assert.equal(await sessions.keep("fenced", place("one", 5), older), true);
  const [second] = (await shards.take("fenced", [0], 2, b)) ?? [];
  const newer = second?.epoch ?? 0;
  assert.equal(await sessions.keep("fenced", place("one", 9), newer), true);
  assert.equal(await sessions.keep("fenced", place("one", 7), older), false);
  assert.equal(await sessions.keep("fenced", place("another", 1), older), false);
  const kept = await sessions.read("fenced", 0);
  assert.deepEqual([kept?.session, kept?.sequence], ["one", 9]);
  assert.equal(await sessions.keep("alone", place("one", 1), null), true);
  assert.equal(await sessions.keep("alone", place("two", 1), 1), false, "nobody has taken that one");
});

test("a place that is being kept while the shard is taken is kept before, or not at all", async () => {
  const [a, b] = [await daemon("a"), await daemon("b")];
  await shards.agree("raced", 2);
  for (let round = 1; round <= 20; round++) {
    const [held] = (await shards.take("raced", [0], 2, a)) ?? [];
    const [isKept] = await Promise.all([
      sessions.keep("raced", place(`session ${round}`, round), held?.epoch ?? 0),
      shards.take("raced", [0], 2, b),
    ]);
    const kept = await sessions.read("raced", 0);
    assert.equal(kept?.session === `session ${round}`, isKept);
  }
});

test("the servers are divided anew only where no daemon that is there has a shard", async () => {
  const [a, b] = [await daemon("a"), await daemon("b")];
  assert.equal(await shards.agree("counted", 4), 4);
  assert.equal(await shards.agree("counted", 5), 5, "nobody had a shard yet");
  assert.equal(await shards.take("counted", [0, 1], 4, a), null, "by another number there is none to take");
  const five = (await shards.take("counted", [0, 1], 5, a)) ?? [];
  assert.equal(await shards.agree("counted", 6), 5);
  await shards.release("counted", five.slice(0, 1));
  assert.equal(await shards.agree("counted", 6), 5, "the other one is still held");
  await shards.release("counted", five.slice(1));
  assert.equal(await shards.agree("counted", 6), 6);
  const older = (await shards.take("counted", [0], 6, b)) ?? [];
  await shards.take("counted", [0], 6, b);
  await shards.release("counted", older);
  assert.equal(await shards.agree("counted", 7), 6, "it was taken anew since, by the same daemon");
  await age(b);
  assert.equal(await shards.agree("counted", 7), 7, "who had it was killed");
  assert.deepEqual(await shards.take("counted", [7], 7, b), null, "there is no such shard");
});

test("daemons that ask at once agree on one number, and shards are taken by that one alone", async () => {
  const daemons = await Promise.all(["a", "b", "c", "d"].map(daemon));
  const taken = await Promise.all(
    daemons.map(async (one, index) => {
      const of = await shards.agree("together", 2 + index);
      return { of, shards: await shards.take("together", [index % 2], of, one) };
    }),
  );
  const [row] = await weir.sql<{ shards: number }>(
    "select shards from gateway_shard_counts where platform = 'together'",
  );
  const held = taken.filter(({ shards: mine }) => mine !== null);
  assert.ok(held.length > 0);
  assert.ok(
    held.every(({ of }) => of === row?.shards),
    JSON.stringify(taken),
  );
});

test("one login of a bucket is free at a time; who waits for it takes nothing, and other buckets are free", async () => {
  const waits = await Promise.all([1, 2, 3, 4].map(async () => shards.takeLogin("paced", 0, 60_000)));
  assert.equal(waits.filter((wait) => wait === 0).length, 1);
  // Nobody waits for longer than one pause, however many have asked before.
  assert.ok(
    waits.every((wait) => wait === 0 || (wait > 50_000 && wait <= 60_000)),
    waits.join(),
  );
  assert.equal(await shards.takeLogin("paced", 1, 60_000), 0);
  await weir.sql(
    "update gateway_logins set free_at = clock_timestamp() where platform = 'paced' and bucket = 0",
  );
  assert.equal(await shards.takeLogin("paced", 0, 60_000), 0);
  assert.ok((await shards.takeLogin("paced", 0, 60_000)) > 50_000);
});

test("a clock of the database that was set back keeps nobody from logging in", async () => {
  assert.equal(await shards.takeLogin("set back", 0, 5000), 0);
  await weir.sql(
    "update gateway_logins set free_at = free_at + interval '1 hour' where platform = 'set back'",
  );
  assert.equal(await shards.takeLogin("set back", 0, 5000), 0);
  const waitMs = await shards.takeLogin("set back", 0, 5000);
  assert.ok(waitMs > 0 && waitMs <= 5000, String(waitMs));
});
