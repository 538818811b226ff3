// proves: migrations/0090_seen_by_tools.sql, src/store/memory/memory-transfer.ts, src/store/deletion/carriers/memories.ts, src/store/deletion/carriers/calls.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry, TurnEntryDraft } from "../../../src/core/entry.ts";
import { agentId, memoryId, turnId } from "../../../src/core/ids.ts";
import type { MemoryDraft } from "../../../src/core/memory.ts";
import { type ChannelKind, mentionId } from "../../../src/core/message.ts";
import { checkMemories } from "../../../src/memory/gates.ts";
import { checkMemoryLine, type MemoryLine } from "../../../src/memory/memory-file.ts";
import { marksOf } from "../../../src/memory/statement-marks.ts";
import type { AskingChannel } from "../../../src/store/memory/memory-scope.ts";
import type { PortableMemory } from "../../../src/store/memory/memory-transfer.ts";
import { authorOf, BEN } from "../../support/commands.ts";
import { TEST_DIGESTER as digester } from "../../support/digester.ts";
import { openTestStore } from "../open-store.ts";
import { rememberIn } from "../remember.ts";

const open = await openTestStore();
const { store } = open;
let count = 0;

interface Place extends AskingChannel {
  readonly name: string;
  readonly epoch: number;
}

async function place(
  overrides: Partial<{ kind: ChannelKind; sharesMemory: boolean; workspace: string }> = {},
): Promise<Place> {
  const name = `seen-${++count}`;
  const asker = { agent: agentId("main"), workspace: `w-${name}`, kind: "channel" as ChannelKind };
  const address = { platform: "test", name };
  const channel = await store.channels.open({ address, isPrivate: false, ...asker, ...overrides });
  return { ...asker, ...overrides, name, channel, epoch: await store.channels.take(channel) };
}

interface Called {
  /** The platform's id of the message that the calls are for. */
  readonly message: string;
  readonly asked: number;
  readonly turn: number;
  /** Of the results, in order. */
  readonly seqs: readonly number[];
}

interface Call {
  readonly text: string;
  readonly tool?: string;
  readonly id?: string;
  /** Of the call. Default: none. */
  readonly arguments?: string;
}

/** Somebody asks, and the agent calls tools in one answer each, at a minute of one hour. */
async function call(
  { channel, epoch }: Pick<Place, "channel" | "epoch">,
  answers: readonly (readonly Call[])[],
  {
    asks = "how is it?",
    minute = ++count,
    id: message = `seen-said-${++count}`,
    by = "u-ann",
  }: { asks?: string; minute?: number; id?: string; by?: string } = {},
): Promise<Called> {
  const asked = await open.say(channel, asks, { id: message, author: { id: by, name: "Ann", isBot: false } });
  const [turn] = await open.sql<{ id: number }>(
    "insert into turns (channel_id, epoch, from_seq, to_seq) values ($1, $2, $3, $3) returning id",
    channel,
    epoch,
    asked,
  );
  const seqs: number[] = [];
  for (const calls of answers) {
    const named = calls.map((one) => ({ id: `call-${++count}`, tool: "web_search", ...one }));
    const drafts: TurnEntryDraft[] = [
      {
        kind: "tool_call",
        text: "",
        calls: named.map(({ id, tool: name, arguments: given = "{}" }) => ({ id, name, arguments: given })),
      },
      ...named.map(({ id, tool, text }) => ({
        kind: "tool_result" as const,
        callId: id,
        tool,
        text,
        references: [],
        memories: [],
        isFinding: true as const,
      })),
    ];
    const ofTurn = { id: turnId(turn?.id ?? 0), after: asked };
    const at = new Date(Date.UTC(2026, 10, 3, 10, minute));
    const made = await store.log.appendTurnEntries({ channel, epoch }, ofTurn, drafts, at);
    seqs.push(...made.filter(({ kind }) => kind === "tool_result").map(({ seq }) => seq));
  }
  await open.sql("update turns set state = 'stopped', settled_at = now() where id = $1", turn?.id);
  return { message, asked, turn: turn?.id ?? 0, seqs };
}

