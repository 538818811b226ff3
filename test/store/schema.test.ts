import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { openStore } from "./open-store.ts";
import { beginTurn } from "../support/turns.ts";
import { TEST_DIGESTER } from "../support/digester.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

/** SQLSTATEs: ours, then Postgres' own. */
const BROKEN = "WE001";
const CHECK = "23514";
const UNIQUE = "23505";
const EXCLUSION = "23P01";

const summary = (channel: number, from: number, to: number, text = "They agreed."): string =>
  `insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens)
   values (${channel}, ${from}, ${to}, 'model', '${text}', 1);`;
const cover = (channel: number, to: number): string =>
  `update channels set covered_to = ${to} where id = ${channel};`;

async function spokenIn(name: string, messages: number): ReturnType<typeof weir.channel> {
  const { id, epoch } = await weir.channel(name);
  for (let index = 1; index <= messages; index++) await weir.say(id, `message ${index}`);
  return { id, epoch };
}

test("two live summaries of a channel never overlap; one that is no longer live may", async () => {
  const { id } = await spokenIn("overlap", 6);
  await weir.db.script(summary(id, 1, 4) + cover(id, 4));
  await weir.refuses(EXCLUSION, summary(id, 4, 6) + cover(id, 6));
  await weir.refuses(EXCLUSION, summary(id, 2, 3));
  await weir.db.script(
    `update summaries set live = false where channel_id = ${id};${summary(id, 1, 6)}${cover(id, 6)}`,
  );
});

test("an empty summary is refused, and so is a reset with a text", async () => {
  const { id } = await spokenIn("empty", 2);
  await weir.refuses(CHECK, summary(id, 1, 2, "") + cover(id, 2));
  await weir.refuses(CHECK, summary(id, 1, 2, "  ") + cover(id, 2));
  await weir.refuses(CHECK, summary(id, 1, 2, "\n\t ") + cover(id, 2));
  await weir.refuses(CHECK, summary(id, 1, 2).replace("'model'", "'reset'") + cover(id, 2));
});

test("the watermark moves only with a summary, and a summary only with the watermark", async () => {
  const { id } = await spokenIn("watermark", 4);
  await weir.refuses(BROKEN, cover(id, 2));
  await weir.refuses(BROKEN, summary(id, 1, 2));
  await weir.refuses(BROKEN, summary(id, 2, 3) + cover(id, 3));
  await weir.refuses(BROKEN, summary(id, 1, 2) + cover(id, 3));
  await weir.db.script(cover(id, 2) + summary(id, 1, 2));
  await weir.refuses(BROKEN, summary(id, 4, 4) + cover(id, 4));
  await weir.refuses(BROKEN, `update summaries set live = false where channel_id = ${id}`);
  await weir.refuses(BROKEN, `delete from summaries where channel_id = ${id}`);
});

test("no watermark falls, none passes the log's end", async () => {
  const { id } = await spokenIn("falling", 3);
  await weir.db.script(`update channels set settled_to = 2, omitted_to = 2 where id = ${id}`);
  for (const column of ["last_seq", "settled_to", "omitted_to", "epoch"]) {
    await weir.refuses(BROKEN, `update channels set ${column} = ${column} - 1 where id = ${id}`);
  }
  await weir.db.script(summary(id, 1, 3) + cover(id, 3));
  await weir.refuses(BROKEN, `delete from summaries where channel_id = ${id};${cover(id, 0)}`);
  for (const column of ["settled_to", "covered_to", "omitted_to"]) {
    await weir.refuses(CHECK, `update channels set ${column} = 4 where id = ${id}`);
  }
});

test("a channel has one live job, and one running turn", async () => {
  const { id, epoch } = await spokenIn("alone", 3);
  const job = `insert into jobs (channel_id, kind, tier, from_seq, to_seq)
               values (${id}, 'leaf', 'background', 1, 2)`;
  await weir.db.script(job);
  await weir.refuses(UNIQUE, job);
  await weir.db.script(`update jobs set state = 'staged', result = '{}' where channel_id = ${id}`);
  await weir.refuses(UNIQUE, job);
  await weir.db.script(`update jobs set state = 'void', ended_at = now() where channel_id = ${id};${job}`);
  await weir.refuses(
    CHECK,
    `update jobs set state = 'staged' where channel_id = ${id} and state = 'running'`,
  );

  const turn = await beginTurn(weir.store, { channel: id, epoch }, 1, 2);
  const again = `insert into turns (channel_id, epoch, from_seq, to_seq) values (${id}, ${epoch}, 3, 3)`;
  await weir.refuses(UNIQUE, again);
  const settlement = { state: "skipped", reason: "x", modelMs: 1, entry: null, idempotencyKeys: [] } as const;
  await weir.store.turns.settle({ channel: id, epoch }, turn, settlement, new Date());
  await weir.db.script(again);
});

