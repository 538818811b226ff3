import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { compactAnswer } from "../../src/admin/requests/compact-answer.ts";
import { ask, type RequestTimes } from "../../src/admin/requests/ask-daemon.ts";
import { parseCompaction } from "../../src/cli/compact.ts";
import { openStore } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { requests } = weir.store;
const { id: channel } = await weir.channel("asked");

const TIMES: RequestTimes = { takeMs: 100, answerMs: 500, pollMs: 5 };
const never = new AbortController().signal;

test("a request that nobody takes in time is withdrawn", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  assert.equal(await ask(requests, id, never, TIMES, compactAnswer), null);
  assert.equal(await requests.take(id), false);
});

test("a request that was taken is waited for, also past the time to take it", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  assert.equal(await requests.take(id), true);
  const times = { ...TIMES, answerMs: 600_000 };
  const asked = ask(requests, id, never, times, compactAnswer);
  await delay(times.takeMs + 50);
  await requests.answer(id, { kind: "nothing", reason: "all of it is recent" });
  assert.deepEqual(await asked, { kind: "nothing", reason: "all of it is recent" });
});

test("a daemon that took it and never answers is not waited for for ever", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  await requests.take(id);
  await assert.rejects(ask(requests, id, never, TIMES, compactAnswer), /The daemon is still at it/);
});

test("a daemon that took it and was killed is not waited for", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  await requests.take(id);
  const times = { ...TIMES, answerMs: 600_000, aliveMs: 0 };
  const daemon = openStore(database.connection, { isDaemon: true });
  await daemon.sql("select 1");
  const asked = ask(requests, id, never, times, compactAnswer);
  const refused = assert.rejects(
    asked,
    /The daemon that took this has ended, and nobody answers\. Run this again\./,
  );
  await delay(50);
  await daemon[Symbol.asyncDispose]();
  await refused;
});

test("what a daemon answered before it ended is taken", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  await requests.take(id);
  const asked = ask(requests, id, never, { ...TIMES, answerMs: 600_000, aliveMs: 5000 }, compactAnswer);
  await requests.answer(id, { kind: "nothing", reason: "all of it is recent" });
  assert.equal((await asked)?.kind, "nothing");
});

test("an answer that this version does not know is an error", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  await requests.take(id);
  await requests.answer(id, { kind: "later" });
  await assert.rejects(ask(requests, id, never, TIMES, compactAnswer), /does not understand/);
});

test("Ctrl-C withdraws what nobody has taken", async () => {
  const id = await requests.add(channel, { kind: "compact" });
  const controller = new AbortController();
  const asked = ask(requests, id, controller.signal, { ...TIMES, takeMs: 60_000 }, compactAnswer);
  controller.abort();
  await assert.rejects(asked, /Interrupted/);
  assert.equal(await requests.take(id), false);
});

test("a compaction is named by its number, with or without its mark", () => {
  assert.equal(parseCompaction("12"), 12);
  assert.equal(parseCompaction("#12"), 12);
  for (const typed of ["", "0", "-1", "1.5", "twelve", "9".repeat(16), "#", "12 or 1=1"])
    assert.throws(() => parseCompaction(typed), /--redo takes the number of a compaction/);
});
