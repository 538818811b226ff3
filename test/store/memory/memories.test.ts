import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { agentId, type ChannelId, memoryId } from "../../../src/core/ids.ts";
import type { ChannelKind } from "../../../src/core/message.ts";
import type { AskingChannel } from "../../../src/store/memory/memory-scope.ts";
import { openTestStore } from "../open-store.ts";
import { rememberIn } from "../remember.ts";

const open = await openTestStore();
const { store } = open;
let count = 0;

async function place(overrides: Partial<Omit<AskingChannel, "channel">> = {}): Promise<AskingChannel> {
  const asker = { agent: agentId("main"), workspace: "w1", kind: "channel" as ChannelKind, ...overrides };
  const address = { platform: "test", name: `place-${++count}` };
  return { ...asker, channel: await store.channels.open({ address, ...asker }) };
}

async function remember(channel: ChannelId, statement: string, overrides: object = {}): Promise<number> {
  const seq = await open.say(channel, statement, { id: `said-${++count}` });
  return rememberIn(open, channel, { statement, sources: [{ seq, quote: statement }], ...overrides });
}

async function seen(asker: AskingChannel): Promise<string[]> {
  const listed = await store.memories.inScope(asker, 100);
  const query = { words: "'tea'", pieces: [], times: [], limit: 100 };
  const found = await store.memories.search(asker, query);
  // However one asks, the same filter holds.
  const statements = listed.map(({ statement }) => statement).toSorted();
  assert.deepEqual(found.map(({ memory }) => memory.statement).toSorted(), statements);
  await open.sql("insert into memory_vectors select id, '1' from memories on conflict do nothing");
  await open.sql(
    "insert into vector_progress (channel_id, model) select id, 'm' from channels on conflict do nothing",
  );
  const near = await store.vectors.memoriesNear(asker, { model: "m", bits: "1", most: 1, limit: 100 });
  assert.deepEqual(near.map(({ memory }) => memory.statement).toSorted(), statements);
  await open.sql("insert into speakers select id, 'ann', 'u-ann', 1 from channels on conflict do nothing");
  const people = { words: ["ann"], asking: "" };
  const { about } = await store.memories.searchWithPeople(asker, { ...query, people });
  assert.deepEqual(about.memories.map(({ statement }) => statement).toSorted(), statements);
  return statements;
}

async function threadOf(parent: AskingChannel, overrides: object = {}): Promise<AskingChannel> {
  const asker = { ...parent, kind: "thread" as const, ...overrides };
  const [row] = await open.sql<{ name: string }>("select name from channels where id = $1", parent.channel);
  assert.ok(row !== undefined);
  const address = { platform: "test", name: `place-${++count}` };
  const of = { workspace: "", channel: "a thread", parent: { id: row.name, name: "" } };
  return { ...asker, channel: await store.channels.open({ address, ...asker, place: of }) };
}

test("what was said in a channel in its threads, and what was said in a thread in that thread alone", async () => {
  const channel = await place();
  const [thread, another] = [await threadOf(channel), await threadOf(channel)];
  await remember(channel.channel, "tea of the channel");
  await remember(thread.channel, "tea of the thread");
  assert.deepEqual(await seen(thread), ["tea of the channel", "tea of the thread"]);
  assert.deepEqual(await seen(another), ["tea of the channel"]);
  assert.deepEqual(await seen(channel), ["tea of the channel"]);
  assert.deepEqual(await seen(await place()), []);
  const listed = await store.memories.inScope(thread, 10);
  assert.deepEqual(
    new Map(listed.map(({ statement, from }) => [statement, from])),
    new Map([
      ["tea of the channel", "parent"],
      ["tea of the thread", "here"],
    ]),
  );
  const dm = await place({ kind: "dm" });
  await remember(dm.channel, "tea of the dm");
  assert.deepEqual(await seen(await threadOf(dm)), [], "whatever a platform calls the parent");
  assert.deepEqual(await seen(await threadOf(channel, { workspace: "w-other" })), []);
  assert.deepEqual(await seen(await threadOf(channel, { agent: agentId("other") })), []);
  assert.deepEqual(await seen({ ...thread, kind: "dm" }), ["tea of the thread"]);
});

