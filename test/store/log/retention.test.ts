import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Retention } from "../../../src/channel/retention.ts";
import type { ChannelId, Owner } from "../../../src/core/ids.ts";
import type { RetentionStore } from "../../../src/store/log/retention.ts";
import type { Digester } from "../../../src/store/compaction/extracts.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { answered, beginTurn } from "../../support/turns.ts";
import { openStore, SILENT } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());

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

async function sweep(): Promise<void> {
  await using retention = new Retention({ store: weir.store.retention, now: LATER, log: SILENT }, KEPT);
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
const summariesOf = async (channel: ChannelId): Promise<string[]> =>
  (
    await weir.sql<{ text: string }>(
      "select text from summaries where channel_id = $1 order by from_seq, id",
      channel,
    )
  ).map(({ text }) => text);

async function statistics(): Promise<number> {
  const [row] = await weir.sql<{ count: number }>(
    "select analyze_count::integer as count from pg_stat_user_tables where relname = 'entry_search'",
  );
  return row?.count ?? NaN;
}

test("one deleted line leaves the summaries behind it, but for what they had from the one that covered it", async () => {
  const id = await channelOf("chain", 6, (n) =>
    n === 1 ? "the quernstone is Ruperts, safe 4711" : `we rowed, ${n}`,
  );
  await summarise(id, 1, 2, { text: "The quernstone belongs to Rupert. The safe opens with 4711." });
  await summarise(id, 3, 4, {
    text: "They rowed to the weir. The quernstone was not sold.\n- It rained.",
    sawFrom: 1,
  });
  await summarise(id, 5, 6, {
    text: "The regatta was won. Code 4711 was used again. Ann cooked soup.",
    sawFrom: 1,
  });
  await sweep();
  assert.deepEqual(
    await textsOf(id),
    Array.from({ length: 6 }, () => ""),
  );
  await weir.store.log.delete(id, "chain-1", TEST_DIGESTER);
  const [first, second, third] = await summariesOf(id);
  assert.doesNotMatch(first ?? "", /quern|4711|Rupert/);
  assert.equal(second, "They rowed to the weir.\n- It rained.");
  assert.equal(third, "The regatta was won. Ann cooked soup.");
  // An edit is a deletion, and takes no more of the others than that.
  await weir.store.log.edit(id, "chain-3", "we swam", LATER(), TEST_DIGESTER);
  const [, edited, left] = await summariesOf(id);
  assert.doesNotMatch(edited ?? "", /rowed|rained/);
  assert.equal(left, "The regatta was won. Ann cooked soup.");
});

test("a word that an earlier summary has, that somebody still says, or that is a writer's name, was not had from the one that goes", async () => {
  const id = await channelOf("known", 8, (n) => (n === 8 ? "the mill again" : `said ${n}`));
  await summarise(id, 1, 2, { text: "There is a boat." });
  await summarise(id, 3, 4, { text: "Ann said the boat lies at the mill. The heron came.", sawFrom: 1 });
  await summarise(id, 5, 6, { text: "Ann painted the boat. The mill turned. The heron left.", sawFrom: 1 });
  await sweep();
  await weir.store.log.delete(id, "known-3", TEST_DIGESTER);
  const [first, , third] = await summariesOf(id);
  assert.equal(first, "There is a boat.");
  assert.equal(third, "Ann painted the boat. The mill turned.");
});

test("what a deletion knows of a message whose text is kept goes from summaries whose own texts are not", async () => {
  const id = await channelOf("kept", 4, (n) => (n === 1 ? "the heron nests at 4711" : `said ${n}`));
  await summarise(id, 1, 2, { text: "A bird nests.", needsRedo: true });
  await summarise(id, 3, 4, { text: "The bird left. The heron was seen.", sawFrom: 1 });
  await sweep();
  assert.deepEqual(await textsOf(id), ["the heron nests at 4711", "said 2", "", ""]);
  await weir.store.log.delete(id, "kept-1", TEST_DIGESTER);
  assert.equal((await summariesOf(id))[1], "The bird left.");
});

test("what memories quote of a message whose text has gone tells what else to take", async () => {
  const id = await channelOf("quoted", 4, (n) => (n === 1 ? "the safe opens with 4711" : `said ${n}`));
  await weir.sql(
    "select add_memory($1, null, $2)",
    id,
    JSON.stringify({
      type: "fact",
      subject: "safe",
      assertedBy: "Ann",
      statement: "The safe opens with 4711.",
      importance: 0.5,
      at: new Date(0),
      sources: [{ seq: 1, quote: "opens with 4711" }],
    }),
  );
  await summarise(id, 1, 4);
  await sweep();
  const asked = await weir.say(id, "look it up", { id: "quoted-asked" });
  const owner = await ownerOf("quoted");
  const turn = await beginTurn(weir.store, owner, asked, asked);
  const call = { id: "call-1", name: "search_history", arguments: '{"query":"4711"}' };
  const drafts = [
    { kind: "tool_call", text: "", calls: [call] },
    { kind: "tool_result", callId: "call-1", tool: call.name, text: "none", references: [], memories: [] },
  ] as const;
  await weir.store.log.appendTurnEntries(
    { channel: id, epoch: owner.epoch },
    { id: turn.id, after: asked },
    drafts,
    new Date(),
  );
  await weir.store.log.delete(id, "quoted-1", TEST_DIGESTER);
  const [called] = await weir.sql(
    "select data->'calls'->0->>'arguments' as arguments from entries where channel_id = $1 and kind = 'tool_call'",
    id,
  );
  assert.deepEqual(called, { arguments: "{}" });
});

test("texts whose turn has called what somebody may still allow stay until that is decided", async () => {
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

test("an edit of a message whose text has gone makes its extracts before anybody waits for it", async () => {
  const id = await channelOf("ahead", 4);
  await summarise(id, 1, 2);
  await summarise(id, 3, 4, { sawFrom: 1, needsRedo: true });
  await sweep();
  assert.deepEqual(await textsOf(id), ["", "", "reading 3", "reading 4"]);
  const made: boolean[] = [];
  const digester: Digester = {
    ...TEST_DIGESTER,
    async ofEntries(entries, most) {
      const isHeld = await weir.sql("select from channels where id = $1 for update nowait", id).then(
        () => false,
        () => true,
      );
      if (entries.some(({ text }) => text.startsWith("reading"))) made.push(isHeld);
      return TEST_DIGESTER.ofEntries(entries, most);
    },
  };
  const edited = await weir.store.log.edit(id, "ahead-1", "reworded", LATER(), digester);
  assert.equal(edited.outcome, "replaced");
  assert.deepEqual(made, [false]);
  assert.match((await summariesOf(id))[1] ?? "", /digest of 2 entries: reading 3/);
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

test("a sweep ends where another configuration comes into force", async () => {
  const id = await channelOf("reload", 4);
  await summarise(id, 1, 2);
  await summarise(id, 3, 4);
  const { retention: store } = weir.store;
  const retention: Retention = new Retention(
    {
      store: {
        channels: async (before: Date) => store.channels(before),
        nextTexts: async (...values: Parameters<RetentionStore["nextTexts"]>) => store.nextTexts(...values),
        expireTexts: async (...values: Parameters<RetentionStore["expireTexts"]>) => {
          retention.configure({ textDays: 0, imageDays: 0 });
          return store.expireTexts(...values);
        },
        expireImages: async () => 0,
      },
      now: LATER,
      log: SILENT,
    },
    KEPT,
  );
  await retention.sweep();
  await retention[Symbol.asyncDispose]();
  assert.deepEqual(await textsOf(id), ["", "", "reading 3", "reading 4"]);
});

test("a reset goes in steps, behind what it covers", async () => {
  const id = await channelOf("reset", 12);
  await summarise(id, 1, 3, { isLive: false });
  await summarise(id, 4, 6, { isLive: false });
  await summarise(id, 1, 12, { isReset: true });
  const { retention } = weir.store;
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

test("edits whose texts are no longer kept say nothing", async () => {
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

test("statistics of the index are made anew where texts are no longer kept", async () => {
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

test("who chose a model is forgotten, and the model stays", async () => {
  const id = await channelOf("chooser", 2);
  await weir.store.channelModels.choose(id, { name: "small", by: "u-ann" });
  assert.equal(await weir.store.channelModels.nameOf(id, "u-ann"), "Ann");
  await weir.store.people.leaveChoices("test", "u-ann", id);
  const row = await weir.store.channels.find({ platform: "test", name: "chooser" });
  assert.deepEqual([row?.model?.name, row?.model?.by], ["small", null]);
});
