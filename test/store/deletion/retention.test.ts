// proves: src/store/deletion/retention.ts, src/channel/retention.ts
// Which texts go by their age, and which wait.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Logger, pino } from "pino";
import { Retention } from "../../../src/channel/retention.ts";
import type { ChannelId, Owner } from "../../../src/core/ids.ts";
import { Database } from "../../../src/store/database/database.ts";
import { NO_SIGNER } from "../../../src/store/database/signing-key.ts";
import { createStore } from "../../../src/store/store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { answered, beginTurn } from "../../support/turns.ts";
import { toldMember } from "../told-member.ts";
import { openStore, SILENT } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

const derive = async () => Promise.resolve({ keyId: "test", bytes: Buffer.alloc(32) });
const store = createStore(weir.db, { signer: { ...NO_SIGNER, derive } });

const LATER = (): Date => new Date(Date.now() + 31 * 24 * 60 * 60 * 1000);
const KEPT = { textDays: 30, imageDays: 0 };

interface Summary {
  readonly text?: string;
  readonly sawFrom?: number;
  readonly isReset?: boolean;
  readonly isLive?: boolean;
  readonly needsRedo?: boolean;
  readonly level?: number;
}

/** Says so many messages that nobody has to answer. */
async function channelOf(
  name: string,
  count: number,
  textOf = (n: number) => `reading ${n}`,
): Promise<ChannelId> {
  const { id } = await weir.channel(name);
  for (let n = 1; n <= count; n++) await weir.say(id, textOf(n), { id: `${name}-${n}`, addressed: false });
  return id;
}

