import assert from "node:assert/strict";
import { after, test } from "node:test";
import { pino } from "pino";
import { Retention } from "../../../src/channel/retention.ts";
import type { ChannelId } from "../../../src/core/ids.ts";
import { BEFORE_ALL_IMAGES, type RetentionStore } from "../../../src/store/deletion/retention.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { openStore, SILENT } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

const DAY_MS = 24 * 60 * 60 * 1000;
const LATER = (): Date => new Date(Date.now() + 31 * DAY_MS);
const KEPT = { textDays: 0, imageDays: 30 };

/** Says so many messages that nobody has to answer. */
async function channelOf(name: string, count: number): Promise<ChannelId> {
  const { id } = await weir.channel(name);
  for (let n = 1; n <= count; n++)
    await weir.say(id, `reading ${n}`, { id: `${name}-${n}`, addressed: false });
  return id;
}

async function summarise(channel: ChannelId, from: number, to: number): Promise<void> {
  // In one transaction: live summaries tile what is covered.
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live)
       values ($1, $2, $3, 1, 'model', 'a summary', 60, true))
     update channels set covered_to = $3 where id = $1`,
    channel,
    from,
    to,
  );
}

async function picture(...messages: readonly string[]): Promise<void> {
  for (const message of messages)
    await weir.store.attached.keep("test", message, [
      { name: "a.png", type: "image/png", bytes: Buffer.from("picture") },
    ]);
}

async function sweep(now: () => Date, store: RetentionStore): Promise<void> {
  await using retention = new Retention({ store, now, log: SILENT }, KEPT);
  await retention.sweep();
}

/** Of a store whose texts are not asked for. */
const NO_TEXTS = {
  channels: async () => Promise.reject(new Error("not asked")),
  assertAllCompare: async () => Promise.reject(new Error("not asked")),
  assertOneKey: async () => Promise.reject(new Error("not asked")),
  nextTexts: async () => Promise.reject(new Error("not asked")),
  expireTexts: async () => Promise.reject(new Error("not asked")),
};

async function pictured(like: string): Promise<string[]> {
  const rows = await weir.sql<{ messageId: string }>(
    "select message_id from images where message_id like $1 order by message_id",
    like,
  );
  return rows.map((row) => row.messageId);
}

test("pictures expire that are old, covered and answered; the others stay, and every text", async () => {
  const id = await channelOf("seen", 4);
  await weir.say(id, "what is it?", { id: "seen-5" });
  await weir.say(id, "and this?", { id: "seen-6", addressed: false });
  await picture("seen-1", "seen-2", "seen-5", "seen-6");
  await summarise(id, 1, 1);
  await sweep(() => new Date(), weir.store.retention);
  assert.deepEqual(await pictured("seen-%"), ["seen-1", "seen-2", "seen-5", "seen-6"], "none is old");
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(await pictured("seen-%"), ["seen-2", "seen-5", "seen-6"]);
  await summarise(id, 2, 6);
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(
    await pictured("seen-%"),
    ["seen-5", "seen-6"],
    "somebody waits for an answer to the fifth",
  );
  await weir.sql("update channels set settled_to = 6 where id = $1", id);
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(await pictured("seen-%"), []);
  const texts = await weir.sql<{ text: string }>(
    "select text from entries where channel_id = $1 order by seq",
    id,
  );
  assert.deepEqual(
    texts.map(({ text }) => text),
    ["reading 1", "reading 2", "reading 3", "reading 4", "what is it?", "and this?"],
  );
});

test("a picture that comes again is as new: its message may be appended just now", async () => {
  await picture("again-1");
  await weir.sql("update images set kept_at = now() - interval '90 days' where message_id = 'again-1'");
  await picture("again-1");
  await sweep(() => new Date(), weir.store.retention);
  assert.deepEqual(await pictured("again-%"), ["again-1"]);
});

test("a picture that stands in a thread, too, waits for the summary there; one whose message was never appended waits for nothing", async () => {
  const root = await channelOf("root", 1);
  const { id: thread } = await weir.channel("thread");
  await weir.say(thread, "reading 1", { id: "root-1", addressed: false });
  await picture("root-1", "root-lost");
  await summarise(root, 1, 1);
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(await pictured("root-%"), ["root-1"]);
  await summarise(thread, 1, 1);
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(await pictured("root-%"), []);
});

test("a picture that was kept again is as old as its last keeping", async () => {
  const id = await channelOf("anew", 1);
  await summarise(id, 1, 1);
  await picture("anew-1");
  await weir.sql("update images set kept_at = now() + interval '5 days' where message_id = 'anew-1'");
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(await pictured("anew-%"), ["anew-1"]);
});

test("each step looks at a fixed number of pictures, and the steps together at all", async () => {
  const id = await channelOf("steps", 7);
  await summarise(id, 1, 5);
  await weir.sql("delete from images");
  await picture(...[1, 2, 3, 4, 5, 6, 7].map((n) => `steps-${n}`));
  // What a running turn's tools have brought.
  await weir.sql("insert into images values ('weir', '1', 0, '1', 'image/png', 'x', now())");
  const steps: (number | undefined)[] = [];
  let behind = BEFORE_ALL_IMAGES;
  for (;;) {
    const looked = await weir.store.retention.expireImages(LATER(), 3, behind);
    steps.push(looked?.expired);
    if (looked === undefined) break;
    behind = looked.last;
  }
  assert.deepEqual(steps, [3, 2, 0, undefined]);
  assert.deepEqual(await pictured("steps-%"), ["steps-6", "steps-7"]);
  assert.deepEqual(await pictured("1"), ["1"]);
});

test("a deletion finds a message by its text when its picture has expired", async () => {
  const id = await channelOf("deleted", 2);
  await picture("deleted-1");
  await summarise(id, 1, 2);
  await sweep(LATER, weir.store.retention);
  assert.deepEqual(await pictured("deleted-%"), []);
  assert.equal(await weir.store.log.delete(id, "deleted-1", TEST_DIGESTER), 1);
  assert.deepEqual(await weir.sql("select text from entries where channel_id = $1 and seq = 1", id), [
    { text: "" },
  ]);
});

test("a sweep ends when the configuration changes, and begins when it lets pictures expire", async () => {
  const asked: number[] = [];
  const days: Date[] = [];
  const store = {
    ...NO_TEXTS,
    async expireImages(before: Date, limit: number) {
      asked.push(limit);
      days.push(before);
      if (asked.length === 2) retention.configure({ textDays: 0, imageDays: 0 });
      // There is always another one.
      return Promise.resolve(asked.length < 4 ? { last: BEFORE_ALL_IMAGES, expired: 1 } : undefined);
    },
  };
  const now = new Date("2026-03-31T12:00:00Z");
  const retention: Retention = new Retention(
    { store, now: () => now, log: SILENT },
    { textDays: 0, imageDays: 0 },
  );
  retention.start();
  await retention.sweep();
  assert.deepEqual(asked, [], "nothing is asked while nothing is to go");
  retention.configure({ textDays: 0, imageDays: 30 });
  await retention.sweep();
  assert.equal(asked.length, 2, "it ended in the middle");
  assert.deepEqual(days[0], new Date("2026-03-01T12:00:00Z"));
  await retention[Symbol.asyncDispose]();
});

test("a database that does not answer ends nothing", async () => {
  const said: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void said.push(line) });
  const store = { ...NO_TEXTS, expireImages: async () => Promise.reject(new Error("away")) };
  await using retention = new Retention({ store, now: LATER, log }, KEPT);
  await retention.sweep();
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /retention_goes_on_later/);
});
