import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ChannelId } from "../../../../src/core/ids.ts";
import { createTestDatabase } from "../../../support/database.ts";
import { TEST_DIGESTER as digester } from "../../../support/digester.ts";
import { openStore } from "../../open-store.ts";
import { rowsWith } from "../../rows-with.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

const edit = async (id: ChannelId, message: string, text: string): Promise<unknown> =>
  store.log.edit(id, message, text, new Date(), digester);

const LEAF = { kind: "leaf", tier: "background", level: 1, sourceTokens: 100 } as const;

/** A channel with these lines, and what finishes a job of it: its commit. */
async function summarised(name: string, lines: readonly string[]) {
  const { id, epoch } = await weir.channel(name);
  for (const [index, line] of lines.entries())
    await weir.say(id, line, { id: `${name}-${index + 1}`, addressed: false });
  const write = async (kind: "leaf" | "redo", fromSeq: number, toSeq: number, text: string) => {
    const job = await store.jobs.begin({ channel: id, epoch }, { ...LEAF, kind, fromSeq, toSeq });
    const result = {
      parts: [],
      memories: [],
      summary: { kind: "model", text, tokens: 3, model: "m" },
    } as const;
    assert.ok(await store.jobs.stage(job, result));
    return async (change?: () => Promise<unknown>) => {
      const maker = await store.jobs.makeReady({ ...job, result }, digester);
      await change?.();
      assert.equal(await store.jobs.commit(job, maker), "committed");
      assert.equal(await store.jobs.commit(job, maker), "committed", "asked again");
    };
  };
  const due = async (): Promise<unknown[]> =>
    (
      await weir.sql("select needs_redo from summaries where channel_id = $1 and live order by from_seq", id)
    ).map((row) => row["needsRedo"]);
  const current = async (): Promise<string[]> =>
    (await store.currentSummaries(id)).map((summary) => summary.text);
  return { id, epoch, write, due, current };
}

test("a summary after the one of an edited message is substituted where it repeats a word of it, and stays where it does not", async () => {
  const lines = ["the code is zxqpine 774411", "a lamp", "a boat", "the lamp was here", "a bird", "774411"];
  const { id, write, due, current } = await summarised("behind", lines);
  const texts = [
    "The code is zxqpine 774411.",
    "Of a boat, and the zxqpine.",
    "Of a lamp.",
    "Of a bird and 774411.",
  ];
  const ranges = [
    [1, 2],
    [3, 3],
    [4, 4],
    [5, 6],
  ] as const;
  for (const [index, [from, to]] of ranges.entries())
    await (
      await write("leaf", from, to, texts[index] ?? "")
    )();
  await edit(id, "behind-1", "Never mind.");
  // The last one has the number from its own range, too.
  assert.deepEqual(await due(), [true, true, false, false]);
  assert.deepEqual(await current(), [
    "digest of 2 entries: Never mind. | a lamp",
    "digest of 1 entries: a boat",
    "Of a lamp.",
    "Of a bird and 774411.",
  ]);
  for (const [from, to] of ranges.slice(0, 2)) await (await write("redo", from, to, "They talked."))();
  assert.deepEqual(await rowsWith(weir, "zxqpine"), []);
  assert.deepEqual(await due(), [false, false, false, false]);
  await edit(id, "behind-6", "Nothing.");
  assert.deepEqual(await due(), [false, false, false, true], "nobody says it any more");
});

test("a summary that was written from a text before its edit loses it with the redo", async () => {
  const { id, write, due, current } = await summarised("overtaken", [
    "the word is zxqlate",
    "a lamp",
    "a boat",
    "a bird",
  ]);
  const of = await write("leaf", 1, 2, "The word is zxqlate.");
  await edit(id, "overtaken-1", "It is zxqnext.");
  await of();
  const behind = await write("leaf", 3, 3, "The word was zxqnext.");
  await edit(id, "overtaken-1", "It is zxqlast.");
  await behind();
  const other = await write("leaf", 4, 4, "Of a bird.");
  await edit(id, "overtaken-1", "Never mind.");
  await other();
  assert.deepEqual(await due(), [true, true, false]);
  // Whoever summarises meanwhile reads nothing of it.
  assert.ok(!JSON.stringify(await current()).includes("zxq"));
  for (const [from, to] of [
    [1, 2],
    [3, 3],
  ] as const)
    await (
      await write("redo", from, to, "They talked.")
    )();
  for (const word of ["zxqlate", "zxqnext", "zxqlast"])
    assert.deepEqual(await rowsWith(weir, word), [], word);
});

test("an extract that was made before a commit is made again after one more edit", async () => {
  const { id, write, current } = await summarised("ready", ["the word is zxqlate", "a lamp"]);
  const commit = await write("leaf", 1, 2, "The word is zxqlate.");
  await edit(id, "ready-1", "It is zxqnext.");
  await commit(async () => edit(id, "ready-1", "It is zxqlast."));
  assert.deepEqual(await current(), ["digest of 2 entries: It is zxqlast. | a lamp"]);
});

