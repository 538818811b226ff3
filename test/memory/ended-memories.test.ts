// proves: src/store/memory/ended.ts, src/memory/recall-memories.ts
import assert from "node:assert/strict";
import { test } from "node:test";

import { agentId, type ChannelId, memoryId } from "../../src/core/ids.ts";
import type { Memory } from "../../src/core/memory.ts";
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

async function place(): Promise<ChannelId> {
  const address = { platform: "test", name: `place-${++count}` };
  return store.channels.open({ address, agent: agentId("main"), workspace: "w1", kind: "channel" });
}

/** Ann says it on that day of October, and it becomes a memory that ends one before it. */
async function said(channel: ChannelId, statement: string, day: number, ends?: number): Promise<number> {
  const at = new Date(Date.UTC(2026, 9, day));
  const author = { id: "id-Ann", name: "Ann", isBot: false };
  const seq = await open.say(channel, statement, { id: `said-${++count}`, author, at });
  const id = await rememberIn(open, channel, { statement, sources: [{ seq, quote: statement }], at });
  if (ends !== undefined) {
    const revision = { fresh: memoryId(id), older: memoryId(ends), change: "replaces" as const };
    assert.equal(await store.revisions.revise(channel, memoryId(id), [revision]), 1);
  }
  return id;
}

async function ask(channel: ChannelId, text: string, names: readonly string[] = []): Promise<Memory[]> {
  const where = { agent: agentId("main"), channel, workspace: "w1", kind: "channel" as const };
  const asked = { ...where, askers: ["id-Ben"], names, text, limit: 5 };
  return (await recall.findWithMemories({ text, to: 50, limit: 3 }, memories, asked)).memories;
}

async function told(channel: ChannelId, text: string): Promise<string[]> {
  return (await ask(channel, text)).map(
    ({ statement, until }) =>
      `${statement}${until === undefined ? "" : ` (until ${until.toISOString().slice(0, 10)})`}`,
  );
}

/** She has lived in three cities. */
async function moves(): Promise<{ readonly channel: ChannelId; readonly cities: readonly number[] }> {
  const channel = await place();
  const berlin = await said(channel, "Ann lives in Berlin.", 1);
  const munich = await said(channel, "Ann has found a flat by the Isar, in Munich.", 9, berlin);
  const rome = await said(channel, "Ann has her home in Rome.", 20, munich);
  return { channel, cities: [berlin, munich, rome] };
}

test("a question for the past is shown what was so before, behind what holds, the last first", async () => {
  const { channel } = await moves();
  const all = [
    "Ann has her home in Rome.",
    "Ann has found a flat by the Isar, in Munich. (until 2026-10-20)",
    "Ann lives in Berlin. (until 2026-10-09)",
  ];
  assert.deepEqual(await told(channel, "Where did Ann live before?"), all);
  // What holds shares no word with it, and another memory does.
  await said(channel, "The river Spree rises in summer.", 21);
  const [first, second] = await told(channel, "Was there a flat by the Isar, or by the Spree?");
  assert.deepEqual([first, second], all.slice(0, 2));
});

test("a question for what holds is shown nothing that has ended", async () => {
  const { channel } = await moves();
  assert.deepEqual(await told(channel, "Where does Ann live?"), ["Ann has her home in Rome."]);
  const where = { agent: agentId("main"), channel, workspace: "w1", kind: "channel" as const };
  const tool = await memories.find({ ...where, askers: [], text: "Where did Ann live before?", limit: 9 });
  assert.deepEqual(
    tool.map(({ statement }) => statement),
    ["Ann has her home in Rome."],
    "the tool's results are stored, and show what holds",
  );
});

test("what has ended is not shown once it is deleted, nor without what replaced it, nor elsewhere", async () => {
  const { channel, cities } = await moves();
  const [berlin, munich, rome] = cities;
  await open.sql("select forget_memory($1, $2)", channel, munich);
  assert.deepEqual(await told(channel, "Where did Ann live before?"), [
    "Ann has her home in Rome.",
    "Ann lives in Berlin. (until 2026-10-20)",
  ]);
  assert.deepEqual(await told(await place(), "Where did Ann live before?"), []);
  // It has ended, and nothing is known to have replaced it.
  await open.sql("update memories set superseded_by = null where id = $1", berlin);
  assert.deepEqual(await told(channel, "Where did Ann live before?"), ["Ann has her home in Rome."]);
  await open.sql("select forget_memory($1, $2)", channel, rome);
  assert.deepEqual(await told(channel, "Where did Ann live before?"), []);
});

test("what has ended stands on the page of what holds", async () => {
  const { channel } = await moves();
  await store.speakers.number(channel, "ann", "id-Ann");
  const shown = await ask(channel, "Where did Ann live before?", ["Ben"]);
  assert.deepEqual(
    shown.map(({ page }) => page?.name),
    ["Ann", "Ann", "Ann"],
  );
});