async function seen(
  { channel }: Pick<Place, "channel">,
  statement: string,
  seqs: readonly number[],
  overrides: Partial<MemoryDraft> = {},
): Promise<number> {
  return rememberIn(open, channel, {
    type: "observation",
    tool: "web_search",
    assertedBy: "web_search",
    subject: "the weather",
    statement,
    sources: seqs.map((seq) => ({ seq, quote: statement })),
    ...marksOf(statement),
    ...overrides,
  });
}

/** What holds, and what has ended with the minute, in the order in which it was made. */
async function told(asker: AskingChannel): Promise<string[]> {
  const listed = (await store.memories.inScope(asker, 100)).toSorted((a, b) => a.id - b.id);
  return listed.map(({ statement, until }) =>
    until === undefined ? statement : `${statement} until ${until.getUTCMinutes()}`,
  );
}

async function remove({ channel }: Place, message: string): Promise<void> {
  await store.log.delete(channel, message, digester);
}

/** A job that has read a channel up to an entry, and is not committed. */
async function stage({ channel, epoch }: Place, toSeq: number, memories: readonly MemoryDraft[]) {
  const range = { kind: "leaf", tier: "background", level: 1, sourceTokens: 9, fromSeq: 1, toSeq } as const;
  const job = await store.jobs.begin({ channel, epoch }, range);
  const summary = { kind: "model", text: "They spoke.", tokens: 3, model: "m" } as const;
  assert.ok(await store.jobs.stage(job, { parts: [], memories, summary }));
  return job;
}

/** All of a channel leaves the view. */
async function cover(here: Place): Promise<void> {
  const [row] = await open.sql<{ last: number }>(
    "select last_seq as last from channels where id = $1",
    here.channel,
  );
  assert.equal(await store.jobs.commit(await stage(here, row?.last ?? 0, [])), "committed");
}

test("the log keeps which results are findings", async () => {
  const here = await place();
  const { seqs } = await call(here, [[{ text: "12 degrees" }]]);
  const [entry] = await store.log.read(here.channel, seqs[0] ?? 0, seqs[0] ?? 0);
  assert.ok(entry?.kind === "tool_result" && entry.isFinding === true);
});

test("what a tool has seen is read with the tool's name, and with the time of its last result", async () => {
  const here = await place();
  const first = await call(here, [[{ text: "12 degrees" }]], { minute: 5 });
  const id = await seen(here, "It has 12 degrees.", first.seqs);
  const again = await call(here, [[{ text: "12 degrees" }]], { minute: 9 });
  assert.equal(await seen(here, "It has 12 degrees.", again.seqs), id);
  const [memory] = await store.memories.inScope(here, 10);
  assert.deepEqual(
    [memory?.tool, memory?.assertedBy, memory?.proofs, memory?.at.getUTCMinutes()],
    ["web_search", "web_search", 2, 9],
  );
  assert.equal((await store.past.statements(here.channel, [memoryId(id)])).get(id)?.tool, "web_search");
  await remove(here, again.message);
  const [left] = await store.memories.inScope(here, 10);
  assert.deepEqual([left?.proofs, left?.at.getUTCMinutes()], [1, 5]);
});

test("what a tool has seen shows in its channel alone, also where other memories are shared", async () => {
  const workspace = "w-shared";
  const here = await place({ sharesMemory: true, workspace });
  const square = await place({ workspace });
  const dm = await place({ kind: "dm", workspace });
  const { seqs } = await call(here, [[{ text: "12 degrees" }]]);
  const id = await seen(here, "It has 12 degrees.", seqs);
  const said = await open.say(here.channel, "tea is shared", { id: `seen-said-${++count}` });
  await rememberIn(open, here.channel, { statement: "Tea.", sources: [{ seq: said, quote: "tea" }] });
  assert.deepEqual(await told(here), ["It has 12 degrees.", "Tea."]);
  assert.deepEqual(await told(square), ["Tea."]);
  assert.deepEqual(await told(dm), []);
  assert.equal((await store.past.statements(square.channel, [memoryId(id)])).size, 0);
});

