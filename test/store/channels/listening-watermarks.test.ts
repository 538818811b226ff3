import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

test("the time up to which everything was heard is each bot's own, and never falls", async () => {
  const { watermarks } = store;
  assert.equal(await watermarks.read("discord", "1"), null);
  await watermarks.move("discord", "1", new Date(2000));
  await watermarks.move("discord", "1", new Date(1000));
  assert.deepEqual(await watermarks.read("discord", "1"), new Date(2000));
  await watermarks.move("discord", "1", new Date(3000));
  assert.deepEqual(await watermarks.read("discord", "1"), new Date(3000));
  assert.equal(await watermarks.read("discord", "2"), null);
  assert.equal(await watermarks.read("slack", "1"), null);
});

test("a time to come, which a clock that was ahead has noted, does not stay", async () => {
  const { watermarks } = store;
  await watermarks.move("slack", "2", new Date(Date.now() + 86_400_000));
  await watermarks.move("slack", "2", new Date(1000));
  assert.deepEqual(await watermarks.read("slack", "2"), new Date(1000));
});

test("a gap is on record also of a channel without a message, until it is closed", async () => {
  const { channels, gaps } = store;
  const address = { platform: "chat", name: "new" };
  const place = { workspace: "Mill", channel: "new", parent: null };
  const channel = { address, kind: "channel", workspace: "9", place, agent: agentId("main") } as const;
  await gaps.keep(channel, "5");
  const [gap, ...others] = await gaps.all("chat", 10);
  assert.deepEqual([gap?.afterId, gap?.address, gap?.place, others], ["5", address, place, []]);
  assert.deepEqual(await gaps.of(address), gap);
  const id = await channels.open(channel);
  await weir.say(id, "later", { id: "9", channel: address });
  assert.deepEqual(
    (await gaps.all("chat", 10)).map(({ afterId }) => afterId),
    ["5"],
  );
  await gaps.close(address);
  assert.deepEqual(
    (await gaps.all("chat", 10)).map(({ afterId }) => afterId),
    ["9"],
  );
  const bare = { ...channel, address: { platform: "chat", name: "bare" } };
  await gaps.keep(bare, "5");
  await gaps.close(bare.address);
  assert.equal((await gaps.all("chat", 10)).length, 1, "nothing of it is in the log");
  assert.equal(await gaps.of(bare.address), undefined);
  assert.equal((await gaps.of(address))?.afterId, "9");
});

test("a gap that is on record begins no later where a later one is kept, by the ids of each platform", async () => {
  const { gaps } = store;
  for (const [name, ids] of [
    ["snowflakes", ["99", "100", "98", "101"]],
    ["ts", ["C1/1763.000200", "C1/1763.001000", "C1/1763.000100", "C1/1764.000000"]],
  ] as const) {
    const address = { platform: "chat", name };
    const channel = {
      address,
      kind: "channel",
      workspace: "9",

      agent: agentId("main"),
    } as const;
    const kept: (string | undefined)[] = [];
    for (const id of ids) {
      await gaps.keep(channel, id);
      kept.push((await gaps.of(address))?.afterId);
    }
    assert.deepEqual(kept, [ids[0], ids[0], ids[2], ids[2]]);
    await gaps.close(address);
    await gaps.keep(channel, ids[3]);
    assert.equal((await gaps.of(address))?.afterId, ids[3], "what was closed counts no more");
  }
});
