// proves: src/store/deletion/carriers/calls.ts, src/store/deletion/carriers/memories.ts, src/store/deletion/carriers/jobs.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JobResult } from "../../../src/core/compaction.ts";
import { agentId, type ChannelId, memoryId, type Owner } from "../../../src/core/ids.ts";
import { checkMemories } from "../../../src/memory/gates.ts";
import { QuestionStore } from "../../../src/features/questions/question-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER as digester } from "../../support/digester.ts";
import { ENGINE } from "../carriers-with.ts";
import { prepareDeletion } from "../../../src/store/deletion/deletions.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { openStore } from "../open-store.ts";
import { rowsWith } from "../rows-with.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const weir = openStore(database.connection);
after(async () => weir[Symbol.asyncDispose]());
const { store } = weir;

interface Asked {
  readonly statement: string;
  readonly quote: string;
  /** From 1. */
  readonly source: number;
}

/** A channel with these lines, and a job that has read all of them and saves memories, but is not committed. */
async function staged(name: string, lines: readonly string[], asked: readonly Asked[]) {
  const { id, epoch } = await weir.channel(name);
  for (const [index, line] of lines.entries())
    await weir.say(id, line, { id: `${name}-${index + 1}`, addressed: false });
  const entries = await store.log.read(id, 1, lines.length);
  const { kept, dropped } = checkMemories(
    {
      memories: asked.map(({ source, ...one }) => ({
        type: "fact",
        subject: "it",
        sources: [source],
        ...one,
      })),
    },
    {
      sources: new Map(entries.map((entry) => [entry.seq, entry])),
      promptText: "",
      agentName: "Weir",
      dayOf: (at: Date) => at.toISOString().slice(0, 10),
    },
  );
  assert.deepEqual(dropped, []);
  const plan = {
    kind: "leaf",
    tier: "background",
    fromSeq: 1,
    toSeq: lines.length,
    level: 1,
    sourceTokens: 100,
  } as const;
  const job = await store.jobs.begin({ channel: id, epoch }, plan);
  const summary = { kind: "model", text: "They talked.", tokens: 3, model: "m" } as const;
  const result: JobResult = { parts: [], memories: kept, summary };
  assert.ok(await store.jobs.stage(job, result));
  return { id, name, commit: async () => assert.equal(await store.jobs.commit(job), "committed") };
}

async function told(name: string, lines: readonly string[], asked: readonly Asked[]) {
  const one = await staged(name, lines, asked);
  await one.commit();
  assert.equal((await statements(one.id)).length, asked.length);
  return one;
}

async function statements(channel: ChannelId): Promise<unknown[]> {
  const rows = await weir.sql("select statement from memories where channel_id = $1 order by id", channel);
  return rows.map((row) => row["statement"]);
}

const remove = async (id: ChannelId, message: string): Promise<unknown> =>
  store.log.delete(id, message, digester);
const edit = async (id: ChannelId, message: string, text: string): Promise<unknown> =>
  store.log.edit(id, message, text, new Date(), digester);

const CODE = { statement: "The code is zxqpine 774411.", quote: "please remember that", source: 2 };

test("a line with words that the cited one lacks becomes a source, and its deletion removes the memory", async () => {
  const { id } = await told("indirect", ["the code is zxqpine 774411", "please remember that"], [CODE]);
  const sources = await weir.sql(
    "select seq, quote from memory_sources where channel_id = $1 order by seq",
    id,
  );
  assert.deepEqual(sources, [
    { seq: 1, quote: "the code is zxqpine 774411" },
    { seq: 2, quote: "please remember that" },
  ]);
  await remove(id, "indirect-1");
  assert.deepEqual(await statements(id), []);
});

test("a memory stays while the remaining lines say all of it, and is removed with the last of them", async () => {
  const lines = ["the code is zxqpine 774411", "please remember that", "again: the code is zxqpine 774411"];
  const { id } = await told("twice", lines, [CODE]);
  await remove(id, "twice-1");
  assert.deepEqual(await statements(id), [CODE.statement]);
  await remove(id, "twice-3");
  assert.deepEqual(await statements(id), []);
});