test("what a tool has seen is on nobody's page, whatever its subject and its tool are called", async () => {
  const here = await place();
  await open.sql("insert into speakers values ($1, 'ann', 'u-ann', 1) on conflict do nothing", here.channel);
  const { seqs } = await call(here, [[{ text: "Ann has 3 boats", tool: "ann" }]]);
  await seen(here, "Ann has 3 boats.", seqs, { subject: "Ann", tool: "ann", assertedBy: "ann" });
  const query = {
    words: "'boat'",
    pieces: [],
    times: [],
    limit: 10,
    people: { words: ["ann"], asking: "" },
  };
  const { about, hits } = await store.memories.searchWithPeople(here, query);
  assert.equal(hits.length, 1);
  assert.deepEqual(about.memories, []);
});

test("what a tool has seen is no proof of what a person has observed, and no person proves it", async () => {
  const here = await place();
  const statement = "The tower has 3 lights.";
  const { seqs } = await call(here, [[{ text: statement }]]);
  const said = await open.say(here.channel, statement, { id: `seen-said-${++count}` });
  const observed = { type: "observation", subject: "the tower", statement, ...marksOf(statement) } as const;
  const own = await rememberIn(open, here.channel, {
    ...observed,
    sources: [{ seq: said, quote: statement }],
  });
  const other = await seen(here, statement, seqs, observed);
  assert.notEqual(other, own);
  const rows = await open.sql<{ one: number | null }>(
    `insert into memory_vectors select id, '1010' from memories where id = any($1) on conflict do nothing returning
      same_meaning(memory_id, 1) as one`,
    [own, other],
  );
  assert.deepEqual(
    await open.sql("select same_meaning($1, 1) as one, same_meaning($2, 1) as other", own, other),
    [{ one: null, other: null }],
  );
  assert.equal(rows.length, 2);
});

test("what a tool has seen is not given to a summariser to compare, and changes nothing if one says so", async () => {
  const here = await place();
  const said = await open.say(here.channel, "the port is 80", { id: `seen-said-${++count}` });
  const own = await rememberIn(open, here.channel, {
    statement: "The port is 80.",
    sources: [{ seq: said, quote: "port is 80" }],
  });
  const { seqs } = await call(here, [[{ text: "The port is 81." }]]);
  const fresh = await seen(here, "The port is 81.", seqs);
  const unjudged = await store.revisions.unjudged(here.channel);
  assert.deepEqual(
    unjudged?.known.map(({ id }) => id),
    [own],
  );
  for (const change of ["replaces", "repeats", "contradicts"] as const) {
    const both = [
      { fresh: memoryId(fresh), older: memoryId(own), change },
      { fresh: memoryId(own), older: memoryId(fresh), change },
    ];
    assert.equal(await store.revisions.revise(here.channel, memoryId(fresh), both), 0);
  }
  assert.deepEqual(await told(here), ["The port is 80.", "The port is 81."]);
  assert.equal(await store.revisions.unjudged(here.channel), null);
});

test("what a tool has seen alone leaves nothing for a summariser to compare", async () => {
  const here = await place();
  const { seqs } = await call(here, [[{ text: "12 degrees" }]]);
  await seen(here, "It has 12 degrees.", seqs);
  assert.equal(await store.revisions.unjudged(here.channel), null);
});