async function sharing(
  overrides: object = {},
  isPrivate: boolean | undefined = false,
): Promise<AskingChannel> {
  const asker = {
    agent: agentId("main"),
    workspace: "w-shared",
    kind: "channel" as ChannelKind,
    ...overrides,
  };
  const address = { platform: "test", name: `place-${++count}` };
  return {
    ...asker,
    channel: await store.channels.open({ address, isPrivate, sharesMemory: true, ...asker }),
  };
}

async function privacy({ channel }: AskingChannel, isPrivate: boolean): Promise<void> {
  const [row] = await open.sql<{ name: string }>("select name from channels where id = $1", channel);
  assert.ok(row !== undefined);
  const address = { platform: "test", name: row.name };
  await store.channels.tellPrivacy("test", [{ channel: address, isPrivate }]);
}

async function scopes({ channel }: AskingChannel): Promise<string[]> {
  const rows = await open.sql<{ scope: string }>(
    "select scope from memories where channel_id = $1 order by id",
    channel,
  );
  return rows.map(({ scope }) => scope);
}

describe("what is remembered is shared", () => {
  test("by no private channel, no thread, no dm, and no channel of which nobody knows", async () => {
    const workspace = "w-private";
    const asker = await place({ workspace });
    const sources = [
      await sharing({ workspace }, true),
      await sharing({ workspace, kind: "dm" }),
      await threadOf(await sharing({ workspace }), { workspace }),
      await place({ workspace }),
    ];
    const address = { platform: "test", name: `place-${++count}` };
    const unknown = { agent: agentId("main"), workspace, kind: "channel" as const };
    const channel = await store.channels.open({ address, sharesMemory: true, ...unknown });
    for (const source of [...sources, { ...unknown, channel }]) {
      await remember(source.channel, "tea of a few");
      assert.deepEqual(await seen(source), ["tea of a few"]);
      assert.deepEqual(await seen(asker), []);
      assert.ok(!(await scopes(source)).includes("workspace"));
    }
  });

  test("no more from the moment on at which the channel is private", async () => {
    const [source, asker] = [await sharing({ workspace: "w-turns" }), await place({ workspace: "w-turns" })];
    const id = await remember(source.channel, "tea of the workspace");
    const shown = [memoryId(id)];
    assert.deepEqual(await seen(asker), ["tea of the workspace"]);
    assert.equal((await store.past.statements(asker.channel, shown)).size, 1);
    await privacy(source, true);
    assert.deepEqual(await seen(asker), []);
    assert.equal((await store.past.statements(asker.channel, shown)).size, 0);
    assert.deepEqual(await scopes(source), ["channel"]);
    await remember(source.channel, "more tea");
    await privacy(source, false);
    assert.deepEqual(await seen(asker), [], "what was private stays so");
    await remember(source.channel, "public tea");
    assert.deepEqual(await seen(asker), ["public tea"]);
  });

  test("by what its channel is now, whatever the stored scope says", async () => {
    const [source, asker] = [await sharing({ workspace: "w-now" }), await place({ workspace: "w-now" })];
    await remember(source.channel, "tea of the workspace");
    for (const now of ["is_private = null", "shares_memory = false", "gone_at = now()", "kind = 'thread'"]) {
      await open.sql(
        `update channels set is_private = false, shares_memory = true, gone_at = null, kind = 'channel' where id = $1`,
        source.channel,
      );
      assert.deepEqual(await seen(asker), ["tea of the workspace"]);
      await open.sql(`update channels set ${now} where id = $1`, source.channel);
      assert.deepEqual(await seen(asker), [], now);
    }
  });
});

