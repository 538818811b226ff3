// proves: migrations/baseline/16_approvals.sql, src/store/deletion/deletions.ts, src/store/deletion/carriers/memories.ts, migrations/baseline/13_wishes.sql, src/store/deletion/deletion-engine.ts, src/store/deletion/carriers/carriers.ts, src/features/notes/note-sweeper.ts, src/features/subagents/carrier.ts, migrations/baseline/15_subagents.sql, src/store/deletion/carriers/due-work.ts, migrations/baseline/17_reminders.sql, migrations/baseline/01_channels.sql, migrations/baseline/03_log.sql, migrations/baseline/09_memory.sql, src/store/log/message-rows.ts
// What was deleted, edited away or forgotten is told by nothing: no command, tool, inspector, row, statistic or file. What was said in
// private shows in no other channel.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { DueWorkDesk } from "../../../src/channel/due-work.ts";
import { agentId, type ChannelId } from "../../../src/core/ids.ts";
import type { Author } from "../../../src/core/message.ts";
import type { Asker } from "../../../src/platforms/platform.ts";
import { foldBehind, rememberIn } from "../../store/remember.ts";
import { SpokenChannel, type Wanted, type When } from "../../store/spoken.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { carriersWith, WORDY_CARRIERS } from "../../store/carriers-with.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { openStore } from "../../store/open-store.ts";
import { openTogether, told as answersTo } from "../../support/together.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import {
  ask,
  checkFold,
  compaction,
  hold,
  openScene,
  quiet,
  reading,
  type Scene,
  script,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { inspect } from "../../support/inspectors.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import type { Behaviour, ChatRequest } from "../../support/model-server.ts";
import { Patience, until } from "../../support/patience.ts";
import { isSubagents, results } from "../../support/subagents.ts";
import { textsBelow } from "../../support/texts-below.ts";
import { signsOf } from "../../../src/memory/meaning.ts";
import { connectionUrl, type TestWeir } from "../../support/weir.ts";
import { wordVectors } from "../../support/word-vectors.ts";

/** Two words that nobody but Ann says, and only in one message. */
const SECRETS = ["zxqpine", "774411"] as const;
const SECRET = `The code of the safe is ${SECRETS.join(" ")}.`;
const ASKED = "please remember that for me";
const SUMMARY = "Ann and Ben measure the river each morning; the readings are in the green book.";
const CONFIG = '[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n';

/** Recall by meaning, too. */
const EMBEDDINGS = '[llm.embeddings]\nmodel = "words"';
/** A call waits for an approval, with its arguments. */
const APPROVALS = '[defaults.approvals]\ntools = { memory_recall = "always" }';
/** A vector tells of its text: those of the message, and of what is remembered of it. */
const VECTORS = wordVectors([`Ann: ${SECRET}`, `the safe: ${SECRET}`]).map(signsOf);

/** Carriers that need not hold words when the world is ready: jobs have ended, and contexts and quotes have their own tests. */
const NOT_PLANTED = new Set(["context records", "jobs", "quotes"]);

/** A memory of the safe, but for its statement and its sources. */
const MEMORY = {
  type: "fact",
  subject: "the safe",
  assertedBy: "Ann",
  importance: 0.5,
  at: "2026-11-21T09:00:00Z",
} as const;

interface World {
  readonly scene: Scene;
  readonly weir: TestWeir;
  readonly folder: string;
  readonly ids: { readonly general: ChannelId; readonly thread: ChannelId };
}

function holdsSecret(value: unknown): boolean {
  const told = JSON.stringify(value).toLowerCase();
  return SECRETS.some((secret) => told.includes(secret));
}

/** Saves what the transcript tells, and cites a line that does not; and a wish, which has the words of its line. */
function saving({ messages, tools }: ChatRequest): ReturnType<typeof toolCalls> | null {
  const transcript = messages.map((one) => one.content).join("\n");
  const asked = /(\d+)\. \[[^\]]*\] (?:(?:Ann|Ben): )?please remember that/.exec(transcript);
  if (asked?.[1] === undefined || tools === undefined || messages.some(({ role }) => role === "tool"))
    return null;
  const memory = {
    type: "fact",
    subject: "the safe",
    statement: SECRET,
    quote: ASKED,
    sources: [Number(asked[1])],
  };
  const wish = {
    wish: `Answer in the tone of ${SECRETS[0]}.`,
    topic: "tone",
    for: "channel",
    quote: SECRETS.join(" "),
    sources: [Number(asked[1]) - 1],
  };
  return toolCalls([{ name: "memory_save", arguments: { memories: [memory], wishes: [wish] } }]);
}

