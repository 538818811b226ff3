// proves: src/store/channels/members.ts, migrations/baseline/22_cluster.sql
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { partitionOf, PARTITIONS } from "../../../src/ownership/homes.ts";
import { GONE_MS, type Presence } from "../../../src/store/channels/members.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";
import { toldMember } from "../told-member.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { members, partitions } = weir.store;

function presence(name: string, held: readonly number[] = []): Presence {
  return toldMember(name, { held, keyId: "k1", vitals: { owned: 1 } });
}

test("a daemon tells of itself again and again, and is asked to hand on by its row", async () => {
  const one = presence("told", [1]);
  assert.equal(await members.tell(one), false);
  assert.equal(await members.tell({ ...one, held: [1, 2] }), false);
  const [shown, ...others] = (await members.all()).filter(({ name }) => name === "told");
  assert.deepEqual([shown?.held, shown?.vitals, others], [[1, 2], { owned: 1 }, []]);
  assert.equal(await members.setDrained("told", true), 1);
  assert.equal(await members.tell(one), true);
  assert.equal(await members.tell(presence("told")), false, "one that starts anew takes its share");
  assert.equal(await members.setDrained("told", false), 2);
  assert.equal(await members.tell(one), false);
  assert.equal(await members.setDrained("nobody", true), 0);
});

test("one that is silent is not asked, is shown for an hour, and then its row goes with the next word of another", async () => {
  const killed = presence("killed");
  await members.tell(killed);
  const age = async (interval: string): Promise<unknown> =>
    weir.sql("update members set seen_at = seen_at - $2::interval where id = $1", killed.id, interval);
  await age("1 minute");
  assert.equal(await members.setDrained("killed", true), 0);
  const shown = (await members.all()).find(({ name }) => name === "killed");
  assert.ok(shown !== undefined && shown.silentMs > GONE_MS);
  await age("2 hours");
  const other = presence("other");
  await members.tell(other);
  await members.remove(other.id);
  const left = (await members.all()).map(({ name }) => name);
  assert.ok(!left.includes("killed") && !left.includes("other"), left.join());
});

test("each partition is shown with what waits there", async () => {
  const name = "waits";
  const { id } = await weir.channel(name);
  await weir.say(id, "listened to", { addressed: false });
  const partition = partitionOf({ platform: "test", name });
  const of = async () => (await members.partitions())[partition];
  assert.deepEqual((await of())?.due, { channels: 0, longestMs: 0 });
  await weir.say(id, "is anybody there?");
  await partitions.take([partition], "a");
  const taken = await of();
  assert.deepEqual([taken?.channels, taken?.due.channels, taken?.owner, taken?.epoch], [1, 1, "a", 1]);
  assert.ok((taken?.due.longestMs ?? -1) >= 0);
  assert.equal((await members.partitions()).length, PARTITIONS);
});
