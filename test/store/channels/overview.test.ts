import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

test("the channels that wait for an answer are counted by platform, with the age of the oldest question", async () => {
  const { overview } = weir.store;
  assert.deepEqual(await overview.due(), []);
  const [asked, listening, answered] = await Promise.all(
    ["asked", "listening", "answered"].map(async (name) => weir.channel(name)),
  );
  assert.ok(asked !== undefined && listening !== undefined && answered !== undefined);
  await weir.say(listening.id, "nobody is asked", { addressed: false });
  await weir.say(asked.id, "first?");
  // The second one is younger by what no slow machine adds between two of the statements below.
  await weir.sql("select pg_sleep(0.5)");
  await weir.say(asked.id, "second?");
  const last = await weir.say(answered.id, "answered?");
  await weir.sql("update channels set settled_to = $2 where id = $1", answered.id, last);
  const age = async (): Promise<number> => {
    const text = `select (extract(epoch from clock_timestamp() - appended_at) * 1000)::float8 as ms
                    from entries where channel_id = $1 and seq = 1`;
    const [row] = await weir.sql<{ ms: number }>(text, asked.id);
    return row?.ms ?? 0;
  };
  const before = await age();
  const [waiting, ...others] = await overview.due();
  const behind = await age();
  assert.deepEqual(others, []);
  assert.deepEqual([waiting?.platform, waiting?.channels], ["test", 1]);
  assert.ok(waiting !== undefined && before <= waiting.longestMs && waiting.longestMs <= behind);
});

test("channels are listed by pages, the one that was made last first, with what is due in each", async () => {
  const { overview } = weir.store;
  const all = await overview.channels();
  const names = all.map(({ channel }) => channel.id);
  assert.ok(names.length > 2);
  assert.deepEqual(
    names,
    names.toSorted((a, b) => b - a),
  );
  const first = await overview.channels({ limit: 2 });
  const rest = await overview.channels({ limit: 100, before: first[1]?.channel.id });
  assert.deepEqual([first.length, [...first, ...rest]], [2, all]);
  const due = Object.fromEntries(all.map((one) => [one.channel.address.name, one.due]));
  assert.deepEqual(due, { asked: 2, listening: 0, answered: 0 });
});

test("the parts of finished answers that a platform lacks are counted, and a draft of a turn under way is none", async () => {
  const { overview } = weir.store;
  assert.deepEqual(await overview.undelivered(), []);
  const channel = await weir.channel("undelivered");
  const question = await weir.say(channel.id, "three parts?");
  const [turn] = await weir.sql<{ id: number }>(
    `insert into turns (channel_id, epoch, from_seq, to_seq, state) values ($1, $2, $3, $3, 'running') returning id`,
    channel.id,
    channel.epoch,
    question,
  );
  const part = `insert into deliveries (channel_id, turn_id, part, epoch, entry_seq, idempotency_key, state, message_id, ended_at)
                values ($1, $2, $3::int, $4, $5, 'part-' || $3::text, $6::text, $7, case when $6::text = 'pending' then null else now() end)`;
  const rows = [
    [0, question, "sent", "1"],
    [1, question, "pending", null],
    [2, question, "pending", null],
    [3, null, "pending", null],
  ] as const;
  for (const [number, seq, state, id] of rows)
    await weir.sql(part, channel.id, turn?.id, number, channel.epoch, seq, state, id);
  const [found, ...others] = await overview.undelivered();
  assert.deepEqual(others, []);
  assert.deepEqual([found?.platform, found?.parts], ["test", 2]);
  assert.ok(found !== undefined && found.longestMs > 0);
});