test("a word that others have said as well keeps a memory, as long as one of them remains", async () => {
  const lines = ["the sluice leaks", "I will mend it", ...Array.from({ length: 5 }, () => "oh, the sluice")];
  const mend = { statement: "Ann mends the sluice.", quote: "I will mend it", source: 2 };
  const { id } = await told("common", lines, [mend]);
  await remove(id, "common-1");
  assert.deepEqual(await statements(id), [mend.statement]);
  for (let number = 3; number <= 7; number++) await remove(id, `common-${number}`);
  assert.deepEqual(await statements(id), [], "until nobody says it");
});

test("a memory without terms of its own is compared by its statement", async () => {
  const { id } = await told("older", ["the code is zxqpine 774411", "please remember that"], [CODE]);
  await weir.sql("update memories set telling = null where channel_id = $1", id);
  await weir.sql("delete from memory_sources where channel_id = $1 and seq = 1", id);
  await remove(id, "older-1");
  assert.deepEqual(await statements(id), []);
});

test("an edit removes memories of its old words, and leaves those of words that remain", async () => {
  const lines = ["the boat is zxqred and it is called Erna", "please remember that", "the gate is shut"];
  const { id } = await told("edited", lines, [
    { statement: "The boat is zxqred.", quote: "please remember that", source: 2 },
    { statement: "The boat is called Erna.", quote: "it is called Erna", source: 1 },
    { statement: "Somebody shuts the gate.", quote: "the gate is shut", source: 3 },
  ]);
  await edit(id, "edited-1", "the boat is blue and it is called Erna");
  assert.deepEqual(await statements(id), ["The boat is called Erna.", "Somebody shuts the gate."]);
  await edit(id, "edited-3", "the gate is not shut");
  assert.deepEqual(
    await statements(id),
    ["The boat is called Erna."],
    "a quote that does not stand proves nothing",
  );
  assert.deepEqual(await rowsWith(weir, "zxqred"), []);
});

test("an edit that gives a memory another speaker changes more than its notice says", async () => {
  const lines = ["the gate is shut", "yes, the gate is shut", "it rains"];
  const { id } = await told("dissent", lines, [
    { statement: "Somebody shuts the gate.", quote: "the gate is shut", source: 1 },
  ]);
  await weir.sql(
    `insert into memory_sources (memory_id, channel_id, seq, quote)
     select m.id, m.channel_id, 2, 'the gate is shut' from memories m where m.channel_id = $1`,
    id,
  );
  // A turn has read all of it.
  await weir.sql(
    "insert into turns (channel_id, epoch, from_seq, to_seq, state, settled_at) select id, epoch, 1, 3, 'answered', now() from channels where id = $1",
    id,
  );
  const { outcome } = await store.log.edit(id, "dissent-1", "the gate is open", new Date(), digester);
  assert.equal(outcome, "replaced");
  assert.deepEqual(await statements(id), ["Somebody shuts the gate."]);
  const other = await store.log.edit(id, "dissent-3", "it snows", new Date(), digester);
  assert.equal(other.outcome, "noted");
});

test("a job commits no memory of a text that was edited after the job had read it", async () => {
  const lines = ["the boat is zxqgreen", "please remember that", "the gate is shut"];
  const { id, commit } = await staged("meanwhile", lines, [
    { statement: "The boat is zxqgreen.", quote: "please remember that", source: 2 },
    { statement: "The gate is shut.", quote: "the gate is shut", source: 3 },
  ]);
  await edit(id, "meanwhile-1", "the boat is blue");
  await commit();
  assert.deepEqual(await statements(id), ["The gate is shut."]);
  const [job] = await weir.sql("select memories from jobs where channel_id = $1", id);
  assert.equal(job?.["memories"], 1);
  assert.deepEqual(
    await rowsWith(weir, "zxqgreen"),
    [],
    "the ended job tells nothing of the old text, either",
  );
});