test("a message that was read before the channel became private does not make it public", async () => {
  const address = { platform: "test", name: `place-${++count}` };
  const channel = {
    address,
    kind: "channel" as const,
    workspace: "w",
    agent: agentId("main"),
    sharesMemory: true,
  };
  const isPrivate = async (): Promise<boolean | null | undefined> =>
    (await store.channels.find(address))?.isPrivate;
  await store.channels.open(channel);
  assert.equal(await isPrivate(), null);
  await store.channels.open({ ...channel, isPrivate: false });
  await store.channels.open({ ...channel, agent: agentId("other") });
  assert.equal(await isPrivate(), false, "what is not told changes nothing");
  await store.channels.open({ ...channel, isPrivate: true });
  await store.channels.open({ ...channel, isPrivate: false });
  await store.channels.open({ ...channel, isPrivate: false, agent: agentId("other") });
  assert.equal(await isPrivate(), true);
  await store.channels.tellPrivacy("test", [{ channel: address, isPrivate: false }]);
  assert.equal(await isPrivate(), false);
});

describe("a memory shows only where it may", () => {
  test("what was said in a channel in that channel alone, to that agent alone", async () => {
    const [here, there] = [await place(), await place()];
    const dm = await place({ kind: "dm" });
    await remember(here.channel, "tea of the channel");
    assert.deepEqual(await seen(here), ["tea of the channel"]);
    assert.deepEqual(await seen(there), []);
    assert.deepEqual(await seen(dm), []);
    assert.deepEqual(await seen({ ...here, agent: agentId("other") }), []);
  });

  test("what was said in a dm in that dm alone, and never in a channel, whatever it claims to be", async () => {
    const [dm, another] = [await place({ kind: "dm" }), await place({ kind: "dm" })];
    await remember(dm.channel, "tea of the dm");
    assert.deepEqual(await seen(dm), ["tea of the dm"]);
    assert.deepEqual(await seen(another), []);
    assert.deepEqual(await seen(await place()), []);
    assert.deepEqual(await seen({ ...dm, kind: "channel" }), []);
    const [row] = await open.sql<{ scope: string }>(
      "select scope from memories where channel_id = $1",
      dm.channel,
    );
    assert.equal(row?.scope, "dm");
  });

  test("what a public channel shares in all channels of its workspace, in no dm, and nowhere without one", async () => {
    const source = await sharing({ workspace: "w-shared" });
    const nowhere = await sharing({ workspace: "" });
    for (const { channel } of [source, nowhere]) await remember(channel, "tea of the workspace");
    assert.deepEqual(await seen(await place({ workspace: "w-shared" })), ["tea of the workspace"]);
    assert.deepEqual(await seen(await sharing({ workspace: "w-shared" })), ["tea of the workspace"]);
    assert.deepEqual(await seen(await threadOf(await place({ workspace: "w-shared" }))), [
      "tea of the workspace",
    ]);
    assert.deepEqual(await seen(await threadOf(source)), ["tea of the workspace"]);
    assert.deepEqual(await seen(await place({ workspace: "w-shared", kind: "dm" })), []);
    assert.deepEqual(await seen(await place({ workspace: "w-other" })), []);
    assert.deepEqual(await seen(await place({ workspace: "" })), []);
    assert.deepEqual(await seen(nowhere), ["tea of the workspace"]);
    assert.deepEqual(await seen(await place({ workspace: "w-shared", agent: agentId("other") })), []);
  });

  test("and no longer once it is superseded, or its last source is deleted", async () => {
    const asker = await place();
    const [old, now] = [
      await remember(asker.channel, "green tea"),
      await remember(asker.channel, "black tea"),
    ];
    await open.sql("update memories set valid_to = now(), superseded_by = $2 where id = $1", old, now);
    const tea = { words: "'tea'", pieces: [], times: [], limit: 100 };
    const recalled = async (): Promise<string[]> =>
      (await store.memories.search(asker, tea)).map(({ memory }) => memory.statement);
    assert.deepEqual(await recalled(), ["black tea"]);
    const [row] = await open.sql<{ id: string }>(
      "select message_id as id from entries where channel_id = $1 and text = 'black tea'",
      asker.channel,
    );
    await open.sql("select delete_message($1, $2)", asker.channel, row?.id);
    assert.deepEqual(await recalled(), ["green tea"], "what it had ended holds again");
    assert.deepEqual(await open.sql("select id from memories where statement = 'black tea'"), []);
  });
});

