import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { CatchUpStore } from "../../../src/store/channels/catch-ups.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
/** Two daemons. */
const [one, other] = [new CatchUpStore(weir.db), new CatchUpStore(weir.db)];
const place = (name: string) => ({ platform: "test", name });

async function age(name: string, interval: string): Promise<void> {
  await weir.sql(
    "update catch_ups set held_to = held_to - $2::interval, begun_at = begun_at - $2::interval where name = $1",
    name,
    interval,
  );
}

test("a channel is read by one daemon, and what it has read is not read by another that listened before", async () => {
  const room = place("read");
  const early = await other.clock();
  assert.equal(await one.claim(room, await one.clock()), "ours");
  assert.equal(await one.claim(room, early), "ours", "it may begin anew");
  assert.equal(await other.claim(room, early), "others");
  const late = await other.clock();
  await other.read(room, true);
  assert.equal(await other.claim(room, early), "others", "only the reader says so");
  await one.read(room, true);
  assert.equal(await other.claim(room, early), "done");
  // Who began to listen behind the beginning of the reading may have missed what came in between.
  assert.equal(await other.claim(room, late), "ours");
});

test("a daemon that can not read leaves a channel to the others, and one that says nothing for a minute is gone", async () => {
  const [left, dead] = [place("left"), place("dead")];
  const since = await one.clock();
  for (const room of [left, dead]) assert.equal(await one.claim(room, since), "ours");
  await one.leave(left);
  assert.equal(await other.claim(left, since), "ours");
  await age("dead", "59 seconds");
  assert.equal(await other.claim(dead, since), "others");
  await age("dead", "2 seconds");
  assert.equal(await other.claim(dead, since), "ours");
  await one.read(dead, true);
  assert.equal(await one.claim(dead, since), "others", "whoever was taken for gone says nothing any more");
});

test("what is on record is taken up by others where its reader is gone, or nobody ever came", async () => {
  const names = ["paging", "dropped", "never", "given-up"];
  for (const name of names) {
    const description = {
      address: place(name),
      kind: "channel" as const,
      workspace: "",
      agent: agentId("main"),
    };
    await weir.store.gaps.keep({ ...description, place: undefined }, "17");
  }
  const since = await one.clock();
  for (const name of ["paging", "dropped", "given-up"]) await one.claim(place(name), since);
  for (const name of ["paging", "dropped"]) await one.read(place(name), false);
  await one.leave(place("given-up"));
  for (const name of ["paging", "dropped"]) await age(name, "6 minutes");
  await one.goOn(place("paging"));
  const found = (await other.abandoned("test")).map(({ name }) => name).toSorted();
  assert.deepEqual(found, ["dropped", "never"]);
  assert.equal(await other.claim(place("dropped"), await other.clock()), "ours");
  await other.read(place("dropped"), true);
  await weir.store.gaps.close(place("dropped"));
  assert.deepEqual(
    (await one.abandoned("test")).map(({ name }) => name),
    ["never"],
  );
});

test("what is two days old is dropped", async () => {
  await one.claim(place("old"), await one.clock());
  await age("old", "3 days");
  await one.clock();
  assert.deepEqual(await weir.sql("select name from catch_ups where name = 'old'"), []);
});
