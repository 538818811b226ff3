// proves: src/store/channels/gaps.ts
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

const describe = (name: string): Parameters<typeof store.gaps.keep>[0] => ({
  address: { platform: "chat", name },
  kind: "channel",
  workspace: "9",
  place: { workspace: "Mill", channel: name, parent: null },
  agent: agentId("main"),
});
const [until, readTo] = [new Date("2026-05-01T12:00:00Z"), new Date("2026-05-01T10:00:00Z")];

test("a backlog moves its gap on, step by step, and behind it the gap begins where that ended", async () => {
  const { channels, gaps } = store;
  const channel = describe("moving");
  const { address } = channel;
  const id = await channels.open(channel);
  assert.equal(await gaps.backlogOf(id), null);
  await weir.say(id, "before", { id: "100", channel: address });
  await gaps.keep(channel, "100");
  assert.deepEqual(await gaps.backlogOf(id), { read: 0, readTo: null, until: null });
  // What is newer is in the log before what is older.
  await weir.say(id, "live", { id: "900", channel: address });
  const step = { read: 25, readTo, until, untilId: "900" };
  await gaps.advance(address, { ...step, fromId: "100", toId: "150" });
  await weir.say(id, "late", { id: "200", channel: address });
  await gaps.advance(address, { ...step, fromId: "150", toId: "200" });
  assert.equal((await gaps.of(address))?.afterId, "200");
  assert.deepEqual(await gaps.backlogOf(id), { read: 50, readTo, until });
  await gaps.close(address);
  assert.equal(await gaps.backlogOf(id), null);
  assert.equal((await gaps.of(address))?.afterId, "900", "all up to there is in the log");
  await weir.say(id, "live again", { id: "1000", channel: address });
  assert.equal((await gaps.of(address))?.afterId, "1000");
  await gaps.keep(channel, "1000");
  assert.deepEqual(await gaps.backlogOf(id), { read: 0, readTo: null, until: null });
});

test("a step of a backlog changes nothing where an earlier gap is on record by then, or none", async () => {
  const { gaps } = store;
  const channel = describe("elsewhere");
  const step = { toId: "500", read: 1, readTo, until, untilId: "900" };
  await gaps.keep(channel, "300");
  await gaps.keep(channel, "200");
  await gaps.advance(channel.address, { ...step, fromId: "300" });
  assert.equal((await gaps.of(channel.address))?.afterId, "200");
  await gaps.close(channel.address);
  await gaps.advance(channel.address, { ...step, fromId: "200" });
  assert.equal(await gaps.of(channel.address), undefined);
});

test("every gap on record is told, however many there are", async () => {
  const { gaps } = store;
  for (let index = 0; index < 5; index++) {
    const channel = describe(`many-${index}`);
    await gaps.keep({ ...channel, address: { ...channel.address, platform: "busy" } }, "1");
  }
  assert.equal((await gaps.all("busy", 2)).length, 5);
});

test("what was not heard is told at one place of the log, once, also in a view that is read again", async () => {
  const { channels, gaps, log } = store;
  const id = await channels.open(describe("away"));
  await weir.say(id, "before");
  const absence = { kind: "late", from: readTo, to: until } as const;
  const seq = await gaps.noteAbsence(id, "absence/late/1", absence, until);
  assert.equal(await gaps.noteAbsence(id, "absence/late/1", absence, until), seq);
  await weir.say(id, "behind");
  const entries = await log.read(id, 1, 3);
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ["user", "notice", "user"],
  );
  const [, notice] = entries;
  assert.deepEqual(notice?.kind === "notice" ? notice.absence : null, absence);
});
