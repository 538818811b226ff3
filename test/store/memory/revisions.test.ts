import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId, type ChannelId, memoryId } from "../../../src/core/ids.ts";
import type { Revision } from "../../../src/core/memory.ts";
import { openTestStore } from "../open-store.ts";
import { rememberIn } from "../remember.ts";

const open = await openTestStore();
const { store } = open;
let count = 0;

async function place(): Promise<ChannelId> {
  const address = { platform: "test", name: `place-${++count}` };
  return store.channels.open({ address, agent: agentId("main"), workspace: "w1", kind: "channel" });
}

/** Somebody says it, on that day of a month, and it becomes a memory. */
async function said(channel: ChannelId, author: string, statement: string, day: number): Promise<number> {
  const at = new Date(Date.UTC(2026, 4, day));
  const seq = await open.say(channel, statement, {
    id: `said-${++count}`,
    author: { id: `id-${author}`, name: author, isBot: false },
    at,
  });
  const sources = [{ seq, quote: statement }];
  return rememberIn(open, channel, { statement, sources, assertedBy: author, subject: "Ann", at });
}

async function revise(
  channel: ChannelId,
  fresh: number,
  older: number,
  change: Revision["change"],
): Promise<number> {
  const revision = { fresh: memoryId(fresh), older: memoryId(older), change };
  return store.revisions.revise(channel, memoryId(Math.max(fresh, older)), [revision]);
}

async function ended(id: number): Promise<unknown> {
  const [row] = await open.sql<{ day: number | null; by: number | null }>(
    "select extract(day from valid_to at time zone 'UTC')::integer as day, superseded_by as by from memories where id = $1",
    id,
  );
  return row?.day === null ? null : [row?.day, row?.by];
}

test("what its speaker replaces ends on that day, and holds again once that is deleted", async () => {
  const channel = await place();
  const berlin = await said(channel, "Ann", "Ann lives in Berlin.", 1);
  const munich = await said(channel, "Ann", "Ann has found a flat by the Isar.", 9);
  assert.equal(await revise(channel, munich, berlin, "replaces"), 1);
  assert.deepEqual(await ended(berlin), [9, munich]);
  assert.equal(await revise(channel, munich, berlin, "replaces"), 0, "it has ended");
  await open.sql("select forget_memory($1, $2)", channel, munich);
  assert.equal(await ended(berlin), null);
});

test("an older statement replaces no newer one, one of another channel none, and nothing itself", async () => {
  const [channel, other] = [await place(), await place()];
  const berlin = await said(channel, "Ann", "Ann lives in Berlin.", 1);
  const munich = await said(channel, "Ann", "Ann has found a flat by the Isar.", 9);
  const elsewhere = await said(other, "Ann", "Ann keeps bees.", 20);
  assert.equal(await revise(channel, berlin, munich, "replaces"), 0);
  assert.equal(await revise(channel, elsewhere, berlin, "replaces"), 0);
  assert.equal(await revise(channel, berlin, berlin, "replaces"), 0);
  assert.deepEqual([await ended(berlin), await ended(munich)], [null, null]);
});

test("others end no statement of a person, nor what others say as well; who it is about ends it under a name of their own", async () => {
  const channel = await place();
  const berlin = await said(channel, "Ben", "Ann lives in Berlin.", 1);
  const rome = await said(channel, "Cleo", "Ann has moved to Rome.", 5);
  assert.equal(await revise(channel, rome, berlin, "replaces"), 0);
  const both = await said(channel, "Dov", "Ann lives in Berlin.", 2);
  assert.equal(both, berlin, "a further proof");
  const munich = await said(channel, "Ann", "Ann has found a flat by the Isar.", 9);
  assert.equal(await revise(channel, munich, berlin, "replaces"), 0, "two people say it");
  assert.equal(await revise(channel, munich, rome, "replaces"), 1);
  assert.deepEqual(await ended(rome), [9, munich]);

  const again = await place();
  const said1 = await said(again, "Ben", "Ann lives in Berlin.", 1);
  const namesake = await said(again, "Ann", "Ann has found a flat by the Isar.", 9);
  for (const id of ["id-Ann", "id-other"]) await open.sql("select speaker_number($1, 'Ann', $2)", again, id);
  assert.equal(await revise(again, namesake, said1, "replaces"), 0, "anybody may take a name");
});

test("a repetition is shown as a proof of the older one, and a contradiction beside it", async () => {
  const channel = await place();
  const tea = await said(channel, "Ann", "Ann drinks tea.", 1);
  const again = await said(channel, "Ann", "A cup of Darjeeling is what Ann takes.", 3);
  const coffee = await said(channel, "Ben", "Ann never drinks tea at all.", 4);
  assert.equal(await revise(channel, again, tea, "repeats"), 1);
  assert.equal(await revise(channel, coffee, tea, "repeats"), 0, "another person's");
  assert.equal(await revise(channel, coffee, tea, "contradicts"), 1);
  assert.equal(await revise(channel, again, tea, "contradicts"), 0, "one person's");
  const rows = await open.sql(
    "select memory_id, other_id from memory_disputes where memory_id = any($1) order by 1",
    [tea, coffee],
  );
  assert.deepEqual(rows, [
    { memoryId: tea, otherId: coffee },
    { memoryId: coffee, otherId: tea },
  ]);
  const asker = { agent: agentId("main"), channel, workspace: "w1", kind: "channel" as const };
  const shown = await store.memories.inScope(asker, 10);
  assert.deepEqual(
    new Map(shown.map(({ id, proofs }) => [id, proofs])),
    new Map([
      [memoryId(coffee), 1],
      [memoryId(tea), 2],
    ]),
  );
});

test("each memory is asked about once", async () => {
  const channel = await place();
  assert.equal(await store.revisions.unjudged(channel), null);
  const first = await said(channel, "Ann", "Ann lives in Berlin.", 1);
  const unjudged = await store.revisions.unjudged(channel);
  assert.deepEqual([unjudged?.fresh.map(({ id }) => id), unjudged?.upTo], [[first], first]);
  assert.deepEqual(unjudged?.known[0]?.at, new Date(Date.UTC(2026, 4, 1)));
  assert.equal(await store.revisions.revise(channel, memoryId(first), []), 0);
  assert.equal(await store.revisions.unjudged(channel), null);
  const second = await said(channel, "Ann", "Ann has geese.", 2);
  const more = await store.revisions.unjudged(channel);
  assert.deepEqual(
    [more?.fresh.map(({ id }) => id), more?.known.map(({ id }) => id)],
    [[second], [second, first]],
  );
});