test("a newer call of the same tool and subject ends what an older one has found, and only that", async () => {
  const here = await place();
  const first = await call(here, [[{ text: "12 degrees, rain" }]], { minute: 1 });
  await seen(here, "It has 12 degrees.", first.seqs);
  await seen(here, "It rains.", first.seqs);
  await seen(here, "Paris has 3 towers.", first.seqs, { subject: "Paris" });
  const other = await call(here, [[{ text: "9 degrees", tool: "station" }]], { minute: 2 });
  await seen(here, "It has 9 degrees.", other.seqs, { tool: "station", assertedBy: "station" });
  const next = await call(here, [[{ text: "14 degrees" }]], { minute: 3 });
  const newest = await seen(here, "It has 14 degrees.", next.seqs);
  assert.deepEqual(await told(here), [
    "It has 12 degrees. until 3",
    "It rains. until 3",
    "Paris has 3 towers.",
    "It has 9 degrees.",
    "It has 14 degrees.",
  ]);
  const ended = await store.memories.ended(here, "'degre'", [memoryId(newest)]);
  assert.deepEqual(
    ended.map(({ by, ended: behind }) => [by.id, behind.map(({ statement }) => statement)]),
    [[newest, ["It rains.", "It has 12 degrees."]]],
  );
  await remove(here, next.message);
  assert.deepEqual(await told(here), [
    "It has 12 degrees.",
    "It rains.",
    "Paris has 3 towers.",
    "It has 9 degrees.",
  ]);
});

test("a newer call of the same tool and subject is one of a later answer: what the calls of one answer have found stands side by side", async () => {
  const here = await place();
  const { seqs } = await call(
    here,
    [[{ text: "12 degrees" }, { text: "wind 4" }], [{ text: "13 degrees" }]],
    {
      minute: 7,
    },
  );
  await seen(here, "It has 12 degrees.", seqs.slice(0, 1));
  await seen(here, "The wind is 4.", seqs.slice(1, 2));
  assert.deepEqual(await told(here), ["It has 12 degrees.", "The wind is 4."]);
  await seen(here, "It has 13 degrees.", seqs.slice(2));
  assert.deepEqual(await told(here), [
    "It has 12 degrees. until 7",
    "The wind is 4. until 7",
    "It has 13 degrees.",
  ]);
});

test("a newer call of the same tool and subject ends what comes later of an older one", async () => {
  const here = await place();
  const [first, next] = [
    await call(here, [[{ text: "12 degrees" }]], { minute: 1 }),
    await call(here, [[{ text: "14 degrees" }]], { minute: 2 }),
  ];
  await seen(here, "It has 14 degrees.", next.seqs);
  await seen(here, "It has 12 degrees.", first.seqs);
  assert.deepEqual(await told(here), ["It has 14 degrees.", "It has 12 degrees. until 2"]);
});

test("a newer call of the same tool and subject ends nothing that a person has said, and no person ends what it has found", async () => {
  const here = await place();
  const { seqs } = await call(here, [[{ text: "The port is 81" }]]);
  const of = { subject: "the port" };
  const say = async (statement: string): Promise<number> => {
    const seq = await open.say(here.channel, statement, { id: `seen-said-${++count}` });
    const draft = { ...of, statement, sources: [{ seq, quote: statement }], ...marksOf(statement) };
    return rememberIn(open, here.channel, draft);
  };
  await say("The port is 80.");
  await seen(here, "The port is 81.", seqs, of);
  assert.deepEqual(await told(here), ["The port is 80.", "The port is 81."]);
  await say("The port is 82.");
  const after = await told(here);
  assert.equal(after.length, 3);
  assert.deepEqual(after.slice(1), ["The port is 81.", "The port is 82."]);
  assert.equal(
    (await store.memories.inScope(here, 10)).some(({ otherwise }) => otherwise !== undefined),
    false,
  );
});

test("a newer call of the same tool and subject whose memory is removed gives back what it had ended, up to what had ended that", async () => {
  const here = await place();
  const calls = [];
  for (const minute of [1, 2, 3])
    calls.push(await call(here, [[{ text: `1${minute} degrees` }]], { minute }));
  const ids = [];
  for (const [index, { seqs }] of calls.entries())
    ids.push(await seen(here, `It has 1${index + 1} degrees.`, seqs));
  await store.people.forgetMemory(here.channel, memoryId(ids[1] ?? 0));
  assert.deepEqual(await told(here), ["It has 11 degrees. until 3", "It has 13 degrees."]);
  await remove(here, calls[2]?.message ?? "");
  assert.deepEqual(await told(here), ["It has 11 degrees."]);
});

