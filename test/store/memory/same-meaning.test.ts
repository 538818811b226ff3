// proves: migrations/baseline/10_meaning.sql, src/store/search/vectors.ts, src/store/memory/memory-scope.ts
// What says the same in other words is one more proof, as far as vectors tell, and takes nothing with it when it goes.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { agentId, memoryId } from "../../../src/core/ids.ts";
import type { Author } from "../../../src/core/message.ts";
import { marksOf } from "../../../src/memory/statement-marks.ts";
import type { AskingChannel } from "../../../src/store/memory/memory-scope.ts";
import { ANN, authorOf, BEN } from "../../support/commands.ts";
import { until } from "../../support/patience.ts";
import { openTestStore } from "../open-store.ts";
import { rememberIn } from "../remember.ts";

const open = await openTestStore();
const { store } = open;
let count = 0;

async function place(): Promise<AskingChannel> {
  const asker = { agent: agentId("main"), workspace: "w", kind: "channel" as const };
  const address = { platform: "test", name: `same-${++count}` };
  return { ...asker, channel: await store.channels.open({ address, ...asker }) };
}

/** A hundred bits, of which so many are set: two of them differ in the difference. */
function bits(set: number): string {
  return "1".repeat(set).padEnd(100, "0");
}

interface Said {
  readonly id: number;
  readonly message: string;
}

/** Somebody says something, it is remembered, and gets this vector. */
async function say(
  { channel }: AskingChannel,
  statement: string,
  vector: string,
  overrides: Readonly<Record<string, unknown>> & { readonly by?: Author } = {},
): Promise<Said> {
  const { by = authorOf(ANN), ...memory } = overrides;
  const message = `same-said-${++count}`;
  const at = new Date(Date.UTC(2026, 10, 1, 0, count));
  const seq = await open.say(channel, statement, { id: message, at, author: by });
  const draft = { statement, sources: [{ seq, quote: statement }], at, assertedBy: by.name, subject: "home" };
  const id = await rememberIn(open, channel, { ...draft, ...marksOf(statement), ...memory });
  const batch = await store.vectors.next(channel, "m", 100);
  const vectors = batch.texts.map(({ of }) => ({ of, bits: vector }));
  await store.vectors.keep(channel, "m", batch, vectors);
  await store.vectors.fold(channel, [memoryId(id)], 0.08);
  return { id, message };
}

/** What is listed and recalled, with its proofs. */
async function told(asker: AskingChannel): Promise<[id: number, proofs: number][]> {
  const listed = (await store.memories.inScope(asker, 100)).filter((one) => one.until === undefined);
  const found = await store.memories.search(asker, {
    words: "'ann' | 'ben'",
    pieces: [],
    times: [],
    limit: 100,
  });
  const near = await store.vectors.memoriesNear(asker, { model: "m", bits: bits(50), most: 100, limit: 100 });
  const inOrder = (memories: readonly { id: number; proofs: number }[]): [number, number][] =>
    memories.map(({ id, proofs }): [number, number] => [id, proofs]).toSorted(([a], [b]) => a - b);
  assert.deepEqual(
    inOrder(found.map(({ memory }) => memory)),
    inOrder(listed),
    "recalled by words, and listed",
  );
  assert.deepEqual(
    inOrder(near.map(({ memory }) => memory)),
    inOrder(listed),
    "recalled by meaning, and listed",
  );
  return inOrder(listed);
}

async function takeBack({ channel }: AskingChannel, { message }: Said): Promise<void> {
  await open.sql("select delete_message($1, $2)", channel, message);
}

test("what is preferred the other way round is no second proof, and ends what it was before", async () => {
  const here = await place();
  const first = await say(here, "Ann prefers tea to coffee", bits(10), { type: "preference" });
  const second = await say(here, "Ann prefers coffee to tea", bits(60), { type: "preference" });
  assert.notEqual(second.id, first.id);
  const rows = await open.sql(
    "select id, valid_to is null as holds from memories where channel_id = $1 order by id",
    here.channel,
  );
  assert.deepEqual(rows, [
    { id: first.id, holds: false },
    { id: second.id, holds: true },
  ]);
});