test("an edit reaches an extract that waits for its summary, too", async () => {
  const { id, write, current } = await summarised("waiting", ["a lamp is zxqred", "a boat", "a bird"]);
  await (
    await write("leaf", 1, 2, "Of a lamp.")
  )();
  await (
    await write("leaf", 3, 3, "Of a bird.")
  )();
  await weir.sql(
    `update summaries set substitute = '{"text": "a bird, and the lamp is zxqred", "tokens": 9}'
      where channel_id = $1 and from_seq = 3`,
    id,
  );
  await edit(id, "waiting-1", "a lamp is blue");
  assert.deepEqual(await current(), [
    "digest of 2 entries: a lamp is blue | a boat",
    "digest of 1 entries: a bird",
  ]);
});

const BESIDE = "I look for PIN 885533.";
const [SEARCH, OTHER] = ['{"query":"PIN 885533"}', '{"query":"the weather"}'];

/** What a call said, and what it brought, as whoever summarises reads it, or as the view shows it. */
async function readCalls(id: ChannelId, as: "read" | "readCurrent"): Promise<unknown[]> {
  return (await store.log[as](id, 1, 99)).flatMap((entry): unknown[] => {
    if (entry.kind === "tool_call") return [[entry.text, ...entry.calls.map((one) => one.arguments)]];
    return entry.kind === "tool_result" ? [entry.deleted ? null : entry.text] : [];
  });
}

test("a summariser reads no calls that repeat a text before its edit; the view keeps them", async () => {
  const { id, write } = await summarised("between", ["my PIN is 885533"]);
  const owner = { channel: id, epoch: 1 };
  const asked = await weir.say(id, "what is my pin, and the weather?", { id: "between-2" });
  const turn = await store.turns.begin(owner, asked, asked);
  assert.ok(turn !== null);
  const call = async (): Promise<void> => {
    const result = { kind: "tool_result", tool: "look", references: [], memories: [] } as const;
    const drafts = [
      { kind: "tool_call", text: BESIDE, calls: [{ id: "call-1", name: "look", arguments: SEARCH }] },
      { ...result, callId: "call-1", text: "the PIN is 885533, they say" },
      { kind: "tool_call", text: "", calls: [{ id: "call-2", name: "look", arguments: OTHER }] },
      { ...result, callId: "call-2", text: "it rains" },
    ] as const;
    await store.log.appendTurnEntries(owner, { id: turn.id, after: asked }, drafts, new Date());
  };
  await call();
  assert.equal(JSON.stringify(await readCalls(id, "readCurrent")).split("885533").length, 4);
  await edit(id, "between-1", "Never mind.");
  const kept = ["", OTHER];
  const left = [["", "{}"], null, kept, "it rains"];
  assert.deepEqual(await readCalls(id, "readCurrent"), left, "no more than what tells of it");
  assert.equal(JSON.stringify(await readCalls(id, "read")).split("885533").length, 4, "the view");
  const shown = await store.log.read(id, 3, 6);
  assert.deepEqual(
    await store.log.readAt(id, [3, 4, 5, 6]),
    shown,
    "also where it renders some of them anew",
  );
  // The model that was asked before the edit calls once more.
  await call();
  assert.deepEqual(
    await readCalls(id, "readCurrent"),
    [...left, ["", "{}"], null, ["", "{}"], null],
    "all that it calls behind it",
  );
  const { lastSeq } = (await store.load(id)).channel;
  await (
    await write("leaf", 1, lastSeq, "They talked.")
  )();
  assert.deepEqual(await rowsWith(weir, "885533"), []);
});

test("a summary whose job has read such a call is written again, though the job has not read the message", async () => {
  const { id, write, due } = await summarised("called-on", ["my PIN is 885544"]);
  const owner = { channel: id, epoch: 1 };
  const asked = await weir.say(id, "what is my pin?", { id: "called-on-2" });
  const turn = await store.turns.begin(owner, asked, asked);
  assert.ok(turn !== null);
  await (
    await write("leaf", 1, 1, "They talked.")
  )();
  const drafts = [
    {
      kind: "tool_call",
      text: "",
      calls: [{ id: "call-1", name: "look", arguments: '{"query":"PIN 885544"}' }],
    },
  ] as const;
  await store.log.appendTurnEntries(owner, { id: turn.id, after: asked }, drafts, new Date());
  const commit = await write("leaf", 2, 3, "It looked for 885544.");
  await weir.sql("update jobs set saw_from = from_seq where channel_id = $1", id);
  await edit(id, "called-on-1", "Never mind.");
  await commit();
  assert.deepEqual(await due(), [true, true]);
  for (const [from, to] of [
    [1, 1],
    [2, 3],
  ] as const)
    await (
      await write("redo", from, to, "They talked.")
    )();
  assert.deepEqual(await rowsWith(weir, "885544"), []);
});
