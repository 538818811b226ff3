import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { type ChannelId, memoryId, type MemoryId, type TurnId, turnId } from "../../../src/core/ids.ts";
import { type ContextRecord, KEPT_RECORDS } from "../../../src/store/turns/context-records.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { openStore } from "../open-store.ts";
import { rememberIn } from "../remember.ts";
import { rowsWith } from "../rows-with.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;
const records = store.contextRecords;

const WORD = "zxqharbour";

function recordOf(turn: TurnId, memories: readonly MemoryId[] = []): ContextRecord {
  return {
    turn,
    at: new Date("2026-11-24T12:00:00Z"),
    model: "test-model",
    window: 8192,
    usable: 7168,
    tokens: 900,
    characters: 3600,
    usage: 0.125,
    pressure: "low",
    reported: null,
    segments: [],
    sections: [],
    focus: { summary: `about ${WORD}`, paths: [], symbols: [], signals: [] },
    budget: { each: 1000, all: 7168 },
    raw: { fromSeq: 1, toSeq: 1, count: 1 },
    summaries: [{ fromSeq: 1, toSeq: 4, level: 1, tokens: 90, compaction: null }],
    recalled: { entries: [], memories },
    omission: null,
    prefix: { sha256: "00", messages: 2, continues: null },
  };
}

interface Told {
  readonly id: ChannelId;
  readonly seq: number;
  readonly turn: TurnId;
}

/** A settled turn that has answered a message with the word. */
async function answered(name: string, message = `${name}-1`): Promise<Told> {
  const { id, epoch } = await weir.channel(name);
  return { id, ...(await answer(id, epoch, message)) };
}

async function answer(
  id: ChannelId,
  epoch: number,
  message: string,
): Promise<{ readonly seq: number; readonly turn: TurnId }> {
  const seq = await weir.say(id, `We speak of ${WORD}.`, { id: message });
  const turn = await store.turns.begin({ channel: id, epoch }, seq, seq);
  assert.ok(turn !== null);
  const settlement = {
    state: "skipped",
    reason: null,
    modelMs: 1,
    entry: null,
    idempotencyKeys: [],
  } as const;
  await store.turns.settle({ channel: id, epoch }, turn, settlement, new Date());
  return { seq, turn: turn.id };
}

async function keep(
  { id, seq, turn }: Told,
  memories: readonly MemoryId[] = [],
  text = `We speak of ${WORD}.`,
): Promise<boolean> {
  const seen = { seenTo: seq, answered: [{ seq, text }] };
  const [isKept] = await records.keep([{ channel: id, record: recordOf(turn, memories), seen }]);
  return isKept ?? false;
}

describe("the record of a turn's context", () => {
  test("is found by its turn, or as the last", async () => {
    const told = await answered("found");
    assert.equal(await records.find(told.id, null), undefined);
    assert.equal(await keep(told), true);
    assert.deepEqual(await records.find(told.id, told.turn), recordOf(told.turn));
    assert.deepEqual(await records.find(told.id, null), recordOf(told.turn));
    assert.equal(await records.find(told.id, turnId(999_999)), undefined);
    const other = await weir.channel("found-elsewhere");
    assert.equal(await records.find(other.id, told.turn), undefined, "of another channel");
    assert.deepEqual(await records.list(told.id), [{ turn: told.turn, at: recordOf(told.turn).at }]);
  });

  test("is kept whatever its words are made of", async () => {
    const told = await answered("odd");
    const focus = { summary: "a\u0000b \ud83d 漢字 👩‍👩‍👧", paths: ["\udc00"], symbols: [], signals: [] };
    const record = { ...recordOf(told.turn), focus };
    const seen = { seenTo: told.seq, answered: [] };
    assert.deepEqual(await records.keep([{ channel: told.id, record, seen }]), [true]);
    const kept = await records.find(told.id, told.turn);
    assert.match(kept?.focus.summary ?? "", /漢字 👩‍👩‍👧$/);
  });

  test("is kept together with those of other channels, but for one whose text was deleted", async () => {
    const some = [await answered("one"), await answered("two"), await answered("three")];
    await store.log.delete(some[1]?.id ?? assert.fail(), "two-1", TEST_DIGESTER);
    const kept = await records.keep(
      some.map(({ id, seq, turn }) => {
        return { channel: id, record: recordOf(turn), seen: { seenTo: seq, answered: [] } };
      }),
    );
    assert.deepEqual(kept, [true, false, true]);
    for (const [index, { id, turn }] of some.entries())
      assert.equal((await records.find(id, null))?.turn, index === 1 ? undefined : turn);
  });

  test("is one a turn, and the oldest go", async () => {
    const { id, epoch } = await weir.channel("pruned");
    const turns: TurnId[] = [];
    for (let number = 1; number <= KEPT_RECORDS + 3; number++) {
      const told = { id, ...(await answer(id, epoch, `pruned-${number}`)) };
      turns.push(told.turn);
      assert.equal(await keep(told), true);
      await keep(told);
    }
    const kept = (await records.list(id)).map(({ turn }) => turn);
    assert.deepEqual(kept, turns.slice(-KEPT_RECORDS).toReversed());
  });
});