test("a newer call of the same tool and subject that has found two things keeps what it had ended so, if one is removed", async () => {
  const here = await place();
  const first = await call(here, [[{ text: "12 degrees" }]], { minute: 1 });
  const next = await call(here, [[{ text: "14 degrees" }, { text: "wind 4" }]], { minute: 2 });
  await seen(here, "It has 12 degrees.", first.seqs);
  const warm = await seen(here, "It has 14 degrees.", next.seqs.slice(0, 1));
  const windy = await seen(here, "The wind is 4.", next.seqs.slice(1));
  await store.people.forgetMemory(here.channel, memoryId(warm));
  assert.deepEqual(await told(here), ["It has 12 degrees. until 2", "The wind is 4."]);
  await store.people.forgetMemory(here.channel, memoryId(windy));
  assert.deepEqual(await told(here), ["It has 12 degrees."]);
});

test("a newer call of the same tool and subject ends what is left of a memory that has lost its newest result", async () => {
  const here = await place();
  const first = await call(here, [[{ text: "12 degrees" }]], { minute: 1 });
  const next = await call(here, [[{ text: "12 degrees" }, { text: "wind 4" }]], { minute: 2 });
  await seen(here, "It has 12 degrees.", [first.seqs[0] ?? 0, next.seqs[0] ?? 0]);
  await seen(here, "The wind is 4.", next.seqs.slice(1));
  await open.sql("select take_proofs($1, $2, null)", here.channel, next.seqs[0]);
  assert.deepEqual(await told(here), ["It has 12 degrees. until 2", "The wind is 4."]);
});

test("it is gone with the message that asked for the call, also where the result has no word of it", async () => {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "12 degrees in the harbour" }]]);
  await seen(here, "The harbour has 12 degrees.", seqs);
  await open.say(here.channel, "and now?", { id: "seen-other" });
  await remove(here, "seen-other");
  assert.equal((await told(here)).length, 1);
  await remove(here, message);
  assert.deepEqual(await told(here), []);
});

test("it is gone but not with a message that stands among those that were answered, and asked for nothing", async () => {
  const here = await place();
  await open.say(here.channel, "nice day", { id: "seen-chatter", addressed: false });
  const { asked, seqs } = await call(here, [[{ text: "12 degrees" }]]);
  await open.sql("update turns set from_seq = $2 where channel_id = $1", here.channel, asked - 1);
  await seen(here, "It has 12 degrees.", seqs);
  await remove(here, "seen-chatter");
  assert.equal((await told(here)).length, 1);
});

test("it is gone with a message that was answered once an edit had asked for that", async () => {
  const here = await place();
  const message = `seen-said-${++count}`;
  await open.say(here.channel, "hello", { id: message, addressed: false });
  const { seqs } = await call(here, [[{ text: "12 degrees" }]], { id: mentionId(message) });
  await seen(here, "It has 12 degrees.", seqs);
  await remove(here, message);
  assert.deepEqual(await told(here), []);
});

test("it is gone with what else its result repeats", async () => {
  const here = await place();
  await open.say(here.channel, "the code is zxqpine", { id: "seen-code", addressed: false });
  const { seqs } = await call(here, [[{ text: "zxqpine is valid until 2027-01-01" }]]);
  await cover(here);
  await seen(here, "It is valid until 2027-01-01.", seqs);
  await remove(here, "seen-code");
  assert.deepEqual(await told(here), []);
  const [entry] = await store.log.read(here.channel, seqs[0] ?? 0, seqs[0] ?? 0);
  assert.equal(entry?.deleted, true);
});

test("it is gone with an edit, where its result repeats what the message said before", async () => {
  const here = await place();
  await open.say(here.channel, "the code is zxqpine", { id: "seen-edited", addressed: false });
  const { seqs } = await call(here, [[{ text: "zxqpine is valid until 2027-01-01" }]]);
  await cover(here);
  await seen(here, "It is valid until 2027-01-01.", seqs);
  const outcome = await store.log.edit(here.channel, "seen-edited", "the code is gone", new Date(), digester);
  assert.equal(outcome.outcome, "replaced", "what quotes the memory is read again");
  assert.deepEqual(await told(here), []);
});