test("of a message that no turn has read, only the newest text is in a row", async () => {
  const { id } = await weir.channel("unread");
  await weir.say(id, "the word is zxqfirst", { id: "u-1", addressed: false });
  for (const [index, text] of ["zxqsecond", "zxqthird"].entries())
    await store.log.edit(id, "u-1", text, new Date(Date.now() + index), digester);
  for (const word of ["zxqfirst", "zxqsecond"]) assert.deepEqual(await rowsWith(weir, word), [], word);
  const [entry] = await store.log.read(id, 1, 1);
  assert.ok(entry?.kind === "user" && entry.text === "zxqthird");
});

test("a further edit does not write the earlier revisions again", async () => {
  const { id } = await weir.channel("often");
  await weir.say(id, "status 0", { id: "o-1", addressed: false });
  const revise = async (to: number): Promise<unknown> =>
    store.log.edit(id, "o-1", `status ${to}`, new Date(Date.now() + to), digester);
  const written = async (): Promise<unknown[]> =>
    weir.sql(
      "select revision, xmin::text from revisions where channel_id = $1 and revision <= 8 order by 1",
      id,
    );
  for (let to = 1; to <= 10; to++) await revise(to);
  const before = await written();
  for (let to = 11; to <= 13; to++) await revise(to);
  assert.deepEqual(await written(), before);
});

/** The channel's owner reads the rows, and begins the turn that runs again. */
async function know(owner: Owner): Promise<void> {
  const { lastDeletion } = await store.load(owner.channel);
  if (lastDeletion !== null) assert.ok(await store.log.knowDeletions(owner, lastDeletion));
}

const CALLS = [
  { id: "call-1", name: "search_history", arguments: '{"query":"PIN 774422"}' },
  { id: "call-2", name: "search_history", arguments: '{"query":"the weather"}' },
];

/** Somebody says a secret; the model, asked about it, searches for it by its words. */
async function called(name: string) {
  const { id, epoch } = await weir.channel(name);
  const owner = { channel: id, epoch };
  await weir.say(id, "my PIN is 774422", { id: `${name}-1`, addressed: false });
  const asked = await weir.say(id, "what is my pin, and the weather?", { id: `${name}-2` });
  const turn = await store.turns.begin(owner, asked, asked);
  assert.ok(turn !== null);
  const call = async (by = turn): Promise<void> => {
    const drafts = [{ kind: "tool_call", text: "", calls: CALLS }] as const;
    await store.log.appendTurnEntries(owner, { id: by.id, after: asked }, drafts, new Date());
  };
  const argumentsOf = async (): Promise<string[]> =>
    (await store.log.read(id, 3, 99)).flatMap((entry) =>
      entry.kind === "tool_call" ? entry.calls.map((one) => one.arguments) : [],
    );
  return { id, owner, turn, asked, call, argumentsOf };
}

test("calls are searched before the channel is locked; those that come in between are found as well", async () => {
  const { id, owner, call, argumentsOf } = await called("ahead");
  for (let count = 0; count < 5; count++) await call();
  await weir.say(id, "the word is zxqnew", { id: "ahead-other", addressed: false });
  const other = await prepareDeletion(ENGINE, weir.db, id, ["ahead-other"], digester);
  const pin = await prepareDeletion(ENGINE, weir.db, id, ["ahead-1"], digester);
  await call();
  const read = new Map<string, number>();
  const counted = async (client: Queryable, blank: (by: Queryable) => Promise<unknown>): Promise<unknown> =>
    blank({
      query: async (...asked) => {
        const rows = await client.query(...asked);
        read.set(asked[0], rows.length);
        // oxlint-disable-next-line no-unsafe-type-assertion -- as it came
        return rows as never;
      },
    });
  await weir.db.transaction(async (client) => counted(client, other));
  await know(owner);
  assert.equal(read.get("calls_after"), 1, "the call in between alone");
  await weir.db.transaction(async (client) => counted(client, pin));
  await know(owner);
  assert.ok((await argumentsOf()).every((one) => !one.includes("774422")));
  // Edited between: what was found ahead is of other words.
  await weir.say(id, "it is 991199", { id: "ahead-edited", addressed: false });
  await call();
  const edited = await prepareDeletion(ENGINE, weir.db, id, ["ahead-edited"], digester);
  await edit(id, "ahead-edited", "it is 774422");
  await weir.db.transaction(edited);
  assert.deepEqual((await argumentsOf()).slice(-2), ["{}", '{"query":"the weather"}']);
});

