// proves: src/memory/people.ts, src/store/memory/people.ts
import assert from "node:assert/strict";
import { test } from "node:test";

import { agentId, type ChannelId } from "../../src/core/ids.ts";
import type { Memory, MemoryType } from "../../src/core/memory.ts";
import type { ChannelKind } from "../../src/core/message.ts";
import { peopleAsked } from "../../src/memory/people.ts";
import { Recall } from "../../src/memory/recall.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import { openTestStore } from "../store/open-store.ts";
import { rememberIn } from "../store/remember.ts";

const open = await openTestStore();
const { store } = open;
const now = (): Date => new Date("2026-11-21T12:00:00Z");
const memories = new RecallMemories({ memories: store.memories, search: store.search, now });
const recall = new Recall({ search: store.search, now: () => now().getTime() });
let count = 0;

interface Place {
  readonly id: ChannelId;
  readonly kind: ChannelKind;
}

async function place(kind: ChannelKind = "channel"): Promise<Place> {
  const address = { platform: "test", name: `place-${++count}` };
  const id = await store.channels.open({ address, agent: agentId("main"), workspace: "w1", kind });
  return { id, kind };
}

/** Somebody says it there, and it becomes a memory. */
async function said(
  { id }: Place,
  author: string,
  statement: string,
  { subject = author, type = "fact" }: { readonly subject?: string; readonly type?: MemoryType } = {},
): Promise<number> {
  const by = { id: `id-${author}`, name: author, isBot: false };
  await store.speakers.number(id, author.toLowerCase(), by.id);
  const seq = await open.say(id, statement, { id: `said-${++count}`, author: by });
  const sources = [{ seq, quote: statement }];
  return rememberIn(open, id, { statement, sources, assertedBy: author, subject, type });
}

interface Asked {
  readonly limit?: number;
  readonly by?: string;
  readonly entries?: boolean;
}

async function ask(
  { id, kind }: Place,
  text: string,
  { limit = 3, by = "Cleo", entries = true }: Asked = {},
): Promise<Memory[]> {
  const query = {
    agent: agentId("main"),
    channel: id,
    workspace: "w1",
    kind,
    askers: [`id-${by}`],
    names: [by],
    text,
    limit,
  };
  if (!entries) return recall.findMemories(memories, query);
  return (await recall.findWithMemories({ text, to: 100, limit: 3 }, memories, query)).memories;
}

/** The statements on a person's page. */
async function page(where: Place, text: string, asked: Asked = {}): Promise<string[]> {
  return (await ask(where, text, asked)).flatMap(({ page: of, statement }) =>
    of === undefined ? [] : [`${of.name}: ${statement}`],
  );
}

async function family(): Promise<Place> {
  const where = await place();
  for (const child of ["Mia", "Tom", "Lea"]) await said(where, "Ann", `Ann has a child called ${child}.`);
  for (const city of ["Oslo", "Rome", "Lima", "Bern", "Riga"])
    await said(where, "Ann", `Ann was in ${city} on a journey.`, { type: "event" });
  await said(where, "Ben", "Ann paints boats.", { subject: "Ann" });
  await said(where, "Ben", "The release is on Monday.", { subject: "the release" });
  return where;
}

test("a page has all of a person that several answers want, though recall is limited to fewer", async () => {
  const where = await family();
  for (const entries of [true, false]) {
    const children = await page(where, "How many children does Ann have?", { entries });
    for (const child of ["Mia", "Tom", "Lea"])
      assert.ok(children.includes(`Ann: Ann has a child called ${child}.`), child);
    const cities = await page(where, "which cities has ann been to?", { entries });
    for (const city of ["Oslo", "Rome", "Lima", "Bern", "Riga"])
      assert.ok(cities.includes(`Ann: Ann was in ${city} on a journey.`), city);
    assert.ok(cities.includes("Ann: Ann paints boats."), "what others have said about her");
  }
});

test("no memory is there twice, and what stands on a page takes no other's place", async () => {
  const where = await family();
  const found = await ask(where, "Does Ann know when the release is?", { limit: 1 });
  assert.equal(new Set(found.map(({ id }) => id)).size, found.length);
  assert.deepEqual(
    found.filter((one) => one.page === undefined).map(({ statement }) => statement),
    ["The release is on Monday."],
  );
});