describe("a memory that is found", () => {
  test("tells how often it was said, and when first", async () => {
    const { channel, ...asker } = await place();
    const at = new Date("2026-11-20T10:00:00Z");
    await remember(channel, "Ann drinks tea.", { at, type: "preference", importance: 0.75 });
    const id = await remember(channel, "ann drinks TEA", {
      at: new Date("2026-11-21T10:00:00Z"),
      type: "preference",
    });
    const [hit] = await store.memories.search(
      { ...asker, channel },
      { words: "'drink'", pieces: [], times: [], limit: 5 },
    );
    assert.ok(hit !== undefined && hit.words > 0 && hit.words <= 1);
    assert.equal(hit.pieces, 0);
    assert.deepEqual(hit.memory, {
      id,
      type: "preference",
      scope: "channel",
      subject: "Ann",
      assertedBy: "Ann",
      statement: "Ann drinks tea.",
      importance: 0.75,
      at,
      proofs: 2,
    });
  });

  test("has a piece of the query where a script has no spaces", async () => {
    const asker = await place();
    await remember(asker.channel, "千早さんの会議は水曜日です");
    await remember(asker.channel, "猫が好きです");
    const query = { words: "", pieces: ["水曜", "会議", "猫舌"], times: [], limit: 5 };
    const hits = await store.memories.search(asker, query);
    assert.deepEqual(
      hits.map(({ memory, pieces }) => [memory.statement, Math.round(pieces * 100)]),
      [["千早さんの会議は水曜日です", 67]],
    );
  });

  test("is among the best where there are many", async () => {
    const asker = await place();
    for (let index = 0; index < 4; index++) await remember(asker.channel, `cake number ${index}`);
    await remember(asker.channel, "cake with cherries");
    const query = { words: "'cake' | 'cherri'", pieces: [], times: [], limit: 1 };
    const [hit, ...rest] = await store.memories.search(asker, query);
    assert.equal(hit?.memory.statement, "cake with cherries");
    assert.deepEqual(rest, []);
  });
});

test("the list for the operator has every source, with its words, its author and its time", async () => {
  const asker = await place();
  const at = new Date("2026-11-21T09:00:00Z");
  const first = await open.say(asker.channel, "I drink tea", { id: "list-1", at });
  const second = await open.say(asker.channel, "tea for me", {
    id: "list-2",
    at,
    author: { id: "u-ben", name: "Ben", isBot: false },
  });
  const sources = [
    { seq: first, quote: "I drink tea" },
    { seq: second, quote: "tea for me" },
  ];
  await rememberIn(open, asker.channel, { statement: "They drink tea.", sources });
  await remember((await place()).channel, "elsewhere");
  const [memory, ...rest] = await store.memories.list({ channel: asker.channel }, 10);
  assert.deepEqual(rest, []);
  assert.equal(memory?.statement, "They drink tea.");
  assert.equal(memory.agent, "main");
  assert.deepEqual(memory.channel, { platform: "test", name: `place-${count - 2}` });
  assert.deepEqual(memory.sources, [
    { seq: first, quote: "I drink tea", author: "Ann", at },
    { seq: second, quote: "tea for me", author: "Ben", at },
  ]);
  assert.ok((await store.memories.list({}, 1000)).length > 5);
  assert.equal((await store.memories.list({}, 2)).length, 2);
});
