// proves: src/telemetry/events.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { channelId } from "../../src/core/ids.ts";
import { StaleEpochError } from "../../src/store/database/errors.ts";
import { createTestDatabase } from "../support/database.ts";
import { openStore } from "./open-store.ts";
import { beginTurn } from "../support/turns.ts";

/** Writes of several channels that share a statement. */

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const CHANNELS = 12;
const MESSAGES = 15;

test("messages that many channels listen to share their commits, and each channel keeps its order", async () => {
  const rooms = await Promise.all(
    Array.from({ length: CHANNELS }, async (_, index) => weir.channel(`room-${index}`)),
  );
  const commits = async (): Promise<number> => {
    const rows = await weir.sql("select distinct xmin::text from entries");
    return rows.length;
  };
  await Promise.all(
    rooms.map(async ({ id }, room) => {
      for (let index = 1; index <= MESSAGES; index++) {
        const message = { id: `${room}-${index}`, addressed: false };
        assert.equal(await weir.say(id, `text ${index} of ${room}`, message), index);
        const [entry] = await store.log.read(id, index, index);
        assert.equal(entry?.text, `text ${index} of ${room}`, "durable, and its own");
      }
    }),
  );
  // How many come together depends on how busy the machine is.
  assert.ok((await commits()) < CHANNELS * MESSAGES * 0.75, `${await commits()} commits`);
});

test("a message that cannot be stored refuses none of the other channels'", async () => {
  const [one, two] = [await weir.channel("one"), await weir.channel("two")];
  const quiet = { addressed: false };
  const appended = await Promise.allSettled([
    weir.say(one.id, "first", quiet),
    weir.say(channelId(999_999), "nowhere", quiet),
    weir.say(two.id, "second", quiet),
    weir.say(channelId(999_998), "nowhere", quiet),
  ]);
  assert.deepEqual(
    appended.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled", "rejected"],
  );
});

test("what was delivered is noted for all channels but the one that has a new owner", async () => {
  const rooms = await Promise.all(
    ["kept", "lost", "kept too"].map(async (name) => {
      const { id, epoch } = await weir.channel(name);
      await weir.say(id, "hello");
      const owner = { channel: id, epoch };
      const turn = await beginTurn(store, owner, 1, 1);
      const entry = { kind: "assistant", text: "hi", stopped: false } as const;
      const settlement = { state: "answered", reason: null, modelMs: 1, entry } as const;
      const { parts } = await store.turns.settle(
        owner,
        turn,
        { ...settlement, idempotencyKeys: [`key of ${name}`] },
        new Date(),
      );
      return { owner, delivery: parts[0]?.id ?? 0, name };
    }),
  );
  await store.channels.take(rooms[1]?.owner.channel ?? channelId(0));
  const noted = await Promise.allSettled(
    rooms.map(async ({ owner, delivery, name }) => store.deliveries.sent(owner, delivery, `id of ${name}`)),
  );
  assert.deepEqual(
    noted.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.ok(noted[1]?.status === "rejected" && noted[1].reason instanceof StaleEpochError);
  const rows = await weir.sql("select state, message_id from deliveries order by idempotency_key");
  assert.deepEqual(
    rows.map((row) => [row["state"], row["messageId"]]),
    [
      ["sent", "id of kept"],
      ["sent", "id of kept too"],
      ["pending", null],
    ],
  );
});
