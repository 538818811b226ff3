import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Outbox } from "../../../src/channel/delivery/outbox.ts";
import { Events } from "../../../src/telemetry/events.ts";
import { openStore, SILENT } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { until } from "../../support/patience.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { beginTurn } from "../../support/turns.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const open = openStore(database.connection);
after(async () => open[Symbol.asyncDispose]());
const { store } = open;

/** After so long the log is asked whether the channel is still this daemon's, ms. */
const STALE_MS = 1000;

test("an answer of the log's that comes once the channel was released sends no part: its next home does", async () => {
  const { id: channel, epoch } = await open.channel("room");
  const owner = { channel, epoch };
  for (const text of ["one", "two"]) {
    const seq = await open.say(channel, `say ${text}`);
    const turn = await beginTurn(store, owner, seq, seq);
    const entry = { kind: "assistant", text, stopped: false } as const;
    const end = { state: "answered", reason: null, modelMs: 1, entry, idempotencyKeys: [text] } as const;
    await store.turns.settle(owner, turn, end, new Date());
  }
  const platform = new TestPlatform();
  const goOn = Promise.withResolvers<void>();
  const sent: string[] = [];
  platform.send = async ({ text }) => {
    sent.push(text);
    await goOn.promise;
    return text;
  };
  const outbox = new Outbox({
    owner,
    address: { platform: "test", name: "room" },
    platform,
    streams: false,
    deliveries: store.deliveries,
    events: new Events(SILENT),
    nameOf: String,
    filesOf: async () => [],
    onLost: () => undefined,
  });
  const { answers } = await store.deliveries.undelivered(channel);
  for (const answer of answers) outbox.deliver({ ...answer, mayBeSent: false });
  await until("the first answer", () => sent.length === 1);
  await delay(STALE_MS);
  await open.db.transaction(async (client) => {
    await client.query("", "lock table channels in access exclusive mode");
    goOn.resolve();
    await until("the question", async () => {
      const waiting = await open.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '% and epoch = $2'",
      );
      return waiting.length > 0;
    });
    outbox.close();
  });
  await outbox.idle();
  await delay(200);
  assert.deepEqual(sent, ["one"]);
});