async function summarise(channel: ChannelId, from: number, to: number, options: Summary = {}): Promise<void> {
  const {
    text = `summary of ${from}`,
    sawFrom = null,
    isReset = false,
    isLive = true,
    needsRedo = false,
    level = 1,
  } = options;
  // In one transaction: live summaries tile what is covered.
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live, saw_from, needs_redo)
       values ($1, $2, $3, $4, $5, $6, 60, $7, $8, $9))
     update channels set covered_to = greatest(covered_to, $3) where id = $1 and $7`,
    channel,
    from,
    to,
    level,
    isReset ? "reset" : "model",
    isReset ? "" : text,
    isLive,
    sawFrom,
    needsRedo,
  );
}

async function sweep(log: Logger = SILENT): Promise<void> {
  await using retention = new Retention({ store: store.retention, now: LATER, log }, KEPT);
  await retention.sweep();
}

async function ownerOf(name: string): Promise<Owner> {
  const row = await weir.store.channels.find({ platform: "test", name });
  assert.ok(row !== undefined);
  return { channel: row.id, epoch: row.epoch };
}

const textsOf = async (channel: ChannelId): Promise<string[]> =>
  (
    await weir.sql<{ text: string }>("select text from entries where channel_id = $1 order by seq", channel)
  ).map(({ text }) => text);
async function statistics(): Promise<number> {
  const [row] = await weir.sql<{ count: number }>(
    "select analyze_count::integer as count from pg_stat_user_tables where relname = 'entry_search'",
  );
  return row?.count ?? NaN;
}

test("texts whose turn has a call that waits for an approval stay until it is decided", async () => {
  const { id } = await weir.channel("allowed");
  const asked = await weir.say(id, "open the sluice", { id: "allowed-1" });
  const owner = await ownerOf("allowed");
  const turn = await beginTurn(weir.store, owner, asked, asked);
  await weir.store.turns.settle(owner, turn, answered("allowed"), new Date());
  await weir.sql(
    `insert into approvals (channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, expires_at)
     values ($1, $2, 'call-1', 'main', 'note', '{"text":"the sluice"}', 'f', now() + interval '1 day')`,
    id,
    turn.id,
  );
  await summarise(id, 1, 2);
  await sweep();
  assert.deepEqual(await textsOf(id), ["open the sluice", "hello"]);
  await weir.sql("update approvals set state = 'expired', decided_at = now() where channel_id = $1", id);
  await sweep();
  assert.deepEqual(await textsOf(id), ["", ""]);
  assert.deepEqual(await weir.sql("select arguments from approvals where channel_id = $1", id), [
    { arguments: "" },
  ]);
});

test("texts under a live summary that waits to be written again stay, whichever summary is looked at", async () => {
  const id = await channelOf("redo", 4);
  await summarise(id, 1, 2, { isLive: false });
  await summarise(id, 3, 4, { isLive: false });
  await summarise(id, 1, 4, { level: 2, needsRedo: true });
  await sweep();
  assert.deepEqual(
    await textsOf(id),
    [1, 2, 3, 4].map((n) => `reading ${n}`),
  );
  await weir.sql("update summaries set needs_redo = false where channel_id = $1", id);
  await sweep();
  assert.deepEqual(await textsOf(id), ["", "", "", ""]);
});

test("a reset expires in steps, after what it covers", async () => {
  const id = await channelOf("reset", 12);
  await summarise(id, 1, 3, { isLive: false });
  await summarise(id, 4, 6, { isLive: false });
  await summarise(id, 1, 12, { isReset: true });
  const { retention } = store;
  const steps: (readonly [boolean, number, number, number | null])[] = [];
  for (const isReset of [true, false, true]) {
    for (;;) {
      const found = await retention.nextTexts(id, LATER(), 5, { isReset, from: 0, summary: 0 });
      if (found === undefined) break;
      steps.push([isReset, found.first, found.last, await retention.expireTexts(id, found)]);
    }
  }
  assert.deepEqual(steps, [
    [false, 1, 3, 3],
    [false, 4, 6, 3],
    [true, 1, 5, 0],
    [true, 6, 10, 4],
    [true, 11, 12, 2],
  ]);
});

test("one channel that fails holds up no other", async () => {
  const failing = await channelOf("failing", 2);
  const next = await channelOf("next", 2);
  for (const id of [failing, next]) await summarise(id, 1, 2);
  await weir.db.script(`
    create function retention_fails() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger retention_fails before update of texts_gone_to on summaries for each row when (new.channel_id = ${failing})
      execute function retention_fails()`);
  await sweep();
  await weir.db.script("drop function retention_fails() cascade");
  assert.deepEqual(await textsOf(failing), ["reading 1", "reading 2"]);
  assert.deepEqual(await textsOf(next), ["", ""]);
});

test("no text expires while a daemon runs that has another key or none", async () => {
  const id = await channelOf("members", 2);
  await summarise(id, 1, 2);
  const member = toldMember("other", { host: "h" });
  const { members } = weir.store;
  const told: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void told.push(line) });
  for (const keyId of ["another", null]) {
    await members.tell({ ...member, keyId });
    await sweep(log);
    assert.deepEqual(await textsOf(id), ["reading 1", "reading 2"]);
  }
  assert.equal(told.length, 2);
  assert.ok(told.every((line) => line.includes("other (on h)")));
  await weir.sql("update members set seen_at = seen_at - interval '1 minute'");
  await sweep(log);
  assert.deepEqual(await textsOf(id), ["", ""]);
  await members.remove(member.id);
});

test("a channel that has fingerprints of another key keeps its texts", async () => {
  const id = await channelOf("two-keys", 4);
  await summarise(id, 1, 2);
  await sweep();
  await weir.sql("update entry_prints set key_id = 'another' where channel_id = $1 and seq = 2", id);
  await summarise(id, 3, 4);
  await sweep();
  assert.deepEqual(await textsOf(id), ["", "", "reading 3", "reading 4"]);
  await weir.sql("update entry_prints set key_id = 'test' where channel_id = $1", id);
  await sweep();
  assert.deepEqual(await textsOf(id), ["", "", "", ""]);
});

test("expired edits say nothing", async () => {
  const id = await channelOf("edits", 4);
  await summarise(id, 1, 2);
  for (const n of [3, 1])
    await weir.store.log.edit(id, `edits-${n}`, `reworded ${n}`, new Date(), TEST_DIGESTER);
  // As if it had been written again.
  await weir.sql("update summaries set needs_redo = false where channel_id = $1", id);
  await sweep();
  assert.deepEqual(await textsOf(id), ["", "", "reworded 3", "reading 4"]);
  const edits = await weir.store.log.newestEdits(id, 1, 4, 1);
  assert.deepEqual(
    edits.map(({ text }) => text),
    ["reworded 3"],
  );
});

test("statistics of the index are computed again where texts have expired", async () => {
  const id = await channelOf("statistics", 4);
  const { search } = weir.store;
  await search.indexAll([id], 100);
  await weir.db.script("analyze entry_search");
  // As if that were long since, for what was said no more before this test.
  await weir.sql("update search_progress set erased_at = null, expired_at = null");
  assert.equal(await search.forgetErased(), null);
  const before = await statistics();
  await summarise(id, 1, 4);
  await sweep();
  const [row] = await weir.sql(
    "select expired_at is not null as expired, erased_at is null as kept from search_progress where channel_id = $1",
    id,
  );
  assert.deepEqual(row, { expired: true, kept: true });
  assert.equal(await search.forgetErased(), null);
  assert.ok((await statistics()) > before);
});

test("the next texts are searched summary by summary: no plan reads all entries for each of them", async () => {
  const id = await channelOf("planned", 2);
  await using one = new Database(database.connection, SILENT, { maxConnections: 1 });
  const { retention } = createStore(one, { signer: { ...NO_SIGNER, derive } });
  await retention.nextTexts(id, LATER(), 500, { isReset: false, from: 0, summary: 0 });
  const plan = await one.query<{ "QUERY PLAN": string }>(
    "",
    `explain execute retention_next(${id}, '${LATER().toISOString()}', 500, false, 0, 0)`,
  );
  const lines = plan.map((row) => row["QUERY PLAN"]);
  assert.ok(
    lines.some((line) => line.includes("on summaries")),
    lines.join("\n"),
  );
  // A join may be made in either order, and without statistics each seems as good as the other.
  assert.doesNotMatch(lines.join("\n"), /Nested Loop|Join/);
});