test("a message that says it twice is one proof", async () => {
  const asker = await place();
  const first = await say(asker, LIVES, bits(50));
  const [source] = await open.sql<{ seq: number }>(
    "select seq from memory_sources where memory_id = $1",
    first.id,
  );
  assert.ok(source !== undefined);
  await say(asker, HOME, bits(50), { sources: [{ seq: source.seq, quote: LIVES }] });
  assert.deepEqual(await told(asker), [[first.id, 1]]);
});

const LIVES = "Ann lives near the harbour.";
const HOME = "Ann has her flat close to the port.";

test("what says the same in other words is one more proof, whoever says it", async () => {
  const asker = await place();
  const first = await say(asker, LIVES, bits(50));
  const again = await say(asker, HOME, bits(55), { by: authorOf(BEN) });
  assert.deepEqual(await told(asker), [[first.id, 2]]);
  assert.equal((await store.memories.find(asker, again.id))?.sameAs, first.id, "whoever asks for it is told");
});

test("what is only like it is not: by its vector, its kind, its subject, its days, a number, a name or a negation", async () => {
  for (const [statement, vector, overrides] of [
    [HOME, bits(59), {}],
    [HOME, bits(50), { type: "observation" }],
    [HOME, bits(50), { subject: "office" }],
    [HOME, bits(50), { refers: { from: "2026-11-01", to: "2026-11-02" } }],
    ["Ann has her 2 flats close to the port.", bits(50), {}],
    ["Ann has her flat close to the Elbe.", bits(50), {}],
    ["Ann has no flat close to the port.", bits(50), {}],
    [HOME, "1".repeat(50).padEnd(200, "0"), {}],
  ] as const) {
    const asker = await place();
    const first = await say(asker, LIVES, bits(50));
    const other = await say(asker, statement, vector, overrides);
    const known = (await store.memories.inScope(asker, 10))
      .toReversed()
      .map(({ id, sameAs }) => [id, sameAs]);
    assert.deepEqual(
      known,
      [
        [first.id, undefined],
        [other.id, undefined],
      ],
      statement,
    );
  }
});

test("nothing of another channel, and nothing that has no marks, is the same", async () => {
  const [here, there] = [await place(), await place()];
  await say(there, LIVES, bits(50));
  const unmarked = await say(here, LIVES, bits(50), { marks: undefined, about: undefined, slots: undefined });
  const marked = await say(here, HOME, bits(50));
  assert.deepEqual(await told(here), [
    [unmarked.id, 1],
    [marked.id, 1],
  ]);
});

test("it shows again once the older one is deleted, forgotten or ended, and goes with its own message", async () => {
  for (const take of ["deleted", "forgotten", "ended"] as const) {
    const asker = await place();
    const first = await say(asker, LIVES, bits(50));
    const again = await say(asker, HOME, bits(50), { by: authorOf(BEN) });
    if (take === "deleted") await takeBack(asker, first);
    else if (take === "forgotten") await store.people.forgetMemory(asker.channel, memoryId(first.id));
    else await say(asker, "Ann no longer lives near the harbour.", bits(0));
    const left = (await told(asker)).filter(([id]) => id <= again.id);
    assert.deepEqual(left, [[again.id, 1]], take);
    await takeBack(asker, again);
    assert.equal(
      (await told(asker)).some(([id]) => id === again.id),
      false,
    );
  }
});