test("a summary that has read a call with the words is replaced, and a job that has is stale, though the message comes before their ranges", async () => {
  const { id, call } = await called("told-on");
  const owner = { channel: id, epoch: 1 };
  await call();
  const leaf = { kind: "leaf", tier: "background", level: 1, sourceTokens: 100 } as const;
  const summarise = async (fromSeq: number, toSeq: number, text: string) => {
    const job = await store.jobs.begin(owner, { ...leaf, fromSeq, toSeq });
    const summary = { kind: "model", text, tokens: 3, model: "m" } as const;
    assert.ok(await store.jobs.stage(job, { parts: [], memories: [], summary }));
    return job;
  };
  assert.equal(await store.jobs.commit(await summarise(1, 2, "They talked.")), "committed");
  // As one that was written without the summary before it, which would count as read.
  await weir.sql("update jobs set saw_from = from_seq where channel_id = $1", id);
  assert.equal(await store.jobs.commit(await summarise(3, 3, "It looked for 774422.")), "committed");
  await weir.sql("update summaries set saw_from = from_seq where channel_id = $1", id);
  await call();
  const waiting = await summarise(4, 4, "It looked again for 774422.");
  await weir.sql("update jobs set saw_from = from_seq where channel_id = $1", id);
  await remove(id, "told-on-1");
  assert.equal(await store.jobs.commit(waiting), "stale");
  assert.deepEqual(await rowsWith(weir, "774422"), []);
});

test("arguments repeat a message by their values, not by the names of parameters", async () => {
  const { id, call, argumentsOf } = await called("names");
  await weir.say(id, "that is my query", { id: "names-3", addressed: false });
  await call();
  await remove(id, "names-3");
  assert.deepEqual(
    await argumentsOf(),
    CALLS.map((one) => one.arguments),
  );
});

test("a call after a deletion has no arguments until the channel's owner knows of the deletion", async () => {
  const { id, owner, call, argumentsOf } = await called("late");
  await remove(id, "late-1");
  await call();
  assert.deepEqual(await argumentsOf(), ["{}", "{}"]);
  await know(owner);
  await call();
  await know(owner);
  assert.deepEqual(
    (await argumentsOf()).slice(2),
    CALLS.map((one) => one.arguments),
    "later calls know nothing of it",
  );
});

/** What of the secret is left in a channel. */
const said = async (id: ChannelId): Promise<unknown[]> =>
  weir.sql(
    `select kind from entries where channel_id = $1 and concat(text, data) like '%774422%'
     union all select 'approval' from approvals where channel_id = $1 and arguments like '%774422%'`,
    id,
  );

test("a turn that settles before it knows of a deletion logs no words of its calls and approvals", async () => {
  const { id, owner, turn, asked, call } = await called("unheard");
  await remove(id, "unheard-1");
  await call();
  const waits = {
    id: 1,
    callId: "act-1",
    agent: agentId("main"),
    tool: "act",
    arguments: '{"what":"PIN 774422"}',
  };
  const act = { id: waits.callId, name: waits.tool, arguments: waits.arguments };
  const drafts = [
    { kind: "tool_call", text: "for 774422", calls: [act] },
    {
      kind: "tool_result",
      callId: act.id,
      tool: act.name,
      text: "774422 waits",
      references: [],
      memories: [],
    },
  ] as const;
  const news = {
    asked: [{ ...waits, fingerprint: "f", expireMs: 60_000, kind: "approval", isForAnybody: false } as const],
  };
  const approvals = new QuestionStore(weir.db);
  await store.log.appendTurnEntries(owner, { id: turn.id, after: asked }, drafts, new Date(), {
    write: async (client, by) => approvals.note(client, owner, by, news),
  });
  await store.turns.settle(
    owner,
    turn,
    { state: "skipped", reason: null, modelMs: 0, entry: null, idempotencyKeys: [] },
    new Date(),
  );
  await know(owner);
  assert.deepEqual(await said(id), []);
  assert.deepEqual(await weir.sql("select state from approvals where channel_id = $1", id), [
    { state: "void" },
  ]);
});