/** How a text is taken back, and by whom. */
const TAKING: Readonly<Record<string, (told: Told, name: string) => Promise<unknown>>> = {
  "a deletion": async ({ id }, name) => store.log.delete(id, `${name}-1`, TEST_DIGESTER),
  "an edit": async ({ id }, name) =>
    store.log.edit(id, `${name}-1`, "Never mind.", new Date(), TEST_DIGESTER),
  "an erasure": async ({ id }, name) => store.people.blank(id, [`${name}-1`], TEST_DIGESTER),
};

async function tables(): Promise<string[]> {
  return (await rowsWith(weir, WORD)).filter((name) => name.startsWith("context"));
}

for (const [what, take] of Object.entries(TAKING)) {
  test(`${what} takes the records of turns that have seen it, and none of the others`, async () => {
    const name = `take-${what}`;
    const told = await answered(name);
    const other = await answered(`${name}-other`);
    const { id, epoch } = await weir.channel(`${name}-later`);
    const before = { id, ...(await answer(id, epoch, `${name}-before`)) };
    for (const one of [told, other, before]) assert.equal(await keep(one), true);
    await weir.say(id, "later words", { id: `${name}-later-1` });
    await take(told, name);
    await take({ ...told, id }, `${name}-later`);
    assert.equal(await records.find(told.id, null), undefined);
    assert.notEqual(await records.find(other.id, null), undefined, "of another channel");
    assert.notEqual(await records.find(id, null), undefined, "of a turn that came before the message");
  });

  test(`${what} refuses the record of a turn that had begun before, and none of a later one`, async () => {
    const name = `late-${what}`;
    const told = await answered(name);
    await take(told, name);
    assert.equal(await keep(told), false);
    assert.equal(await records.find(told.id, null), undefined);
    const { epoch } = await weir.channel(name);
    const later = { id: told.id, ...(await answer(told.id, epoch, `${name}-2`)) };
    assert.equal(await keep(later), true);
  });

  test(`${what} that is about to commit refuses a record, which waits for nothing`, async () => {
    const name = `beside-${what}`;
    const told = await answered(name);
    await weir.db.transaction(async (client) => {
      await client.query("", "select void_context_records($1, $2)", [told.id, told.seq]);
      assert.equal(await keep(told), false);
    });
    assert.equal(await records.find(told.id, null), undefined);
  });
}

test("a record whose messages were shown otherwise than the log has them is refused", async () => {
  const told = await answered("otherwise");
  assert.equal(await keep(told, [], "We speak of something else."), false);
});

test("a memory that is forgotten takes the records of its channel and those that were shown it", async () => {
  const told = await answered("forgotten");
  const elsewhere = await answered("forgotten-elsewhere");
  const apart = await answered("forgotten-apart");
  const sources = [{ seq: told.seq, quote: "We speak" }];
  const id = memoryId(await rememberIn(weir, told.id, { statement: "It is deep.", sources }));
  assert.equal(await keep(told), true);
  assert.equal(await keep(elsewhere, [id]), true);
  assert.equal(await keep(apart), true);
  assert.equal(await store.people.forgetMemory(told.id, id), true);
  assert.equal(await records.find(told.id, null), undefined);
  assert.equal(await records.find(elsewhere.id, null), undefined);
  assert.notEqual(await records.find(apart.id, null), undefined);
  await weir.sql("delete from context_records where channel_id = $1", elsewhere.id);
  assert.equal(await keep(elsewhere, [id]), false, "and comes back with no record that is late");
  await weir.sql("delete from context_records");
  assert.deepEqual(await tables(), []);
});
