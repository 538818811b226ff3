import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTick } from "node:timers/promises";
import { WeirError } from "../../../src/core/errors.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { GroupCommit } from "../../../src/store/database/group-commit.ts";
import type { Appended } from "../../../src/store/log/message-rows.ts";
import { answered } from "../../support/turns.ts";
import { openTestStore } from "../open-store.ts";

const weir = await openTestStore();
const { store } = weir;

class Lost extends WeirError {
  readonly retryable = true;
}

/** Work is written when the test says so. `calls`: what each statement was given. */
function gated(locked: ReadonlySet<string> = new Set()) {
  const calls: string[][] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const pass = async (works: readonly string[]): Promise<void> => {
    calls.push([...works]);
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    await gate.promise;
  };
  const group = new GroupCommit<string, string>({
    most: 3,
    writers: 1,
    async together(works) {
      await pass(works);
      return works.map((work) => (locked.has(work) ? undefined : work.toUpperCase()));
    },
    async alone(work) {
      await pass([work]);
      return work.toUpperCase();
    },
  });
  return { group, calls, gates };
}

test("what comes while a statement is under way shares the next ones, and the first waits for nothing", async () => {
  const { group, calls, gates } = gated();
  const written = ["a", "b", "c", "d", "e"].map(async (work) => group.write(work));
  assert.deepEqual(calls, [["a"]]);
  gates[0]?.resolve();
  assert.equal(await written[0], "A");
  await nextTick();
  assert.deepEqual(calls, [["a"], ["b", "c", "d"]]);
  gates[1]?.resolve();
  assert.deepEqual(await Promise.all(written.slice(1, 4)), ["B", "C", "D"]);
  await nextTick();
  gates[2]?.resolve();
  assert.equal(await written[4], "E");
  assert.equal(calls.length, 3);
});

test("a locked row is written alone, and the others do not wait for it", async () => {
  const { group, calls, gates } = gated(new Set(["b"]));
  const written = ["a", "b", "c"].map(async (work) => group.write(work));
  gates[0]?.resolve();
  await written[0];
  await nextTick();
  gates[1]?.resolve();
  assert.equal(await written[2], "C");
  await nextTick();
  assert.deepEqual(calls, [["a"], ["b", "c"], ["b"]]);
  // The row stays locked, and work that comes later is written all the same.
  const later = group.write("d");
  while (calls.length < 4) await nextTick();
  gates[3]?.resolve();
  assert.equal(await later, "D");
  gates[2]?.resolve();
  assert.equal(await written[1], "B");
});

test("if the outcome of a commit is unknown, it is unknown for each; what is refused fails alone", async () => {
  const calls: string[][] = [];
  const group = (failure: Error) =>
    new GroupCommit<string, string>({
      most: 9,
      writers: 1,
      async together(works) {
        calls.push([...works]);
        throw failure;
      },
      async alone(work) {
        calls.push([work]);
        if (work === "bad") throw new Error("refused");
        return work;
      },
    });
  const write = async (failure: Error) => {
    calls.length = 0;
    const one = group(failure);
    const all = await Promise.allSettled(["first", "good", "bad"].map(async (work) => one.write(work)));
    return all.map(({ status }) => status);
  };
  assert.deepEqual(await write(new Lost("cut")), ["fulfilled", "rejected", "rejected"]);
  assert.deepEqual(calls, [["first"], ["good", "bad"]]);
  assert.deepEqual(await write(new Error("refused")), ["fulfilled", "fulfilled", "rejected"]);
  assert.deepEqual(calls, [["first"], ["good", "bad"], ["good"], ["bad"]]);
});

/** Channels with a message each, handed in together, so that most share a transaction. */
async function beginTogether(name: string, count: number) {
  const channels = await Promise.all(
    Array.from({ length: count }, async (_, index) => weir.channel(`${name}-${index}`)),
  );
  const appended = await Promise.all(
    channels.map(async ({ id, epoch }) => weir.append(id, `of ${id}`, {}, { epoch, lastSeq: 0 })),
  );
  return channels.map((channel, index) => ({ ...channel, turn: turnOf(appended[index]) }));
}

function turnOf(appended: Appended | undefined) {
  assert.ok(appended?.duplicate === false && appended.turn !== null, "it begins its turn");
  return appended.turn;
}

/** Transactions of several channels are seen by their number: each row tells which has written it. */
async function transactions(table: "entries" | "turns", channels: readonly ChannelId[]): Promise<number> {
  const [row] = await weir.sql<{ count: number }>(
    `select count(distinct xmin::text)::integer as count from ${table} where channel_id = any ($1)`,
    channels,
  );
  return row?.count ?? NaN;
}

test("messages and settlements of several channels share transactions, each with its own turn, parts and bill", async () => {
  const begun = await beginTogether("shared", 12);
  const ids = begun.map(({ id }) => id);
  assert.ok((await transactions("entries", ids)) < 6);
  const settled = await Promise.all(
    begun.map(async ({ id, epoch, turn }) =>
      store.turns.settle({ channel: id, epoch }, turn, answered(`key-${id}`), new Date()),
    ),
  );
  assert.ok((await transactions("turns", ids)) < 6);
  for (const [index, { id, turn }] of begun.entries()) {
    const one = settled[index];
    assert.deepEqual(
      one?.parts.map(({ turnId, idempotencyKey }) => [turnId, idempotencyKey]),
      [[turn.id, `key-${id}`]],
    );
    const { history, running } = await store.load(id);
    assert.equal(running, null);
    assert.deepEqual(
      history.entries.map((entry) => [entry.seq, "text" in entry && entry.text]),
      [
        [1, `of ${id}`],
        [2, "hello"],
      ],
    );
    assert.equal(history.settledTo, 1);
  }
});

test("of settlements that go together, only that of a daemon that has lost its channel is refused", async () => {
  const begun = await beginTogether("lost", 6);
  const lost = begun[3]?.id;
  assert.ok(lost !== undefined);
  await store.channels.take(lost);
  const outcomes = await Promise.allSettled(
    begun.map(async ({ id, epoch, turn }) =>
      store.turns.settle({ channel: id, epoch }, turn, answered(`lost-${id}`), new Date()),
    ),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    begun.map(({ id }) => (id === lost ? "rejected" : "fulfilled")),
  );
  assert.ok(outcomes[3]?.status === "rejected" && outcomes[3].reason instanceof Error);
  assert.equal(outcomes[3].reason.name, "StaleEpochError");
  assert.equal((await store.load(lost)).history.lastSeq, 1);
});

test("a channel whose row is locked delays no other channel", async () => {
  const begun = await beginTogether("locked", 5);
  const held = begun[2];
  assert.ok(held !== undefined);
  const isHeld = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const holding = weir.db.transaction(async (client) => {
    await client.query("", "select from channels where id = $1 for update", [held.id]);
    isHeld.resolve();
    await mayEnd.promise;
  });
  await isHeld.promise;
  let isSettled = false;
  const all = begun.map(async ({ id, epoch, turn }) => {
    await store.turns.settle({ channel: id, epoch }, turn, answered(`locked-${id}`), new Date());
    if (id === held.id) isSettled = true;
  });
  await Promise.all(all.filter((_, index) => index !== 2));
  const next = await weir.channel("locked-next");
  await weir.say(next.id, "nothing waits");
  assert.equal(isSettled, false);
  mayEnd.resolve();
  await Promise.all([holding, ...all]);
  assert.equal((await store.load(held.id)).history.settledTo, 1);
});