test("after two deletions, knowing of the second one alone brings no words into the log", async () => {
  const { id, owner, call } = await called("two");
  await weir.say(id, "never mind", { id: "two-3", addressed: false });
  await remove(id, "two-1");
  await call();
  await remove(id, "two-3");
  await know(owner);
  assert.deepEqual(await said(id), []);
});

test("a daemon that has lost the channel cannot note that it knows of a deletion", async () => {
  const { id, owner, call } = await called("lost");
  await remove(id, "lost-1");
  await know({ ...owner, epoch: owner.epoch - 1 });
  await call();
  assert.deepEqual(await said(id), []);
});

test("a call keeps its words after the deletion of a message that came after its turn's", async () => {
  const { id, call, argumentsOf } = await called("newer");
  await weir.say(id, "never mind", { id: "newer-3", addressed: false });
  await remove(id, "newer-3");
  await call();
  assert.deepEqual(
    await argumentsOf(),
    CALLS.map((one) => one.arguments),
  );
});

test("a turn that began after a deletion keeps the words of its calls once its owner has read the rows", async () => {
  const { id, owner, turn, asked, call, argumentsOf } = await called("begun-behind");
  await store.turns.settle(
    owner,
    turn,
    { state: "skipped", reason: null, modelMs: 0, entry: null, idempotencyKeys: [] },
    new Date(),
  );
  await weir.say(id, "never mind", { id: "begun-behind-3", addressed: false });
  await remove(id, "begun-behind-3");
  const next = await store.turns.begin(owner, asked + 1, asked + 1);
  assert.ok(next !== null);
  // Its model may have been asked by the rows of before.
  await call(next);
  assert.deepEqual(await argumentsOf(), ["{}", "{}"]);
  await know(owner);
  await call(next);
  assert.deepEqual(
    (await argumentsOf()).slice(2),
    CALLS.map((one) => one.arguments),
  );
});

test("an owner that has read the rows does not know of a later deletion", async () => {
  const { id, owner, turn, call } = await called("behind");
  await weir.say(id, "never mind", { id: "behind-3", addressed: false });
  await remove(id, "behind-3");
  const { lastDeletion } = await store.load(id);
  await remove(id, "behind-1");
  assert.equal(await store.log.knowDeletions(owner, lastDeletion ?? ""), false);
  assert.equal(await store.log.knowsDeletions(id, turn.id), false);
  await call();
  assert.deepEqual(await said(id), []);
  await know(owner);
  assert.equal(await store.log.knowsDeletions(id, turn.id), true);
});

test("a turn that began after a deletion hands over none of its words until its owner has read the rows", async () => {
  for (const isKnown of [false, true]) {
    const name = `handed-${isKnown}`;
    const { id, owner, turn, asked } = await called(name);
    const skipped = { state: "skipped", reason: null, modelMs: 0, entry: null, idempotencyKeys: [] } as const;
    await store.turns.settle(owner, turn, skipped, new Date());
    await remove(id, `${name}-1`);
    await weir.say(id, "and now?", { id: `${name}-3` });
    const next = await store.turns.begin(owner, asked + 1, asked + 1);
    assert.ok(next !== null);
    if (isKnown) await know(owner);
    const handOff = {
      id: `handoff/${next.id}/second`,
      author: { id: "main", name: "Weir", isBot: true },
      text: "The PIN is 774422.",
      at: new Date(),
      addressed: true,
      agent: agentId("second"),
      chain: { id: next.id, hop: 1 },
    };
    const { handedOver } = await store.turns.settle(owner, next, { ...skipped, handOff }, new Date());
    assert.equal(handedOver?.kind === "user" && handedOver.text.includes("774422"), isKnown);
  }
});