/**
 * A channel in which Ann says the secret and Ben wants it remembered, a thread that begins with it, a turn that searches for
 * it by its words, and a compaction that summarises and remembers it.
 */
async function plant(scene: Scene, weir: TestWeir, ids: World["ids"]): Promise<void> {
  const { server, open } = scene;
  script(
    server,
    (request) => saving(request) ?? text(holdsSecret(request.messages) ? `${SUMMARY} ${SECRET}` : SUMMARY),
    (request) => {
      const { messages } = request;
      if (isSubagents(request)) return lookingFor(request);
      return messages.at(-1)?.role !== "tool" && holdsSecret(messages)
        ? toolCalls([
            { name: "search_history", arguments: { query: SECRETS.join(" ") } },
            { name: "memory_write", arguments: { text: SECRET } },
            { name: "note", arguments: { text: `asked for ${SECRETS[0]}` } },
            { name: "spawn_agent", arguments: { task: SECRET, context: "brief" } },
            { name: "memory_recall", arguments: { query: SECRET } },
            { name: "remind", arguments: { in: "3 days", text: `ask for ${SECRETS[0]}` } },
            {
              name: "ask",
              arguments: { question: `is it ${SECRETS[0]}?`, choices: [SECRETS[0], "no"] },
            },
            { name: "remind", arguments: { at: SECRETS[0], text: "the result of this says what was wrong" } },
          ])
        : text("noted", { usage: "none" });
    },
  );
  await ask(weir, server, "general", "what is the code?");
  await plantDueWork(weir, ids);
  await ask(weir, server, "thread", "what is the code here?");
  const calls = await open.sql("select data from entries where kind = 'tool_call' order by channel_id");
  assert.ok(calls.length >= 2 && calls.every(holdsSecret), "the calls hold the secret");
  assert.equal((await compaction(weir, "general", "committed")).memories, 1);
  await quiet(weir, "general");
  assert.equal((await open.sql("select from memories where channel_id = $1", ids.general)).length, 1);
  while ((await open.sql("select from subagents where steps <> '[]' and brief is not null")).length < 2)
    await delay(5);
  // One call is allowed from now on, and has run; one waits.
  const [first] = await open.sql<{ id: number }>(
    "select id from approvals where channel_id = $1 and kind = 'approval'",
    ids.general,
  );
  assert.match(await command(weir, "general", `approve ${first?.id} always`, OWNER), /^Allowed: #/);
  while ((await open.sql("select from approvals where state = 'done'")).length === 0) await delay(10);
  await quiet(weir, "general");
  await plantReading(scene, weir);
}

/** A result that has read the secret under its summary. */
async function plantReading({ server }: Scene, weir: TestWeir): Promise<void> {
  const reads = toolCalls([{ name: "read_messages", arguments: { from: 1, to: 9 } }]);
  const isRead = ({ messages }: ChatRequest): boolean => messages.at(-1)?.role === "tool";
  script(
    server,
    () => text(SUMMARY),
    (request) => (isRead(request) ? text("noted", { usage: "none" }) : reads),
  );
  await ask(weir, server, "general", "read it again");
  const result = server.requests.findLast(({ body }) => isRead(body))?.body.messages.at(-1)?.content;
  assert.ok((result ?? "").includes(SECRET), "the result has the secret");
  await quiet(weir, "general");
}

/** A subagent that has searched for the secret, and goes on for ever. */
function lookingFor(request: ChatRequest): Behaviour {
  return results(request).length === 0
    ? toolCalls([{ name: "search_history", arguments: { query: SECRETS.join(" ") } }])
    : () => undefined;
}

/** Work of Weir's own of each kind, as what is made of a turn that has read the secret. */
async function plantDueWork({ daemon, events }: TestWeir, ids: World["ids"]): Promise<void> {
  const desk = new DueWorkDesk(daemon.store, daemon.waker);
  for (const channel of [ids.general, ids.thread])
    for (const kind of ["reminder", "subagent", "handoff", "approval"]) {
      const work = { title: `${kind} of Ann`, text: `tell ${SECRETS[0]}`, at: new Date() };
      const before = delivered(events);
      await desk.add(channel, { ...work, id: `${kind}/${900_000 + channel}/1` });
      while (delivered(events) === before) await delay(5);
    }
}

function delivered(events: TestWeir["events"]): number {
  return events.filter(({ type }) => type === "reply_delivered").length;
}

async function openWorld(use: (world: World) => Promise<void>, asks: Asker = BEN): Promise<void> {
  await using scene = await openScene();
  const { open } = scene;
  const at = { platform: "test", workspace: "w" };
  const parent = { id: "general", name: "general" };
  const of = async (name: string, kind: "channel" | "thread"): Promise<ChannelId> =>
    open.store.channels.open({
      address: { platform: at.platform, name },
      kind,
      workspace: at.workspace,
      agent: agentId("main"),
      place: { workspace: "w", channel: name, parent: kind === "thread" ? parent : null },
    });
  const ids = { general: await of("general", "channel"), thread: await of("thread", "thread") };
  const ben = { addressed: false, author: authorOf(BEN) };
  const words = (number: number): string => (number === 5 ? SECRET : number === 6 ? ASKED : reading(number));
  const author = (number: number): Author => authorOf(number === 5 ? ANN : number === 6 ? asks : BEN);
  await fillTo(scene, "general", BACKGROUND, {}, words, author);
  await open.say(ids.thread, SECRET, { addressed: false, author: authorOf(ANN), id: "general-5" });
  await open.say(ids.thread, "a thread about the safe", { ...ben, id: "thread-1" });
  const folder = await mkdtemp(path.join(tmpdir(), "weir-leaks-"));
  try {
    await writeFile(path.join(folder, "config.toml"), CONFIG);
    const agentsDir = path.join(folder, "agents");
    await mkdir(path.join(agentsDir, "main"), { recursive: true });
    const top = `${EMBEDDINGS}\n${APPROVALS}\n[database]\ndata_dir = ${JSON.stringify(path.join(folder, "data"))}`;
    scene.server.embed = ({ input }) => wordVectors(input);
    const subagents = "[agents.subagents]\nenabled = true\nwait_ms = 0";
    await using weir = await scene.start({ agentsDir, top, compaction: subagents });
    await plant(scene, weir, ids);
    assert.equal((await textsBelow(folder)).filter(holdsSecret).length, 4, "two files of notes a channel");
    await scene.server.received(1);
    await untilIndexed(scene);
    while ((await vectorsTell(scene)).length < 2) await delay(20);
    await open.sql("analyze");
    const planted = new Set(await carriersWith(open, SECRETS[0]));
    const missing = WORDY_CARRIERS.filter((name) => !planted.has(name) && !NOT_PLANTED.has(name));
    assert.deepEqual(missing, [], "each carrier holds the secret");
    script(scene.server, () => text(SUMMARY));
    await use({ scene, weir, folder, ids });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The tables that hold a vector of the secret. */
async function vectorsTell({ open }: Scene): Promise<unknown[]> {
  return open.sql(
    `select 'memory_vectors' as place from memory_vectors where bits::text = any($1)
     union select 'entry_vectors' from entry_vectors where bits::text = any($1)`,
    VECTORS,
  );
}

async function untilIndexed({ open }: Scene): Promise<void> {
  while ((await open.store.search.behind()).length > 0) await delay(20);
}

const ROOMS = ["general", "thread"] as const;
const OWNER: Asker = { id: "u-own", name: "Olga", roles: [] };

const ASKED_BY_ALL = [
  "memory",
  "memory what opens the safe?",
  "memory me",
  "learned",
  "reminders",
  "why",
  "status",
  "context",
  "context list",
  "forget",
  "approvals",
  "approvals 1",
  "approvals 2",
  "help",
];
const SEGMENTS = ["system", "tools", "summaries", "history", "dynamic", "due", "own"];

/** Everything that people can ask, in each room. */
async function commandsTell(weir: TestWeir, rooms: readonly string[]): Promise<string[]> {
  const told: string[] = [];
  for (const room of rooms) {
    for (const asker of [ANN, BEN, OWNER]) {
      for (const typed of ASKED_BY_ALL) told.push(await command(weir, room, typed, asker));
      const list = await command(weir, room, "context list", asker);
      const listed = [...list.matchAll(/^\s*(\S+)/gm)].map(([, key = ""]) => key);
      for (const key of new Set([...listed, ...SEGMENTS]))
        told.push(await command(weir, room, `context detail ${key}`, asker));
    }
  }
  return told;
}

/** What the tools bring, and all else that a model is shown from now on. */
async function modelsTold({ scene: { server }, weir }: World, rooms: readonly string[]): Promise<unknown[]> {
  const before = server.requests.length;
  let asked = 0;
  script(
    server,
    () => text(SUMMARY),
    ({ messages }) =>
      messages.at(-1)?.role === "tool" || asked++ >= rooms.length
        ? text("noted", { usage: "none" })
        : toolCalls([
            ...["search_history", "memory_recall"].map((name) => ({
              name,
              arguments: { query: "the code of the safe" },
            })),
            { name: "search_history", arguments: { person: "Ann", context: 3 } },
            { name: "read_messages", arguments: { from: 1, to: 40 } },
          ]),
  );
  for (const room of rooms) await ask(weir, server, room, "and how does one open it?");
  for (const room of rooms) await quiet(weir, room);
  assert.ok(server.requests.length >= before + 2 * rooms.length);
  return server.requests.slice(before).map(({ body }) => body);
}

/** What the programs beside the daemon print. */
async function inspectorsTell({ scene, folder }: World): Promise<string[]> {
  const env = { DATABASE_URL: connectionUrl(scene.connection), OPENAI_BASE_URL: scene.server.url };
  const asked = [
    ["memories", "--json"],
    ...ROOMS.flatMap((room) =>
      ["log", "context", "compactions"].map((name) => [name, `test:${room}`, "--json"]),
    ),
    ...ROOMS.map((room) => ["context", `test:${room}`, "--turn", "last", "--text", "--json"]),
  ];
  const { stdout, stderr } = await inspect(folder, env, asked);
  assert.match(stdout, /"segments"/);
  return [stdout, stderr];
}

/** Columns whose statistics hold one of the secrets. */
async function statisticsTell({ scene: { open } }: World): Promise<unknown[]> {
  const rows = await open.sql(
    "select tablename, attname, to_jsonb(s)::text as told from pg_stats s where schemaname = 'public'",
  );
  return rows
    .filter(({ told }) => holdsSecret(told))
    .map(({ tablename, attname }) => `${String(tablename)}.${String(attname)}`);
}

/** Waits until the agents of subagents that were ended know of it, and have said so. */
async function untilTold({ scene: { open }, weir }: World): Promise<void> {
  const left = `select from channels c where exists (select from subagents s where s.channel_id = c.id and s.closed_at is null)
      or exists (select from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to)`;
  while ((await open.sql(left)).length > 0) await delay(5);
  await weir.daemon.registry.compactionsIdle();
}

/** Waits until lines that are to go have left the files of notes. */
async function untilSwept({ folder }: World): Promise<void> {
  for (const patience = new Patience(); patience.whyOver() === null; await delay(50))
    if (!(await textsBelow(folder)).some(holdsSecret)) return;
}

/** Fails where anything tells the secret. */
async function checkGone(world: World, rooms: readonly string[] = ROOMS): Promise<void> {
  const { scene, weir, folder } = world;
  await untilTold(world);
  for (const secret of SECRETS)
    assert.deepEqual(await rowsWith(scene.open, secret), [], `rows with ${secret}`);
  assert.deepEqual(await vectorsTell(scene), [], "vectors");
  const told = {
    commands: await commandsTell(weir, rooms),
    inspectors: await inspectorsTell(world),
    // Before the files are without it, too: what is shown is looked up in the log.
    models: await modelsTold(world, rooms),
    files: await untilSwept(world).then(async () => textsBelow(folder)),
  };
  for (const [who, texts] of Object.entries(told)) {
    for (const one of texts) assert.ok(!holdsSecret(one), `${who}: ${JSON.stringify(one).slice(0, 2000)}`);
  }
  for (const secret of SECRETS)
    assert.deepEqual(await rowsWith(scene.open, secret), [], `rows with ${secret}, later`);
  assert.deepEqual(await vectorsTell(scene), [], "vectors, later");
  const latest = performance.now() + 60_000;
  while ((await statisticsTell(world)).length > 0 && performance.now() < latest) await delay(50);
  assert.deepEqual(await statisticsTell(world), [], "statistics");
  for (const room of rooms) await checkFold(weir, room);
}

/** The message of {@link askWithSecret}. */
const ASKED_ID = "general-asked";

test("a deletion takes a secret from everything that tells of it, and from the contexts that are kept", async () => {
  await openWorld(async (world) => {
    await askWithSecret(world);
    for (const id of ["general-5", ASKED_ID])
      await world.weir.daemon.inbox.receive({ type: "deletion", platform: "test", id, at: new Date() });
    assert.deepEqual(await world.scene.open.sql("select statement from memories"), []);
    await checkGone(world);
  });
});

test("an edit takes a secret from the contexts that are kept at once, and from all else once its summary is written again", async () => {
  await openWorld(async (world) => {
    const { weir, scene } = world;
    await askWithSecret(world);
    // Contexts of turns that have read the first one alone go with that.
    for (const id of ["general-5", ASKED_ID]) {
      const edit = { type: "edit", platform: "test", id, text: "Never mind." } as const;
      await weir.daemon.inbox.receive({ ...edit, at: new Date() });
    }
    assert.ok(!(await rowsWith(scene.open, SECRETS[0])).includes("context_records"));
    assert.deepEqual(await scene.open.sql("select statement from memories"), [], "at once");
    assert.ok(!holdsSecret(await command(weir, "general", "memory")));
    // The view goes on showing what its model has read, with a note of the edit, until a summary covers it.
    await untilTold(world);
    for (const room of ROOMS) await coverAll(world, room);
    await checkGone(world);
  });
});

/** Goes on in a room until all that was said before is covered. */
async function coverAll({ scene, weir }: World, room: string): Promise<void> {
  script(scene.server, () => text(SUMMARY));
  const find = async () => weir.daemon.store.channels.find({ platform: "test", name: room });
  const last = (await find())?.lastSeq ?? 0;
  for (let number = 100; ((await find())?.coveredTo ?? 0) < last; number++) {
    await ask(weir, scene.server, room, reading(number));
    await quiet(weir, room);
  }
}

test("/forget NUMBER takes a secret from everything that tells of it, by whoever said it", async () => {
  await openWorld(async (world) => {
    const { weir, scene } = world;
    const [memory] = await scene.open.sql<{ id: number }>("select id from memories");
    assert.match(await command(weir, "general", `forget ${memory?.id}`), /^Forgotten: #/);
    await checkGone(world);
  }, ANN);
});

test("/forget NUMBER in a DM takes a secret, and neither takes nor tells what somebody else says of the same", async () => {
  await openWorld(async (world) => {
    const { weir, scene, ids } = world;
    const { open } = scene;
    const dm = { address: { platform: "test", name: "dm" }, kind: "dm", workspace: "w" } as const;
    await open.store.channels.open({ ...dm, agent: agentId("main") });
    const bens = "The safe opens with a number.";
    const seq = await open.say(ids.general, bens, { addressed: false, author: authorOf(BEN), id: "bens" });
    const told = { statement: bens, subject: "the safe", assertedBy: "Ben", sources: [{ seq, quote: bens }] };
    const folded = await rememberIn(open, ids.general, told);
    const [memory] = await open.sql<{ id: number }>("select id from memories where id <> $1", folded);
    assert.ok(memory !== undefined);
    await foldBehind(open, memory.id, folded);
    const answers = [
      await command(weir, "dm", "memory me"),
      await command(weir, "dm", `forget ${memory.id}`),
      await command(weir, "dm", `forget ${folded}`),
    ];
    assert.match(answers[0] ?? "", new RegExp(`^- #${memory.id} in `, "m"));
    assert.match(answers[1] ?? "", /^Forgotten: #/);
    for (const answer of answers)
      assert.doesNotMatch(answer, /of others|Ben|proof|the same|opens with/, answer);
    assert.deepEqual(await open.sql("select statement from memories"), [{ statement: bens }]);
    await checkGone(world);
    assert.match(await command(weir, "general", "memory", BEN), new RegExp(`^- #${folded} `, "m"));
  }, ANN);
});

test("/forget me takes a secret from everything that tells of it, and from the contexts that are kept", async () => {
  await openWorld(async (world) => {
    await askWithSecret(world);
    assert.match(
      await command(world.weir, "general", "forget me yes"),
      /^Forgotten: \d messages of yours .* and 1 memory\b/,
    );
    await checkGone(world);
  });
});

test("/forget QUERY takes a secret from everything that tells of it, by whoever said it", async () => {
  await openWorld(async (world) => {
    assert.match(await command(world.weir, "general", "forget the code of the safe"), /^Forgotten: #/);
    await checkGone(world);
  }, ANN);
});

test("/forget me everywhere takes a secret from everything that tells of it, whichever place it is said in", async () => {
  await openWorld(async (world) => {
    await world.weir.say("hello", { room: "elsewhere", addressed: false });
    assert.match(
      await command(world.weir, "elsewhere", "forget me everywhere yes"),
      /^Forgotten: \d messages of yours in 3 places, and 1 memory\b/,
    );
    await checkGone(world);
  });
});

test("the deletion of a channel takes its secrets, and its threads'", async () => {
  await openWorld(async (world) => {
    const { weir } = world;
    const channel = { platform: "test", name: "general" };
    await weir.daemon.inbox.receive({
      type: "channel_deletion",
      platform: "test",
      channel,
      id: "general",
      at: new Date(),
    });
    await untilErased(world);
    await checkGone(world, []);
  });
});

test("the deletion of a thread takes what was said in it, and leaves its root in the channel", async () => {
  await openWorld(async (world) => {
    const { weir, scene, ids } = world;
    const channel = { platform: "test", name: "thread" };
    await weir.daemon.inbox.receive({
      type: "channel_deletion",
      platform: "test",
      channel,
      id: "thread",
      at: new Date(),
    });
    await untilErased(world);
    const left = await scene.open.sql("select channel_id, kind, text, data from entries");
    const telling = left.filter((row) => holdsSecret(row));
    assert.ok(telling.length > 0 && telling.every((row) => row["channelId"] === ids.general));
    assert.equal((await scene.open.sql("select from memories")).length, 1);
  });
});

/** Somebody says the secret to the agent, and the context of the turn that answers is kept. */
async function askWithSecret({ scene, weir }: World): Promise<void> {
  script(scene.server, () => text(SUMMARY));
  await weir.say(SECRET, { room: "general", id: ASKED_ID, author: authorOf(ANN) });
  // Records of other turns, which do not hold it, may come before.
  await until("kept context with the secret", async () =>
    (await rowsWith(scene.open, SECRETS[0])).includes("context_records"),
  );
}

test("a turn that a deletion came into leaves no context that tells of it", async () => {
  await openWorld(async ({ scene, weir }) => {
    const { open, server } = scene;
    const held = hold();
    script(
      server,
      () => text(SUMMARY),
      () => held.behaviour,
    );
    const asked = server.requests.length;
    await weir.say(SECRET, { room: "general", id: "general-late", author: authorOf(ANN) });
    while (server.requests.length === asked) await delay(5);
    await weir.say("and is it deep?", { room: "general", id: "general-more", author: authorOf(BEN) });
    for (const id of ["general-5", "general-late"])
      await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id, at: new Date() });
    held.release(text("noted", { usage: "none" }));
    await weir.event("turn_settled", () =>
      weir.events.some((event) => event.type === "turn_settled" && event.inReplyTo.includes("general-more")),
    );
    await quiet(weir, "general");
    for (const secret of SECRETS) assert.deepEqual(await rowsWith(open, secret), []);
  });
});

test("what an agent handed over goes with what it retells: by a deletion, by an edit, and while it is being answered", async () => {
  for (const change of [
    "deletion",
    "edit",
    "deletion while it is answered",
    "deletion before it is handed over",
  ]) {
    await using scene = await openTogether();
    await using open = openStore(scene.connection);
    await using weir = await scene.start();
    const held = hold();
    const isEarly = change.endsWith("handed over");
    const handing = toolCalls([
      { name: "hand_off", arguments: { agent: "res", message: `Ann says: ${SECRET}` } },
    ]);
    let main = 0;
    scene.script({
      main: () => (main++ === 0 ? (isEarly ? held.behaviour : handing) : text("What is it about?")),
      researcher: () => (change.endsWith("answered") ? held.behaviour : text("It is safe.")),
    });
    await weir.say(SECRET, { id: "asked", author: authorOf(ANN) });
    const answers = (): string[] => weir.platform.texts();
    if (isEarly) await scene.server.received(1);
    else if (change.endsWith("answered")) await scene.server.received(2);
    else await weir.platform.until(() => answers().length === 1);
    if (!isEarly) assert.ok((await rowsWith(open, SECRETS[0])).includes("entries"));
    const at = { platform: "test", id: "asked", at: new Date() };
    await weir.daemon.inbox.receive(
      change === "edit" ? { type: "edit", text: "Never mind.", ...at } : { type: "deletion", ...at },
    );
    held.release(isEarly ? handing : text("It is safe."));
    assert.deepEqual(await answersTo(weir, "and the lake?"), ["What is it about?"]);
    const later = JSON.stringify(scene.requests("main").at(-1)?.messages).toLowerCase();
    if (change !== "edit")
      for (const secret of SECRETS) assert.ok(!later.includes(secret), `${change}: ${later}`);
    // The view keeps an edited-away text that a model has read until a summary covers it; what was handed over is gone at once.
    const [handed] = await open.sql<{ text: string }>("select text from entries where data ? 'chain'");
    assert.ok(!holdsSecret(handed?.text ?? ""), change);
    if (change !== "edit")
      for (const secret of SECRETS) assert.deepEqual(await rowsWith(open, secret), [], change);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: "room" });
    assert.ok(row);
    await checkFold(weir, "room");
  }
});

async function untilErased({ scene: { open } }: World): Promise<void> {
  const left =
    "select from channels c join entries e on e.channel_id = c.id where c.gone_at is not null and e.kind = 'user' and e.deleted_at is null limit 1";
  while ((await open.sql(left)).length > 0) await delay(10);
}

/** What happens in a channel: it becomes private or public, or somebody says a secret, by name. */
const STORIES: Readonly<
  Record<
    string,
    { readonly first: boolean | null; readonly events: readonly string[]; readonly seen: readonly string[] }
  >
> = {
  private: { first: true, events: ["alder"], seen: [] },
  public: { first: false, events: ["alder"], seen: ["alder"] },
  "private, public": { first: true, events: ["alder", "public", "birch"], seen: ["birch"] },
  "public, private": { first: false, events: ["alder", "private", "birch"], seen: [] },
  "public, private, public": {
    first: false,
    events: ["alder", "private", "birch", "public", "cedar"],
    seen: ["cedar"],
  },
  "private, public, private, public": {
    first: true,
    events: ["alder", "public", "birch", "private", "cedar", "public", "dogwood"],
    seen: ["dogwood"],
  },
  "unknown, public": { first: null, events: ["alder", "public", "birch"], seen: ["birch"] },
  unknown: { first: null, events: ["alder"], seen: [] },
  "public, and read late": { first: false, events: ["alder", "late birch"], seen: ["alder"] },
  "public, and edited at a time that nobody knows": {
    first: false,
    events: ["alder", "edited birch"],
    seen: ["alder"],
  },
  "private, public, and said before that": {
    first: true,
    events: ["alder", "public", "earlier birch", "cedar"],
    seen: ["cedar"],
  },
  "public, and was private meanwhile": {
    first: false,
    events: ["alder", "public from now", "birch"],
    seen: ["birch"],
  },
  "private, and public by a message that was read before": {
    first: true,
    events: ["alder", "public before", "birch"],
    seen: [],
  },
};

const spokenIn = await createTestDatabase();
const open = openStore(spokenIn.connection);
after(async () => {
  await open[Symbol.asyncDispose]();
  await spokenIn[Symbol.asyncDispose]();
});

const secretOf = (name: string): string => `The safe opens with zxq${name}.`;
const wanted = (name: string, ...sources: number[]): Wanted => {
  return { statement: secretOf(name), quote: `zxq${name}`, sources };
};
const shown = (...names: readonly string[]): string[] =>
  names.map((name) => `Ann: ${secretOf(name)} (1)`).toSorted();

async function live(spoken: SpokenChannel, what: string, when: When | "remembered"): Promise<void> {
  const [name = "", how = ""] = what.split(" ").toReversed();
  const now = Date.now();
  if (what === "private" || what === "public") return spoken.becomes(what);
  if (what === "public from now") return spoken.becomes("public", new Date());
  // Later than what made it private.
  if (what === "public before") {
    await spoken.becomes("private", new Date(now));
    return spoken.becomes("public", new Date(now - 60_000));
  }
  const id = `zxq-${spoken.address.name}-${name}`;
  if (when === "remembered") {
    const at = how === "earlier" ? new Date(now - 60_000) : new Date();
    const words = how === "edited" ? "something else" : secretOf(name);
    const asks = {
      type: "message",
      channel: spoken.address,
      kind: "channel",
      workspace: "w",
      id,
      at,
    } as const;
    const draft = {
      ...MEMORY,
      statement: words,
      at: at.toISOString(),
      sources: [{ seq: 0, quote: words }],
    };
    const said = { ...asks, author: authorOf(ANN), text: words, addressed: false };
    await open.store.people.remember(
      spoken.channel,
      { ...said, ...(how === "late" && { isLate: true }) },
      draft,
    );
    if (how !== "edited") return;
    const edit = { id, text: secretOf(name), at: new Date(), isLate: true };
    const again = { ...draft, statement: secretOf(name), sources: [{ seq: 0, quote: secretOf(name) }] };
    await open.store.people.reword(spoken.channel, edit, again, TEST_DIGESTER);
    return;
  }
  const overrides =
    how === "late" ? { isLate: true } : how === "earlier" ? { at: new Date(now - 60_000) } : {};
  const seq = await spoken.say(how === "edited" ? "something else" : secretOf(name), { id, ...overrides });
  if (how === "edited")
    await open.store.log.edit(spoken.channel, id, secretOf(name), new Date(), TEST_DIGESTER, true);
  await spoken.summarise(when, seq, [wanted(name, seq)]);
}

for (const [story, { first, events, seen }] of Object.entries(STORIES))
  for (const when of ["at once", "written ahead", "later", "remembered"] as const)
    test(`what was said in private shows in no other channel: ${story}; summarised ${when}`, async () => {
      const spoken = await SpokenChannel.open(open, first);
      for (const what of events) await live(spoken, what, when);
      await spoken.commitAll();
      assert.deepEqual(await spoken.elsewhere(), shown(...seen));
      await open.sql("insert into shared_memories values ('another', 'main') on conflict do nothing");
      assert.deepEqual(
        await spoken.elsewhere(agentId("another")),
        shown(...seen),
        "an agent that is told them",
      );
      const all = await open.sql("select from memories where channel_id = $1", spoken.channel);
      assert.equal(
        all.length,
        events.filter((what) => !/^(private|public)/.test(what)).length,
        "there all show",
      );
      await spoken.exportAndImport();
      assert.deepEqual(await spoken.elsewhere(), shown(...seen), "from a file");
      await spoken.becomes("private");
      assert.deepEqual(await spoken.elsewhere(), []);
    });

async function opened(): Promise<{ readonly spoken: SpokenChannel; readonly hidden: number }> {
  const spoken = await SpokenChannel.open(open, true);
  const hidden = await spoken.say("The safe opens with zxqbirch.", { author: authorOf(BEN) });
  await spoken.becomes("public");
  return { spoken, hidden };
}

test("what was said in private and again in public is shared on the strength of what was said in public", async () => {
  const { spoken, hidden } = await opened();
  const seq = await spoken.say("Yes, the safe opens with zxqbirch.");
  await spoken.summarise("at once", seq, [wanted("birch", hidden, seq)]);
  assert.deepEqual(await spoken.elsewhere(), shown("birch"), "nobody is told what Ben has said");
});

test("a statement with a word that was said in private alone is not shared, wherever the word is read", async () => {
  const tells = { statement: "The safe opens with zxqbirch and zxqcedar.", quote: "zxqcedar" };
  for (const where of ["in the range", "in the summary before it"]) {
    const { spoken, hidden } = await opened();
    if (where !== "in the range") await spoken.summarise("at once", hidden, []);
    const seq = await spoken.say("And with zxqcedar, the safe.");
    await spoken.summarise("at once", seq, [{ ...tells, sources: [seq] }], ["Ben named zxqbirch."]);
    assert.deepEqual(await spoken.elsewhere(), [], where);
  }
});

test("a statement is not shared whose words are public, and what they say together is private", async () => {
  const { spoken } = await opened();
  await spoken.say("Does the safe open?");
  const seq = await spoken.say("Ann goes with zxqcedar.", { author: authorOf(BEN) });
  const joined = { statement: "Ann opens the safe with zxqcedar.", quote: "zxqcedar" };
  await spoken.summarise("at once", seq, [{ ...joined, sources: [seq] }]);
  assert.deepEqual(await spoken.elsewhere(), []);
});

test("a statement in the model's own words is shared", async () => {
  const { spoken } = await opened();
  const seq = await spoken.say("And with zxqcedar, the safe.");
  const tells = { statement: "The safe is unlocked by zxqcedar.", quote: "zxqcedar", sources: [seq] };
  await spoken.summarise("at once", seq, [tells]);
  assert.deepEqual(await spoken.elsewhere(), [`Ann: ${tells.statement} (1)`]);
});

test("what is said in private later, or was before, is no proof of what was said in public", async () => {
  const { spoken, hidden } = await opened();
  const seq = await spoken.say(secretOf("birch"));
  const unknown = await spoken.say(secretOf("birch"), { isLate: true });
  for (const source of [seq, hidden, unknown])
    await rememberIn(open, spoken.channel, {
      ...MEMORY,
      statement: secretOf("birch"),
      sources: [{ seq: source, quote: "zxqbirch" }],
    });
  assert.deepEqual(await spoken.elsewhere(), shown("birch"));
});

test("what the agent promises is shared where nothing was said in private before, and nowhere else", async () => {
  for (const how of ["public", "private", "late"] as const) {
    const spoken = await SpokenChannel.open(open, how === "private");
    await spoken.say("The safe opens with zxqbirch.", how === "late" ? { isLate: true } : {});
    await spoken.becomes("public");
    const asked = await spoken.say("Open the safe tomorrow, please.");
    await spoken.answer(asked, "I will open the safe with zxqbirch.");
    const promise = {
      statement: "Weir will open the safe with zxqbirch.",
      quote: "open the safe with zxqbirch",
    };
    await spoken.summarise("at once", asked + 1, [{ ...promise, type: "commitment", sources: [asked + 1] }]);
    assert.equal((await spoken.elsewhere()).length, how === "public" ? 1 : 0, how);
  }
});

test("what a job has noted without where it stands is shared only where nothing was said in private", async () => {
  for (const [isPrivate, most] of [
    [false, 1],
    [true, 0],
  ] as const) {
    const spoken = await SpokenChannel.open(open, isPrivate);
    await spoken.say("hello");
    await spoken.becomes("public");
    const seq = await spoken.say(secretOf("cedar"));
    await spoken.summarise("written ahead", seq, [wanted("cedar", seq)]);
    await open.sql(
      "update jobs set result = result #- '{memories,0,said}' where channel_id = $1",
      spoken.channel,
    );
    await spoken.commitAll();
    assert.equal((await spoken.elsewhere()).length, most);
  }
});