test("no column is left that nothing reads", async () => {
  const columns = await weir.sql<{ name: string }>(
    "select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'public'",
  );
  const names = new Set(columns.map(({ name }) => name));
  assert.ok(names.has("reminders.cron"));
  for (const name of ["jobs.leased_until", "members.looks_for_prints", "reminders.kind", "requests.taken_as"])
    assert.ok(!names.has(name), name);
});

test("an entry takes its channel's next seq, or none", async () => {
  const { id } = await spokenIn("dense", 2);
  const entry = (seq: number): string =>
    `insert into entries (channel_id, seq, kind, at, text, tokens) values (${id}, ${seq}, 'notice', now(), 'x', 1)`;
  for (const seq of [4, 5]) await weir.refuses(BROKEN, entry(seq));
  // Nor where the channel's row was moved before: only to the entry, and by the owner.
  const moved = (to: number): string => `update channels set last_seq = ${to} where id = ${id};`;
  await weir.refuses(BROKEN, moved(4) + entry(4));
  await weir.refuses(BROKEN, moved(5) + entry(4));
  for (const seq of [1, 2]) await weir.refuses(UNIQUE, entry(seq));
  for (const seq of [0, -1]) await weir.refuses(CHECK, entry(seq));
  const both = (first: number, second: number): string =>
    `${entry(first)}, (${id}, ${second}, 'notice', now(), 'x', 1)`;
  await weir.refuses(BROKEN, both(3, 5));
  await weir.refuses(BROKEN, both(4, 5));
  await weir.db.script(entry(3));
  const [row] = await weir.sql<{ lastSeq: number }>("select last_seq from channels where id = $1", id);
  assert.equal(row?.lastSeq, 3);
});

test("no row is of a channel that there is not", async () => {
  await weir.refuses(
    BROKEN,
    "insert into entries (channel_id, seq, kind, at, text, tokens) values (999999, 1, 'notice', now(), 'x', 1)",
  );
  const turn = "insert into turns (channel_id, epoch, from_seq, to_seq) values (999999, 1, 1, 1)";
  await weir.refuses("stale", turn);
});

test("a row of the log neither changes nor goes; only its text may", async () => {
  const { id } = await spokenIn("append-only", 2);
  await weir.store.log.edit(id, await messageId(id, 2), "edited", new Date(), TEST_DIGESTER);
  const where = `where channel_id = ${id}`;
  await weir.refuses(BROKEN, `delete from entries ${where}`);
  await weir.refuses(BROKEN, `update entries set text = 'other' ${where}`);
  await weir.refuses(BROKEN, `update entries set text = '' ${where}`);
  for (const change of [
    "seq = seq + 10",
    "at = at - interval '1 day'",
    "kind = 'notice', author_id = null, author_name = null, message_id = null",
    "message_id = message_id || 'x'",
    "author_id = 'u-mallory'",
    "addressed = false",
  ]) {
    await weir.refuses(BROKEN, `update entries set text = '', deleted_at = now(), ${change} ${where}`);
  }
  await weir.refuses(BROKEN, `delete from revisions ${where}`);
  await weir.refuses(BROKEN, `update revisions set text = 'other' ${where}`);
  await weir.refuses(BROKEN, `update revisions set text = '', at = at - interval '1 day' ${where}`);
  await weir.db.script(`update entries set text = '', deleted_at = now() ${where};
                        update revisions set text = '' ${where}`);
  await weir.refuses(
    CHECK,
    `insert into entries (channel_id, seq, kind, at, text, tokens, deleted_at)
                             values (${id}, 3, 'notice', now(), 'text', 1, now())`,
  );
});

test("a memory has a source from the moment it is there", async () => {
  const { id } = await spokenIn("memory", 1);
  const memory = `insert into memories (agent, scope, channel_id, type, subject, asserted_by, statement)
                  values ('main', 'channel', ${id}, 'fact', 'Ann', 'Ann', 'Ann has a parrot') returning id`;
  await weir.refuses(BROKEN, memory);
  await weir.db.script(`with one as (${memory})
    insert into memory_sources (memory_id, channel_id, seq, quote) select id, ${id}, 1, 'parrot' from one`);
  await weir.refuses(BROKEN, `delete from memory_sources where channel_id = ${id}`);
  await weir.db.script(`delete from memory_sources where channel_id = ${id};
                        delete from memories where channel_id = ${id}`);
});

async function messageId(channel: number, seq: number): Promise<string> {
  const [row] = await weir.sql<{ messageId: string }>(
    "select message_id from entries where channel_id = $1 and seq = $2",
    channel,
    seq,
  );
  return row?.messageId ?? "";
}

test("one function raises the error of the fence, and one removes memories", async () => {
  const functionsWith = async (words: string): Promise<string[]> => {
    const rows = await weir.sql<{ name: string }>(
      "select proname as name from pg_proc where pronamespace = 'public'::regnamespace and position($1 in prosrc) > 0",
      words,
    );
    return rows.map(({ name }) => name);
  };
  assert.deepEqual(await functionsWith("WE002"), ["assert_epoch"]);
  assert.deepEqual(await functionsWith("delete from memories"), ["drop_unproved"]);
});