test("what is behind one that is found to be the same goes behind the older one with it", async () => {
  const asker = await place();
  const first = await say(asker, LIVES, bits(50));
  // It has its vector only later: between it and the first one a daemon had stood still.
  const second = await say(asker, HOME, bits(0));
  const third = await say(asker, "Ann dwells by the port.", bits(5));
  assert.deepEqual(await told(asker), [
    [first.id, 1],
    [second.id, 2],
  ]);
  await open.sql(
    "update memory_vectors set bits = $2::bit varying where memory_id = $1",
    second.id,
    bits(52),
  );
  assert.deepEqual(await store.vectors.fold(asker.channel, [memoryId(second.id)], 0.08), [second.id]);
  assert.deepEqual(await told(asker), [[first.id, 3]]);
  await takeBack(asker, first);
  assert.deepEqual(await told(asker), [
    [second.id, 1],
    [third.id, 1],
  ]);
});

test(
  "what says the same is looked for without the channel's lock, each apart from the others",
  { timeout: 20_000 },
  async () => {
    const asker = await place();
    const first = await say(asker, LIVES, bits(0));
    const same = await say(asker, HOME, bits(50));
    const others = [
      await say(asker, HOME.replace("flat", "room"), bits(80)),
      await say(asker, "Ann sails.", bits(30)),
    ];
    await open.sql("update memory_vectors set bits = $2::bit varying where memory_id = $1", same.id, bits(2));
    let folding: Promise<readonly number[]> = Promise.resolve([]);
    await open.db.transaction(async (client) => {
      await client.query("", "select from channels where id = $1 for no key update", [asker.channel]);
      const found = await store.vectors.fold(
        asker.channel,
        others.map(({ id }) => memoryId(id)),
        0.08,
      );
      assert.deepEqual(found, [], "and waits for nobody");
      folding = store.vectors.fold(
        asker.channel,
        [memoryId(same.id), ...others.map(({ id }) => memoryId(id))],
        0.08,
      );
      await untilLocked();
    });
    assert.deepEqual(await folding, [same.id]);
    assert.deepEqual((await told(asker)).slice(0, 1), [[first.id, 2]]);
  },
);

test("an older one that ends or goes while the lock is waited for has nothing behind it", async () => {
  for (const take of [
    "update memories set valid_to = now() where id = $1",
    "select forget_memory(channel_id, id) from memories where id = $1",
  ]) {
    const asker = await place();
    const first = await say(asker, LIVES, bits(0));
    const again = await say(asker, HOME, bits(50), { by: authorOf(BEN) });
    await open.sql(
      "update memory_vectors set bits = $2::bit varying where memory_id = $1",
      again.id,
      bits(2),
    );
    let folding: Promise<readonly number[]> = Promise.resolve([]);
    await open.db.transaction(async (client) => {
      await client.query("", "select from channels where id = $1 for no key update", [asker.channel]);
      folding = store.vectors.fold(asker.channel, [memoryId(again.id)], 0.08);
      await untilLocked();
      await client.query("", take, [first.id]);
    });
    assert.deepEqual(await folding, [], take);
    assert.deepEqual(await told(asker), [[again.id, 1]], take);
  }
});

/** Something waits for a lock. */
async function untilLocked(): Promise<void> {
  await until("the wait", async () => {
    const waiting =
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    return (await open.sql(waiting)).length > 0;
  });
}

test("whatever is said and taken back, each message that is there is told of exactly once", async () => {
  const act = fc.record({
    vector: fc.integer({ min: 0, max: 30 }),
    takes: fc.option(fc.nat(), { nil: null }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 8 }), async (acts) => {
      const asker = await place();
      let there: Said[] = [];
      for (const { vector, takes } of acts) {
        there.push(
          await say(
            asker,
            `Ann lives at place ${"abcdefghijklmnopqrstuvwxyzabcde".charAt(vector)}${"x".repeat(there.length)}.`,
            bits(vector),
          ),
        );
        const gone = takes === null ? undefined : there[takes % there.length];
        if (gone === undefined) continue;
        await takeBack(asker, gone);
        there = there.filter((one) => one !== gone);
      }
      const proofs = (await told(asker)).reduce((sum, [, one]) => sum + one, 0);
      assert.equal(proofs, there.length);
    }),
    { numRuns: 15 },
  );
});