/** A call of a turn that a person has allowed. */
async function allowed({ channel }: Place, turn: number): Promise<number> {
  const [approval] = await open.sql<{ id: number }>(
    `insert into approvals (channel_id, turn_id, call_id, agent, tool, arguments, fingerprint, state, expires_at)
     values ($1, $2, 'c', 'main', 'web_search', '{}', 'f', 'done', now()) returning id`,
    channel,
    turn,
  );
  return approval?.id ?? 0;
}

const MADE: readonly (readonly [what: string, made: (here: Place, turn: number) => Promise<string>])[] = [
  ["an allowed call", async (here, turn) => `approval/${await allowed(here, turn)}`],
  ["a hand-off", async (_, turn) => `handoff/${turn}/1`],
  [
    "a subagent's report",
    async ({ channel, epoch }, turn) => {
      await open.sql(
        `insert into subagents (channel_id, number, turn_id, epoch, agent, call_id, read_to, task, tools)
         values ($1, 7, $2, $3, 'main', 'c', 1, 'look', '{}')`,
        channel,
        turn,
        epoch,
      );
      return "subagent/7";
    },
  ],
  [
    "a reminder",
    async ({ channel }, turn) => {
      const [reminder] = await open.sql<{ id: number }>(
        `insert into reminders (channel_id, time_zone, text, next_at, asked_seq, turn_id)
         values ($1, 'UTC', 'look', now(), 1, $2) returning id`,
        channel,
        turn,
      );
      return `reminder/${reminder?.id}/1`;
    },
  ],
];
for (const [what, made] of MADE)
  test(`it is gone with a message whose turn has made ${what} that a later turn answered with a call`, async () => {
    const here = await place();
    await open.say(here.channel, "nice day", { id: `seen-said-${++count}` });
    const { message, turn } = await call(here, []);
    const between = await call(here, [], { id: await made(here, turn) });
    const { seqs } = await call(here, [[{ text: "12 degrees" }]], { id: `handoff/${between.turn}/1` });
    await seen(here, "It has 12 degrees.", seqs);
    const other = await call(here, []);
    await remove(here, other.message);
    assert.equal((await told(here)).length, 1);
    await remove(here, message);
    assert.deepEqual(await told(here), []);
  });

test("it is gone with the SQL function that deletes a message, which daemons of the version before call as well", async () => {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "12 degrees" }]]);
  await seen(here, "It has 12 degrees.", seqs);
  await open.sql("select delete_message($1, $2)", here.channel, message);
  assert.deepEqual(await told(here), []);
});

test("it is gone and counted", async () => {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "12 degrees" }]]);
  const other = await call(here, [[{ text: "14 degrees" }]]);
  await seen(here, "It has 12 degrees.", seqs);
  await seen(here, "It has 14 degrees.", other.seqs, { subject: "the town" });
  assert.equal((await store.people.blank(here.channel, [message], digester)).memories, 1);
});

test("it is gone with a message that had asked for a call which a person has allowed since", async () => {
  const here = await place();
  const { message, turn } = await call(here, []);
  const later = await call(here, [[{ text: "12 degrees", id: `approval_${await allowed(here, turn)}` }]]);
  await seen(here, "It has 12 degrees.", later.seqs);
  await remove(here, message);
  assert.deepEqual(await told(here), []);
});

test("it is gone with all that a person has said, and not when somebody else goes", async () => {
  const here = await place();
  const person = `u-asks-${++count}`;
  const { seqs } = await call(here, [[{ text: "12 degrees" }]], { by: person });
  await seen(here, "It has 12 degrees.", seqs);
  await open.say(here.channel, "hello", { id: "seen-ben", author: authorOf(BEN) });
  const counted = async (of: string): Promise<number[]> => [
    (await store.people.countSaid(here.channel, of)).memories,
    (await store.people.borne("test", of)).memories,
  ];
  assert.deepEqual(await counted(authorOf(BEN).id), [0, 0]);
  assert.deepEqual(await counted(person), [1, 1]);
  const of = async (one: string): Promise<void> => {
    const ids = await store.people.messagesIn(here.channel, one, 100);
    await store.people.blank(here.channel, ids, digester);
  };
  await of(authorOf(BEN).id);
  assert.equal((await told(here)).length, 1);
  await of(person);
  assert.deepEqual(await told(here), []);
});

