// proves: src/memory/recall.ts
import assert from "node:assert/strict";
import { test } from "node:test";

import { agentId } from "../../src/core/ids.ts";
import { Recall } from "../../src/memory/recall.ts";
import { RecallMemories } from "../../src/memory/recall-memories.ts";
import { openTestStore } from "../store/open-store.ts";
import { rememberIn } from "../store/remember.ts";

const open = await openTestStore();
const { store } = open;
const now = (): Date => new Date("2026-11-21T12:00:00Z");
const recall = new RecallMemories({ memories: store.memories, search: store.search, now });
const { id: channel } = await open.channel("recall");
const asker = { agent: agentId("main"), channel, workspace: "", kind: "channel" as const, askers: ["u-ann"] };
for (const statement of [
  "Ann prefers Earl Grey to coffee.",
  "Ann keeps the key of the boathouse.",
  "Ben decided to use Postgres for the log.",
  "千早さんの会議は水曜日の午後三時です。",
]) {
  const seq = await open.say(channel, statement);
  await rememberIn(open, channel, {
    statement,
    subject: "them",
    assertedBy: "somebody",
    sources: [{ seq, quote: statement }],
  });
}

async function found(text: string, limit = 3): Promise<string[]> {
  return (await recall.find({ ...asker, text, limit })).map(({ statement }) => statement);
}

test("any of the words finds a memory, in any form of them", async () => {
  assert.equal(
    (await found("what does Ann like to drink, earl grey or beer?"))[0],
    "Ann prefers Earl Grey to coffee.",
  );
  assert.equal(
    (await found("which decision did they make on the logs?"))[0],
    "Ben decided to use Postgres for the log.",
  );
});

test("a piece of a word finds one where a script has no spaces", async () => {
  assert.deepEqual(await found("水曜日の会議は何時ですか"), ["千早さんの会議は水曜日の午後三時です。"]);
});

test("no more come than were asked for, and none where nothing fits", async () => {
  assert.equal((await found("Ann", 1)).length, 1);
  assert.equal((await found("Ann", 5)).length, 2);
  for (const text of ["", "  ", "the of and", "?!", "penguins", "'\\ | & ! ( ) :*"])
    assert.deepEqual(await found(text), []);
});

test("days that are asked for find what tells of them and what was said then, whatever its words", async () => {
  const { id } = await open.channel("times");
  const there = { ...asker, channel: id };
  for (const [statement, at, refers] of [
    ["Ann rows in the regatta.", "2026-11-02T10:00:00Z", { from: "2026-11-10", to: "2026-11-11" }],
    ["Ben painted the shed.", "2026-11-12T10:00:00Z", undefined],
    ["Chi sold a boat.", "2026-10-01T10:00:00Z", undefined],
  ] as const) {
    const seq = await open.say(id, statement);
    await rememberIn(open, id, {
      statement,
      subject: "it",
      at,
      sources: [{ seq, quote: statement }],
      ...(refers && { refers }),
    });
  }
  const entries = new Recall({ search: store.search, now: Date.now });
  const asked = async (text: string): Promise<string[]> => {
    const query = { ...there, text, limit: 5 };
    const { memories } = await entries.findWithMemories({ text, to: 10, limit: 5 }, recall, query);
    return memories.map(({ statement }) => statement);
  };
  assert.deepEqual(await asked("what happened on 10 November?"), ["Ann rows in the regatta."]);
  assert.deepEqual(await asked("what was last week?"), ["Ann rows in the regatta.", "Ben painted the shed."]);
  assert.deepEqual(await asked("I slept a lot last week."), [], "nobody asks");
  const tool = await recall.find({ ...there, text: "last week", limit: 5 });
  assert.deepEqual(
    tool.map(({ refers }) => refers?.from),
    ["2026-11-10", undefined],
  );
  assert.deepEqual(
    await recall.find({ ...asker, text: "10 November", limit: 5 }),
    [],
    "of another channel none",
  );
});

test("the newest words of a long text are what is asked", async () => {
  assert.equal(
    (await found(`${"penguins ".repeat(1000)} boathouse`))[0],
    "Ann keeps the key of the boathouse.",
  );
});

test("another channel finds none of them", async () => {
  const { id } = await open.channel("elsewhere");
  assert.deepEqual(await recall.find({ ...asker, channel: id, text: "Ann", limit: 5 }), []);
});

test("entries and memories looked up together are those that are found apart", async () => {
  const entries = new Recall({ search: store.search, now: Date.now });
  const { id: other } = await open.channel("together");
  await open.say(other, "Ann left the boathouse unlocked.");
  await store.search.indexAll([channel, other], 100);
  for (const one of [channel, other]) {
    for (const text of ["is Ann at the boathouse?", "水曜日の会議は何時ですか", "penguins", "the of", ""]) {
      const query = { channel: one, text, to: 10, limit: 2 };
      const asked = { ...asker, channel: one, text, limit: 2 };
      assert.deepEqual(
        await entries.findWithMemories(query, recall, asked),
        { entries: await entries.find(query), memories: await recall.find(asked) },
        `${one} ${text}`,
      );
    }
  }
  const asked = { ...asker, text: "is Ann at the boathouse?", limit: 2 };
  const query = { channel, text: asked.text, to: 10, limit: 2 };
  const both = await entries.findWithMemories(query, recall, asked);
  assert.deepEqual([both.entries.length > 0, both.memories.length], [true, 2]);
});