test("a question about nobody, and a text that asks nothing, want no page", async () => {
  const where = await family();
  assert.deepEqual(await page(where, "When is the release?"), []);
  assert.deepEqual(await page(where, "Ann paints boats in the harbour, I have seen it."), []);
  assert.deepEqual(peopleAsked("Ann paints boats.", ["Ben"]).words, []);
});

test("who asks has a page of their own, shorter unless they ask about themselves", async () => {
  const where = await family();
  const other = await page(where, "What should be cooked tonight?", { by: "Ann" });
  assert.equal(other.length, 8);
  assert.equal((await page(where, "How many children do I have?", { by: "Ann" })).length, 9);
});

test("of other subjects a page has what its person decides and plans", async () => {
  const where = await place();
  await said(where, "Ann", "Ann decided to use Postgres.", { subject: "the log", type: "decision" });
  await said(where, "Ann", "The harbour is closed.", { subject: "the harbour" });
  await said(where, "Ann", "Ann's boat is red.", { subject: "Ann's boat" });
  assert.deepEqual((await page(where, "What do you know of Ann?")).toSorted(), [
    "Ann: Ann decided to use Postgres.",
    "Ann: Ann's boat is red.",
  ]);
});

test("of two people with one first name the one whose whole name is said", async () => {
  const where = await place();
  await said(where, "Ann Miller", "Ann Miller sails.");
  await said(where, "Ann Smith", "Ann Smith rows.");
  assert.deepEqual(await page(where, "What does Ann Miller do?"), ["Ann Miller: Ann Miller sails."]);
  assert.equal((await page(where, "What does Ann do?")).length, 2);
});

test("a page holds nothing of another place, of a direct message least of all, and nothing that has ended", async () => {
  const [where, direct, elsewhere] = [await family(), await place("dm"), await place()];
  await said(direct, "Ann", "Ann is looking for another post.");
  await said(elsewhere, "Ann", "Ann lives in a tower.");
  const question = "What do you know of Ann?";
  const shown = await page(where, question);
  assert.equal(shown.length, 9);
  assert.ok(!shown.some((line) => /post|tower/.test(line)));
  assert.deepEqual(await page(direct, question), ["Ann: Ann is looking for another post."]);
  const [first] = await ask(elsewhere, question);
  assert.ok(first !== undefined);
  await open.sql("update memories set valid_to = now() where id = $1", first.id);
  assert.deepEqual(await ask(elsewhere, question), []);
});

test("a deleted memory is on no page", async () => {
  const where = await place();
  const id = await said(where, "Ann", "Ann keeps bees.");
  await open.sql("select forget_memory($1, $2)", where.id, id);
  assert.deepEqual(await ask(where, "What does Ann keep?"), []);
});

test("a name is found in a script without spaces", async () => {
  const where = await place();
  await said(where, "千早", "千早さんには子供が三人います。", { subject: "千早" });
  assert.deepEqual(await page(where, "千早さんには子供が何人いますか？"), [
    "千早: 千早さんには子供が三人います。",
  ]);
});

test("a person who has spoken in a thread's channel, or where memories are shared, has a page there as well", async () => {
  const where = { platform: "test", workspace: "w2", agent: agentId("main") } as const;
  const opened = async (name: string, kind: ChannelKind, more: object = {}): Promise<Place> => {
    const address = { platform: where.platform, name };
    const described = { address, agent: where.agent, workspace: where.workspace, kind, ...more };
    return { id: await store.channels.open(described), kind };
  };
  const square = await opened("square", "channel", { isPrivate: false, sharesMemory: true });
  const of = { workspace: "", channel: "a thread", parent: { id: "square", name: "" } };
  const thread = await opened("thread", "thread", { place: of });
  const market = await opened("market", "channel");
  const closet = await opened("closet", "channel", { isPrivate: true });
  await said(square, "Ann Miller", "Ann Miller keeps bees.");
  await said(closet, "Ann Archer", "Ann Archer keeps wasps.");
  for (const { id, kind } of [thread, market]) {
    const query = { agent: where.agent, channel: id, workspace: where.workspace, kind, askers: [], limit: 3 };
    const text = "What does @Ann keep?";
    const found = await recall.findMemories(memories, { ...query, names: ["Cleo"], text });
    assert.deepEqual(
      found.map(({ page: shown, statement }) => [shown?.name, statement]),
      [["Ann Miller", "Ann Miller keeps bees."]],
      kind,
    );
  }
});
