import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createTestDatabase } from "../../support/database.ts";
import { jobId } from "../../../src/core/ids.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const daemon = openStore(database.connection);
after(async () => daemon[Symbol.asyncDispose]());
const command = openStore(database.connection);
after(async () => command[Symbol.asyncDispose]());
const asked = command.store.requests;
const taken = daemon.store.requests;

test("a request is taken by one and answered, and whoever asked reads the answer", async () => {
  const { id: channel } = await daemon.channel("taken");
  const id = await asked.add(channel, { kind: "compact" });
  assert.deepEqual(await asked.state(id), { isTaken: false, answer: undefined });
  const waiting = (await taken.waiting()).find((request) => request.id === id);
  assert.deepEqual(waiting && { ...waiting, ageMs: 0 }, {
    id,
    channel,
    address: { platform: "test", name: "taken" },
    ageMs: 0,
    work: { kind: "compact" },
  });
  const takes = await Promise.all([taken.take(id), taken.take(id)]);
  assert.equal(takes.filter(Boolean).length, 1);
  assert.deepEqual(await asked.state(id), { isTaken: true, answer: undefined });
  assert.equal(await asked.withdraw(id), false);
  await taken.answer(id, { kind: "nothing" });
  assert.deepEqual(await asked.state(id), { isTaken: true, answer: { kind: "nothing" } });
});

test("a request says which summary is to be written again, or who is to be forgotten", async () => {
  const { id: channel } = await daemon.channel("again");
  const id = await asked.add(channel, { kind: "redo", job: jobId(7) });
  const work = (await taken.waiting()).find((request) => request.id === id)?.work;
  assert.deepEqual(work, { kind: "redo", job: 7 });
  assert.equal(await taken.take(id), true);
  await taken.answer(id, { kind: "nothing" });
  assert.deepEqual(await asked.state(id), { isTaken: true, answer: { kind: "nothing" } });
  const other = await asked.add(channel, { kind: "forget", person: "u-ann" });
  const forget = (await taken.waiting()).find((request) => request.id === other)?.work;
  assert.deepEqual(forget, { kind: "forget", person: "u-ann" });
  assert.equal(await taken.take(other), true);
});

test("what is withdrawn can be taken by nobody", async () => {
  const { id: channel } = await daemon.channel("withdrawn");
  const id = await asked.add(channel, { kind: "compact" });
  assert.equal(await asked.withdraw(id), true);
  assert.equal(await taken.take(id), false);
  await assert.rejects(asked.state(id), /does not exist/);
});

test("what nobody took for a minute is ignored and cleaned away, and the rest stays", async () => {
  const { id: channel } = await daemon.channel("old");
  const [old, young] = [
    await asked.add(channel, { kind: "compact" }),
    await asked.add(channel, { kind: "compact" }),
  ];
  await command.sql("update requests set created_at = now() - interval '61 s' where id = $1", old);
  assert.deepEqual(
    (await taken.waiting()).map(({ id }) => id),
    [young],
  );
  await taken.clean();
  await assert.rejects(asked.state(old), /does not exist/);
  assert.equal(await taken.take(young), true);
});

test("whoever listens hears of each request, and of the end of its connection", async () => {
  const { id: channel } = await daemon.channel("heard");
  const heard = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  await using _listening = await taken.listen(heard.resolve, ended.resolve);
  await asked.add(channel, { kind: "compact" });
  await heard.promise;
  await command.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query = 'listen weir_requests'`,
  );
  await ended.promise;
});

test("disposing ends the listening, and that is no lost connection", async () => {
  let ends = 0;
  const listening = await taken.listen(
    () => undefined,
    () => ends++,
  );
  await listening[Symbol.asyncDispose]();
  await delay(20);
  assert.equal(ends, 0);
});

test("a daemon's status is asked of no channel, and its question is gone once it is answered", async () => {
  const of = { name: "a@host", host: null };
  const id = await asked.addForDaemon("status", of);
  const waiting = (await taken.waiting()).find((request) => request.id === id);
  assert.deepEqual(waiting && { ...waiting, ageMs: 0 }, {
    id,
    channel: null,
    ageMs: 0,
    of,
    work: { kind: "status" },
  });
  assert.equal(await taken.take(id), true);
  await asked.remove(id);
  assert.equal((await asked.state(id)).isTaken, true, "somebody is about to answer it");
  await taken.answer(id, { version: "1" });
  assert.deepEqual((await asked.state(id)).answer, { version: "1" });
  await asked.remove(id);
  await assert.rejects(asked.state(id), /does not exist/);
  const { id: channel } = await daemon.channel("not-asked");
  await daemon.refuses("23514", "insert into requests (channel_id, kind) values ($1, 'status')", channel);
});