test("a call whose turn was shown a removed memory is logged without words, and so is its result", async () => {
  const { id: elsewhere } = await told(
    "shown-from",
    ["the boat has number 774422"],
    [{ statement: "The boat has number 774422.", quote: "the boat has number 774422", source: 1 }],
  );
  const [memory] = await weir.sql<{ id: number }>("select id from memories where channel_id = $1", elsewhere);
  assert.ok(memory !== undefined);
  const { id, epoch } = await weir.channel("shown-in");
  const owner = { channel: id, epoch };
  const asked = await weir.say(id, "what is it?", { id: "shown-1" });
  const turn = await store.turns.begin(owner, asked, asked);
  assert.ok(turn !== null);
  await remove(elsewhere, "shown-from-1");
  const result = (callId: string, text: string) =>
    ({ kind: "tool_result", callId, tool: "web", text, references: [], memories: [] }) as const;
  await store.log.appendTurnEntries(
    owner,
    { id: turn.id, after: asked, shown: [memoryId(memory.id)] },
    [
      { kind: "tool_call", text: "", calls: CALLS },
      result("call-1", "nothing of 774422"),
      result("call-2", "sun"),
    ],
    new Date(),
  );
  assert.deepEqual(await said(id), []);
});

test("a call that repeats what a message said before an edit loses it with the message, though the log has forgotten that text", async () => {
  const { id, epoch } = await weir.channel("forgotten");
  const owner = { channel: id, epoch };
  await weir.say(id, "my PIN is hidden", { id: "forgotten-1", addressed: false });
  const asked = await weir.say(id, "what is my pin?", { id: "forgotten-2" });
  const turn = await store.turns.begin(owner, asked, asked);
  assert.ok(turn !== null);
  await edit(id, "forgotten-1", "my PIN is 774422");
  await store.log.appendTurnEntries(
    owner,
    { id: turn.id, after: 3 },
    [{ kind: "tool_call", text: "", calls: CALLS }],
    new Date(),
  );
  await edit(id, "forgotten-1", "my PIN is a secret");
  await weir.sql(
    `with made as (
       insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live) values ($1, 1, 3, 1, 'model', 'so', 60, true))
     update channels set covered_to = 3 where id = $1`,
    id,
  );
  assert.deepEqual(await said(id), [{ kind: "tool_call" }], "the view shows it");
  assert.deepEqual(
    await weir.sql("select from revisions where channel_id = $1 and text like '%774422%'", id),
    [],
  );
  await remove(id, "forgotten-1");
  assert.deepEqual(await said(id), []);
});

test("a call that repeats an outdated text behind the edit loses it when it leaves the view, and with the message", async () => {
  for (const way of ["covered", "deleted"] as const) {
    const { id, epoch } = await weir.channel(`outdated-${way}`);
    const owner = { channel: id, epoch };
    await weir.say(id, "my PIN is 774422", { id: `${way}-1`, addressed: false });
    const asked = await weir.say(id, "what is my pin?", { id: `${way}-2` });
    const turn = await store.turns.begin(owner, asked, asked);
    assert.ok(turn !== null);
    await edit(id, `${way}-1`, "my PIN is a secret");
    await edit(id, `${way}-1`, "my PIN is gone");
    const calls = [{ kind: "tool_call", text: "", calls: CALLS }] as const;
    const behind = { id: turn.id, after: 4, outdated: [{ draft: 0, seq: 1 }] };
    await store.log.appendTurnEntries(owner, behind, calls, new Date());
    assert.equal((await said(id)).length, 2, "the message still shows its first text");
    if (way === "deleted") await remove(id, `${way}-1`);
    else
      await weir.sql(
        `with made as (
           insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens, live) values ($1, 1, 5, 1, 'model', 'so', 60, true))
         update channels set covered_to = 5 where id = $1`,
        id,
      );
    assert.deepEqual(await said(id), [], way);
  }
});

test("a tool call can lose only its arguments and its text", async () => {
  const { id, call } = await called("guard");
  await call();
  const change = async (to: string): Promise<void> =>
    weir.refuses("WE001", `update entries set data = ${to} where channel_id = ${id} and kind = 'tool_call'`);
  await change(`jsonb_set(data, '{calls,0,arguments}', '"{\\"query\\":\\"other\\"}"')`);
  await change(`jsonb_set(data, '{calls,0,id}', '"other"')`);
  await change(`jsonb_set(data, '{calls}', '[]')`);
});
