import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ChannelId } from "../../../src/core/ids.ts";
import type { InboundMessage } from "../../../src/core/message.ts";
import type { Appended } from "../../../src/store/log/message-rows.ts";
import type { TurnClaim } from "../../../src/store/turns/turn-rows.ts";
import { beginTurn } from "../../support/turns.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const append = async (
  channel: ChannelId,
  beginner: TurnClaim | null,
  overrides?: Partial<InboundMessage>,
): Promise<Appended> => weir.append(channel, "are you there?", overrides, beginner);

function begun(appended: Appended): unknown {
  return appended.duplicate ? "a duplicate" : appended.turn;
}

async function turnsOf(channel: ChannelId): Promise<unknown[]> {
  const rows = await weir.sql(
    "select epoch, from_seq, to_seq, state, attempts from turns where channel_id = $1 order by id",
    channel,
  );
  return rows.map((row) => ({ ...row }));
}

test("a message whose channel has nothing else to do begins its turn with its append", async () => {
  const { id, epoch } = await weir.channel("alone");
  const appended = await append(id, { epoch, lastSeq: 0 });
  const running = (await store.load(id)).running;
  assert.deepEqual(begun(appended), running);
  assert.deepEqual(await turnsOf(id), [{ epoch, fromSeq: 1, toSeq: 1, state: "running", attempts: 1 }]);
});

test("a message begins no turn where another entry came in between", async () => {
  const { id, epoch } = await weir.channel("between");
  await append(id, null);
  assert.equal(begun(await append(id, { epoch, lastSeq: 0 })), null);
  assert.deepEqual(await turnsOf(id), []);
});

test("an owner that has lost its channel begins no turn, and the message is in the log all the same", async () => {
  const { id, epoch } = await weir.channel("lost");
  await store.channels.take(id);
  const appended = await append(id, { epoch, lastSeq: 0 });
  assert.deepEqual([appended.seq, begun(appended)], [1, null]);
  assert.deepEqual(await turnsOf(id), []);
});

test("a message begins no second turn, and a turn that runs unheard of is not begun again as another", async () => {
  const { id, epoch } = await weir.channel("running");
  await append(id, null);
  await beginTurn(store, { channel: id, epoch }, 1, 1);
  assert.equal(begun(await append(id, { epoch, lastSeq: 1 })), null);
  assert.equal(await store.turns.begin({ channel: id, epoch }, 1, 2), null);
  assert.equal((await turnsOf(id)).length, 1);
});

test("neither a redelivery begins a turn nor what wants no answer", async () => {
  const { id, epoch } = await weir.channel("no-turn");
  await append(id, { epoch, lastSeq: 0 }, { id: "said-twice", addressed: false });
  const again = await append(id, { epoch, lastSeq: 1 }, { id: "said-twice" });
  assert.deepEqual(again, { duplicate: true, seq: 1, due: false });
  assert.deepEqual(await turnsOf(id), []);
});

test("of messages that go together none begins a turn by itself: one turn is to answer them all", async () => {
  const { id, epoch } = await weir.channel("together");
  const beginner = { epoch, lastSeq: 0 };
  const appended = await Promise.all([append(id, beginner), append(id, beginner), append(id, beginner)]);
  assert.deepEqual(
    appended.map((one) => begun(one)),
    [null, null, null],
  );
  assert.deepEqual(await turnsOf(id), []);
});

test("a reset leaves the turn of a message alone that came after it was asked for", async () => {
  const { id, epoch } = await weir.channel("reset");
  await append(id, null);
  const turn = begun(await append(id, { epoch, lastSeq: 1 }));
  const ended = await store.channels.reset(id, epoch, 1);
  assert.equal(ended?.messageIds.length, 1);
  assert.deepEqual((await store.load(id)).running, turn);
  const states = await weir.sql(
    "select from_seq, state from turns where channel_id = $1 order by from_seq",
    id,
  );
  assert.deepEqual(
    states.map((row) => ({ ...row })),
    [
      { fromSeq: 1, state: "stopped" },
      { fromSeq: 2, state: "running" },
    ],
  );
});
