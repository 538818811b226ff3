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