test("it is gone with its message when the result's text has expired", async () => {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "12 degrees" }]]);
  await open.sql("update channels set settled_to = last_seq where id = $1", here.channel);
  await cover(here);
  await seen(here, "It has 12 degrees.", seqs);
  await open.sql(
    "update entries set text = '', expired_at = now() where channel_id = $1 and kind <> 'notice' and seq = any($2)",
    here.channel,
    seqs,
  );
  assert.equal((await told(here)).length, 1, "memories stay as long as people's do");
  await remove(here, message);
  assert.deepEqual(await told(here), []);
});

test("it is gone where its result is blanked as it leaves the view", async () => {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "12 degrees" }]], { asks: "how is the harbour?" });
  await seen(here, "It has 12 degrees.", seqs);
  await store.log.edit(here.channel, message, "how is the town?", new Date(), digester);
  await cover(here);
  assert.deepEqual(await told(here), []);
});

/** What a summariser saves of a result that says this. */
function drafted(entries: readonly Entry[], result: number): readonly MemoryDraft[] {
  const proposed = {
    type: "fact",
    subject: "the harbour",
    statement: "The harbour has 12 degrees.",
    quote: "harbour has 12 degrees",
    sources: [result],
  };
  const { kept, dropped } = checkMemories(
    { memories: [proposed] },
    {
      sources: new Map(entries.map((entry) => [entry.seq, entry])),
      promptText: "",
      agentName: "Weir",
      dayOf: (at) => at.toISOString().slice(0, 10),
      beside: [],
    },
  );
  assert.deepEqual(dropped, []);
  return kept;
}

async function staged() {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "The harbour has 12 degrees." }]]);
  const [last = 0] = seqs;
  const job = await stage(here, last, drafted(await store.log.readCurrent(here.channel, 1, last), last));
  return { here, message, last, job };
}

/** How many memories each job of a channel has added. */
async function memoriesOf({ channel }: Place): Promise<(number | null)[]> {
  const jobs = await open.sql<{ memories: number | null }>(
    "select memories from jobs where channel_id = $1 order by id",
    channel,
  );
  return jobs.map(({ memories }) => memories);
}

test("a job that has read results commits what they prove", async () => {
  const { here, job } = await staged();
  assert.equal(await store.jobs.commit(job), "committed");
  assert.deepEqual(await told(here), ["The harbour has 12 degrees."]);
  const [row] = await open.sql<{ judged: boolean; readTo: number }>(
    "select judged, read_to from memories where channel_id = $1",
    here.channel,
  );
  assert.equal(row?.judged, true);
  assert.ok((row?.readTo ?? 0) > 0);
});

test("a job that has read results is void once the message that asked for the call is deleted", async () => {
  const { here, message, job } = await staged();
  await remove(here, message);
  assert.notEqual(await store.jobs.commit(job), "committed");
  assert.deepEqual(await told(here), []);
});

test("a job that has read results after the message that asked for the call was deleted keeps nothing of them", async () => {
  const here = await place();
  const { message, seqs } = await call(here, [[{ text: "The harbour has 12 degrees." }]]);
  await remove(here, message);
  const drafts = drafted(await store.log.readCurrent(here.channel, 1, seqs[0] ?? 0), seqs[0] ?? 0);
  const job = await stage(here, seqs[0] ?? 0, drafts);
  assert.equal(await store.jobs.commit(job), "committed");
  assert.deepEqual(await told(here), []);
  assert.equal((await memoriesOf(here)).at(-1), 0, "the job counts what it has added");
});

test("a job that has read results again, since the one before it was void for the deletion, keeps nothing of them", async () => {
  const { here, message, last, job } = await staged();
  await remove(here, message);
  assert.notEqual(await store.jobs.commit(job), "committed");
  const drafts = drafted(await store.log.readCurrent(here.channel, 1, last), last);
  assert.equal(await store.jobs.commit(await stage(here, last, drafts)), "committed");
  assert.deepEqual(await told(here), []);
});

test("a job that has read results of two questions keeps what the other one was answered with", async () => {
  const here = await place();
  const first = await call(here, [[{ text: "The harbour has 12 degrees." }]], { minute: 1 });
  const next = await call(here, [[{ text: "The harbour has 12 degrees." }]], { minute: 2 });
  await remove(here, next.message);
  const seqs = [...first.seqs, ...next.seqs];
  await seen(here, "The harbour has 12 degrees.", seqs);
  const [memory] = await store.memories.inScope(here, 10);
  assert.deepEqual([memory?.proofs, memory?.at.getUTCMinutes()], [1, 1]);
});

test("a job that has read results commits nothing of a result that was deleted meanwhile", async () => {
  const { here, last, job } = await staged();
  await open.sql(
    "update entries set text = '', deleted_at = now() where channel_id = $1 and seq = $2",
    here.channel,
    last,
  );
  assert.equal(await store.jobs.commit(job), "committed");
  assert.deepEqual([await told(here), await memoriesOf(here)], [[], [0]]);
});

/** Forgets the memory of a channel after an export. @returns imports it again */
async function exported(here: Place, written: PortableMemory): Promise<() => Promise<unknown>> {
  await store.people.forgetMemory(here.channel, written.id);
  const { id: _, proofs: __, at, sources, ...rest } = written;
  const line: MemoryLine = {
    ...rest,
    channel: `test:${here.name}`,
    at: at.toISOString(),
    until: undefined,
    imported: undefined,
    sources: sources.map((source) => ({ ...source, at: source.at.toISOString() })),
    exportedAt: new Date().toISOString(),
  };
  return async () =>
    store.transfer.take(
      { id: here.channel },
      sources.map((source) => ({ ...source, tool: "web_search" })),
      { scope: "workspace", until: null },
      (messages, erasedAt, calls) =>
        checkMemoryLine(line, messages, { agentName: "Weir", erasedAt, left: null, now: new Date(), calls }),
    );
}

test("a memory of a tool is written to a file, and comes back while its result is there", async () => {
  const here = await place({ sharesMemory: true });
  const { message, seqs } = await call(here, [[{ text: "wind 4" }, { text: "The harbour has 12 degrees." }]]);
  const statement = "The harbour has 12 degrees.";
  await seen(here, statement, seqs.slice(1));
  const [written] = await store.transfer.page(0, 10, here.channel);
  assert.ok(written?.tool === "web_search");
  assert.deepEqual(
    written.sources.map(({ message: of, author, name, quote }) => ({ of, author, name, quote })),
    [{ of: null, author: null, name: "web_search", quote: statement }],
  );
  const back = await exported(here, written);
  await back();
  const [memory] = await store.memories.inScope(here, 10);
  assert.deepEqual([memory?.statement, memory?.tool, memory?.scope], [statement, "web_search", "channel"]);
  await remove(here, message);
  assert.deepEqual(await told(here), []);
  const [result] = await store.log.read(here.channel, seqs[1] ?? 0, seqs[1] ?? 0);
  assert.ok(result?.text !== "", "the result has no word of the message");
  assert.deepEqual(await back(), {
    refused: "a message that proves it is not in the log, or was taken back",
  });
});

test("a memory of a tool comes back from no file if its call had these words", async () => {
  const here = await place();
  const statement = "The harbour has 12 degrees.";
  const { seqs } = await call(here, [
    [{ text: statement, arguments: JSON.stringify({ query: statement }) }, { text: "wind 4" }],
  ]);
  await seen(here, statement, seqs.slice(0, 1));
  const [written] = await store.transfer.page(0, 10, here.channel);
  assert.ok(written !== undefined);
  const back = await exported(here, written);
  assert.deepEqual(await back(), { refused: "it does not pass the checks (quote)" });
});
