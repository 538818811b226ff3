// proves: src/platforms/local/attached/shared-terminal.ts, src/platforms/local/attached/attached-chat.ts, src/platforms/local/attached/wire.ts, src/cli/chat.ts, src/cli/chat/chat-host.ts, src/cli/chat/terminals.ts
import assert from "node:assert/strict";
import { once } from "node:events";
import { lstat, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { z } from "zod";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";
import { findChatSocket } from "../../src/cli/chat/chat-socket.ts";
import { PROTOCOL } from "../../src/platforms/local/attached/wire.ts";
import { startDiscordServer } from "../support/discord/server.ts";
import { assertWhole, type Home, openHome, openSeed } from "../support/e2e.ts";
import { createTestDatabase } from "../support/database.ts";
import { copyFolder } from "../support/embedded-folder.ts";
import { envOf, openMainHome } from "../support/e2e-main.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { status, text } from "../support/model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../support/model-server.ts";
import { attach } from "../platforms/local/attached/attached-harness.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

/** A line of JSON that is a reply, as far as it is looked at. */
const reply = z.looseObject({ in_reply_to: z.array(z.string()) });

interface Scene extends AsyncDisposable {
  readonly model: ModelServer;
  readonly home: Home;
  readonly daemon: TestProcess;
}

/** A daemon without a terminal, and without any platform. */
async function openScene(config = "", env: NodeJS.ProcessEnv = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const home = stack.use(await openHome({ modelUrl: model.url, config, seed }));
  const daemon = await startDaemon(home, env);
  const kept = stack.move();
  return { model, home, daemon, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

async function startDaemon(home: Home, env: NodeJS.ProcessEnv = {}): Promise<TestProcess> {
  const daemon = home.startWith(env, "start");
  await daemon.line("Weir is ready");
  return daemon;
}

async function socketOf(home: Home): Promise<string> {
  const found = await findChatSocket(home.dataDir);
  assert(found !== null, "the daemon listens");
  return found;
}

function say(chat: TestProcess, ...objects: readonly object[]): void {
  chat.write(objects.map((object) => `${JSON.stringify(object)}\n`).join(""));
}

interface Person extends AsyncDisposable {
  /** What is on the screen. */
  shown(): string;
  shows(wanted: string): Promise<void>;
  type(line: string): void;
}

/** A person at a terminal that is attached to the daemon of a home. */
async function attachPerson(home: Pick<Home, "dataDir">, channel: string): Promise<Person> {
  const how = { channel, speaker: "Ann", patienceMs: 60_000 };
  const chat = await attach(async () => findChatSocket(home.dataDir), "interactive", how);
  return {
    shown: () => chat.shown(),
    shows: async (wanted) => until(`"${wanted}" on the screen`, () => chat.shown().includes(wanted)),
    type: (line) => void chat.input.write(`${line}\r`),
    [Symbol.asyncDispose]: async () => chat[Symbol.asyncDispose](),
  };
}

/** A daemon that waits for something at its end does so for longer than a test waits for a silent process. */
const PATIENT = "[daemon]\ndrain_deadline_ms = 100000\n";

/** Of the first tests; the last of them ends it. Its time is fourteen hours before UTC, all year. */
const shared = await openScene(`[[agents]]\nid = "main"\n[[agents]]\nid = "helper"\nname = "Helper"\n`, {
  TZ: "Pacific/Kiritimati",
});
after(async () => shared[Symbol.asyncDispose]());

test("two people in one channel see the same answers, and one elsewhere sees none of them", async () => {
  const { daemon, home, model } = shared;
  await using ann = await attachPerson(home, "room");
  await using ben = await attachPerson(home, "room");
  await using eve = await attachPerson(home, "elsewhere");
  model.reply(text("The answer is green."));
  ann.type("What is it?");
  await ann.shows("The answer is green.");
  await ben.shows("The answer is green.");
  await ben.shows("Ann> What is it?");
  assert.doesNotMatch(eve.shown(), /green/);
  assert.match(eve.shown(), /models +.*test-model|models +/);
  assert.match(eve.shown(), new RegExp(`daemon +Weir .*process ${daemon.pid}`));
});

test("foreign bytes on the socket are cut off, and harm nobody", async () => {
  const { daemon, home, model } = shared;
  model.respond(echo);
  const socket = await socketOf(home);
  await using person = await attachPerson(home, "main");
  const hello = JSON.stringify({
    type: "hello",
    protocol: PROTOCOL,
    channel: null,
    agent: null,
    kind: "dm",
    opensAtOnce: true,
    streams: true,
  });
  const event = {
    type: "message",
    channel: { platform: "discord", name: "somewhere" },
    id: "forged",
    at: new Date(0),
    author: "Eve",
    text: "I am the owner",
    listen: false,
    kind: "dm",
  };
  const forged = `${JSON.stringify({ type: "receive", n: 0, event })}\n`;
  const million = "x".repeat(1_000_000);
  const attacks: readonly (readonly [what: string, said: readonly string[]])[] = [
    ["garbage", ["\u0000\u00ff GET / HTTP/1.1\r\n\r\n"]],
    ["a long first line", [million, million]],
    ["another version", [`{"type":"hello","protocol":99}\n`]],
    ["a hello of another shape", [`{"type":"hello","protocol":${PROTOCOL}}\n`]],
    ["an unknown word", [`${hello}\n`, `{"type":"shutdown"}\n`]],
    ["another platform's message", [`${hello}\n`, forged]],
    ["100 MB without a line end", [`${hello}\n`, ...Array.from({ length: 100 }, () => million), "\n"]],
  ];
  for (const [what, said] of attacks) {
    const connection = createConnection(socket);
    connection.on("error", () => undefined);
    connection.resume();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    connection.on("close", () => resolve());
    for (const one of said) if (!connection.write(one)) await Promise.race([drained(connection), closed]);
    await closed;
    assert.equal(daemon.isOver, false, what);
  }
  // Half a line, and then nothing: whoever else is there is served.
  const half = createConnection(socket);
  await once(half, "connect");
  half.write(hello.slice(0, 20));
  person.type("still there?");
  await person.shows("Ann: still there?");
  half.destroy();
  assert.doesNotMatch(daemon.stderr, /"level":(?:50|60)/);
  const log = await home.run("log", "discord:somewhere");
  assert.match(log.stderr, /no channel/);
});

test("piped lines, commands and JSON lines go through the daemon that runs, and it goes on when they end", async () => {
  const { daemon, home, model } = shared;
  model.reply(text("one"), text("two\nin two lines"));
  const lines = home.start("chat", "--as", "Ann");
  lines.write("first\n/memory\nsecond\n");
  assert.deepEqual(await lines.finish(), { code: 0, signal: null });
  assert.equal(lines.out[0], "one");
  assert.deepEqual(lines.out.slice(-2), ["two", "in two lines"]);
  assert.equal(lines.stderr, "");

  model.respond(echo);
  const script = home.start("chat", "--jsonl");
  for (const channel of ["red", "green"])
    say(script, { author: "Bob", text: `in ${channel}`, id: `${channel}-1`, channel });
  say(
    script,
    { author: "Bob", text: "only so you know", id: "pink-1", channel: "pink", listen: true },
    { edit: "pink-1", text: "in scarlet" },
    { author: "Bob", text: "last", id: "blue-1", channel: "blue" },
  );
  assert.deepEqual(await script.finish(), { code: 0, signal: null });
  assert.equal(script.out.filter((line) => line.includes('"type":"reply"')).length, 3, script.out.join("\n"));
  assert.ok(script.out.some((line) => line.includes('"change":"edit"')));
  for (const channel of ["red", "green", "blue"]) assertWhole(await home.log(channel), [`${channel}-1`]);
  assert.equal(daemon.isOver, false);
});

test("who answers is the daemon's matter, and a chat that asks for somebody else is told", async () => {
  const { home, model } = shared;
  model.respond(echo);
  const helper = home.start("chat", "--agent", "helper");
  helper.write("who are you?\n");
  await helper.line("You said: ");
  assert.equal((await helper.finish()).code, 0);
  const context = await home.run("context", "terminal:helper");
  assert.match(context.out[0] ?? "", /agent helper/);

  const wrong = await home.run("chat", "--agent", "helper", "--channel", "main");
  assert.equal(wrong.code, 1);
  assert.equal(
    wrong.stderr,
    "In the Weir that runs here main answers terminal:main, and not helper. Leave out --channel to talk to helper, in terminal:helper.",
  );
  const unknown = await home.run("chat", "--agent", "nobody");
  assert.match(unknown.stderr, /^There is no agent "nobody"\. The Weir that runs here has: main, helper\.$/);
});

const REFUSED_KEY = status(401, { error: { message: "Incorrect API key provided: sk-e2e-secret" } });

test("whoever sits before a terminal is told why an answer failed, also by /why, in the time of this machine", async () => {
  const { home, model } = shared;
  model.respond(() => REFUSED_KEY);
  await using person = await attachPerson(home, "refused");
  person.type("hello?");
  await person.shows("the model's server refused the key");
  await person.shows("I am not set up correctly");
  person.type("/why");
  await person.shows("My last turn here failed");
  assert.match(person.shown(), /failed, at .*No answer: the model's server refused the key\s\(.*HTTP 401\)/s);
  const [, day = "", minute = ""] = /failed, at (\S+) (\d\d:\d\d)/.exec(person.shown()) ?? [];
  const aheadHours = (Date.parse(`${day}T${minute}Z`) - Date.now()) / 3_600_000;
  assert.ok(Math.abs(aheadHours - 14) < 2, `${day} ${minute}`);
  assert.doesNotMatch(person.shown(), /sk-e2e-secret/);
  const lines = home.start("chat", "--channel", "piped");
  lines.write("hello?\n");
  assert.equal((await lines.finish()).code, 0);
  assert.equal(lines.out.length, 1);
  assert.match(lines.stderr, /^No answer: the model's server refused the key/);
});

test("a daemon that is told to end finishes the answer that a chat waits for, and then lets go of it", async () => {
  const { daemon, home, model } = shared;
  const gate = new Gate();
  const isThis = ({ messages }: ChatRequest): boolean => JSON.stringify(messages).includes("tell me the end");
  // On a slow machine a call of an earlier test may still come.
  const answer = gate.between("The beginning", " and the end.");
  model.respond((request) => (isThis(request) ? answer : text("It is over.")));
  await using person = await attachPerson(home, "end");
  person.type("tell me the end");
  // Its first words need not be shown by then: a piece that fails on a slow machine is not shown again.
  await until("the request", () => model.requests.some(({ body }) => isThis(body)));
  daemon.signal("SIGTERM");
  await person.shows("Weir ends, and finishes what it has begun.");
  gate.open();
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  assert.equal(await findChatSocket(home.dataDir), null);
  await person.shows("and the end.");
  await person.shows("The connection to Weir is lost");
  const rows = await home.log("end");
  assertWhole(
    rows,
    rows.filter(({ kind }) => kind === "user").map(({ messageId = "" }) => messageId),
  );
  // What was confirmed is not shown again.
  const alone = await home.run("chat", "--channel", "end");
  assert.deepEqual(alone.out, []);
});

test("a daemon that is killed in the middle of an answer: the chats attach to the next one, and are answered once", async () => {
  await using scene = await openScene();
  const { daemon, home, model } = scene;
  const gate = new Gate();
  model.reply(
    gate.between("Once upon a time", " there was a weir."),
    gate.between("Once upon a time", " never."),
  );
  await using ann = await attachPerson(home, "tale");
  ann.type("tell me a tale");
  await ann.shows("Once upon a time");
  const script = home.start("chat", "--jsonl");
  say(script, { author: "Bob", text: "and one for me", id: "b1", channel: "bob" });
  await model.received(2);
  await daemon.kill();
  await ann.shows("The connection to Weir is lost");
  // Said while there is no daemon: it is kept.
  ann.type("are you there?");
  say(script, { author: "Bob", text: "hello?", id: "b2", channel: "bob" });
  await script.errorLine("The connection to Weir is lost");
  model.respond(echo);
  await startDaemon(home);
  await ann.shows("Attached to Weir again");
  await ann.shows("Ann: are you there?");
  const told = ann.shown().match(/You said: .*Ann: tell me a tale/g);
  assert.equal(told?.length, 1, ann.shown());
  assert.deepEqual(await script.finish(), { code: 0, signal: null });
  for (const [channel, count] of [
    ["tale", 2],
    ["bob", 2],
  ] as const) {
    const log = await home.log(channel);
    const said = log.filter(({ kind }) => kind === "user");
    assert.equal(said.length, count);
    assertWhole(
      log,
      said.map(({ messageId = "" }) => messageId),
    );
  }
  const replies = script.out.filter((line) => line.includes('"type":"reply"'));
  const answered = replies.flatMap((line) => reply.parse(JSON.parse(line)).in_reply_to);
  assert.deepEqual(answered.toSorted(), ["b1", "b2"], script.out.join("\n"));
});

test("what is answered while nobody is there is shown to the next chat in that channel, once, and holds up no end", async () => {
  await using scene = await openScene(PATIENT);
  const { daemon, home, model } = scene;
  const gate = new Gate();
  model.reply(gate.between("This is the beginning", " and this is the end."));
  const first = home.start("chat", "--channel", "desk");
  first.write("tell me\n");
  await model.received(1);
  await first.kill();
  gate.open();
  await daemon.errorLine('"turn_settled"');
  await daemon.errorLine('"delivery_failed"');
  await using next = await attachPerson(home, "desk");
  await next.shows("This is the beginning and this is the end.");
  await using another = await attachPerson(home, "desk");
  model.reply(text("Something else."));
  another.type("and now?");
  await another.shows("Something else.");
  assert.doesNotMatch(another.shown(), /main> This is/);

  // Another answer for which nobody is there does not hold up the end of the daemon.
  const kept = new Gate();
  model.reply(kept.between("Kept", " for later."));
  const chat = home.start("chat");
  chat.write("tell me\n");
  await model.received(3);
  await chat.kill();
  kept.open();
  const failures = (): number => daemon.err.filter((line) => line.includes('"delivery_failed"')).length;
  await daemon.until("the second failure", () => failures() >= 2);
  daemon.signal("SIGTERM");
  await daemon.until("its end", () => daemon.isOver);
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  // Also where no daemon runs: a chat of its own shows it.
  const alone = home.start("chat");
  await alone.line("Kept for later.");
  assert.deepEqual(await alone.finish(), { code: 0, signal: null });
});

test("a chat that was stopped (Ctrl-Z) does not hold up the end of the daemon, also not with an answer on its way to it", async () => {
  await using scene = await openScene("[daemon]\ndrain_deadline_ms = 1000\n");
  const { daemon, home, model } = scene;
  const gate = new Gate();
  model.reply(gate.between("This", " never arrives."));
  const chat = home.start("chat");
  chat.write("tell me\n");
  await model.received(1);
  chat.signal("SIGSTOP");
  gate.open();
  await daemon.errorLine('"turn_settled"');
  daemon.signal("SIGTERM");
  await daemon.until("its end", () => daemon.isOver);
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  await chat.kill();
  // The next one shows it.
  const next = home.start("chat");
  await next.line("This never arrives.");
  assert.deepEqual(await next.finish(), { code: 0, signal: null });
});

test("where no daemon runs, a second chat attaches to the Weir of the first, and is told when that leaves", async () => {
  const agents = `[[agents]]\nid = "main"\n[[agents]]\nid = "helper"\n`;
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, config: agents, seed });
  model.respond(echo);
  const first = home.start("chat");
  first.write("one\n");
  await first.line("one");
  const second = home.start("chat", "--agent", "helper");
  second.write("two\n");
  await second.line("two");
  await using person = await attachPerson(home, "main");
  assert.match(person.shown(), new RegExp(`chat +Weir .*process ${first.pid}, .*; it ends with that chat`));
  person.type("three");
  await person.shows("Ann: three");
  await first.line("three");
  assert.deepEqual(await first.finish(), { code: 0, signal: null });
  await person.shows("The chat whose Weir this is leaves, and Weir ends with it");
  assert.deepEqual(await second.ended, { code: 1, signal: null });
  assert.match(
    second.stderr,
    new RegExp(
      `^The chat whose Weir this is leaves, .*\nThe chat \\(process ${first.pid}\\) whose Weir this was has left, .*: \`npm run -s weir -- chat\` goes on\\.$`,
    ),
  );
  const rows = await home.log("helper");
  assert.equal(rows.filter(({ kind }) => kind === "assistant").length, 1);
  assert.equal(await findChatSocket(home.dataDir), null);
});

test("a chat with a Weir of its own makes way for a daemon that comes, and goes on through it; nothing is lost", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, seed });
  model.respond(echo);
  const lines = home.start("chat");
  lines.write("one\n");
  await lines.line("one");
  const gate = new Gate();
  model.reply(gate.between("The second", " is answered here."));
  lines.write("two\nthree\n");
  await model.received(2);
  const daemon = home.start("start");
  assert.match(await daemon.errorLine("data_folder_waited_for"), new RegExp(`"process ${lines.pid}"`));
  await lines.errorLine("makes_way");
  gate.open();
  await lines.line("The second is answered here.");
  await daemon.line("ready");
  await lines.line("three");
  assert.deepEqual(await lines.finish(), { code: 0, signal: null });
  const rows = await home.log("main");
  const said = rows.filter(({ kind }) => kind === "user").map((row) => row.text);
  assert.deepEqual(said, ["one", "two", "three"]);
  assert.equal(rows.filter(({ kind }) => kind === "assistant").length, 3);
});

test("the socket is its owner's alone; one that a killed daemon has left is replaced, and is no daemon for a chat", async () => {
  await using scene = await openScene();
  const { daemon, home, model } = scene;
  model.respond(echo);
  const socket = await socketOf(home);
  assert.equal(socket, path.join(home.dataDir, "chat", "socket"));
  assert.equal((await lstat(socket)).mode & 0o777, 0o600);
  assert.equal((await lstat(path.dirname(socket))).mode & 0o777, 0o700);
  await daemon.kill();
  assert.ok((await lstat(socket)).isSocket(), "it is left over");
  const alone = home.start("chat");
  alone.write("hello\n");
  await alone.line("You said: ");
  assert.equal((await alone.finish()).code, 0);
  await startDaemon(home);
  await using person = await attachPerson(home, "main");
  await person.shows("daemon");
  assert.deepEqual(await readdir(path.dirname(socket)), ["socket"]);
});

test("a data folder with a path that is too long for a socket has it among the temporary files", async () => {
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url });
  model.respond(echo);
  const deep = path.join("d".repeat(60), "e".repeat(60), "data");
  await mkdir(path.join(home.folder, path.dirname(deep)), { recursive: true });
  await copyFolder(seed.dataDir, path.join(home.folder, deep));
  await writeFile(path.join(home.folder, "config.toml"), `[database]\ndata_dir = "${deep}"\n`);
  const daemon = await startDaemon(home);
  const dataDir = path.join(home.folder, deep);
  const socket = await findChatSocket(dataDir);
  assert(socket !== null && !socket.startsWith(home.folder), `${socket}`);
  // Nobody else takes them away; the database's own socket has the same trouble.
  const left = [path.dirname(socket), (await findEmbeddedPostgres(dataDir))?.host ?? ""];
  assert.equal((await lstat(socket)).mode & 0o777, 0o600);
  assert.equal((await lstat(path.dirname(socket))).mode & 0o777, 0o700);
  const chat = home.start("chat");
  chat.write("hello\n");
  await chat.line("You said: ");
  assert.equal((await chat.finish()).code, 0);
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  assert.deepEqual(await readdir(path.dirname(socket)), []);
  for (const folder of left) await rm(folder, { recursive: true, force: true });
});

async function drained(connection: Socket): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.once("drain", () => resolve());
  await promise;
}

test("how the connection to a platform stands is told at the start, when it changes, in /status and to who attaches", async (t) => {
  await using discord = await startDiscordServer();
  const { world } = discord;
  const [owner, other] = [world.addUser({ name: "olga" }), world.addUser({ name: "ann" })];
  const config = `[platforms.discord]\napi_url = "${discord.api}"\nowners = ["${owner}"]\ndm = "everyone"`;
  await using model = await startModelServer();
  await using home = await openHome({ modelUrl: model.url, config, seed });
  const daemon = home.startWith({ DISCORD_TOKEN: "a-wrong-token" }, "start");
  await daemon.line("Weir is ready");
  assert.match(await daemon.line("Discord"), /^Discord cannot be connected: .*weir -- doctor`\.$/);
  assert.doesNotMatch(daemon.out.join("\n") + daemon.stderr, /a-wrong-token/);
  await using person = await attachPerson(home, "main");
  await person.shows("Discord");
  assert.match(person.shown(), /Discord +not connected since .*you have to mend it/s);
  model.respond(echo);
  person.type("hello");
  await person.shows("Ann: hello");
  person.type("/status");
  await until("the status", () => person.shown().split("Discord ").length > 2);
  daemon.signal("SIGTERM");
  await daemon.ended;

  const good = home.startWith({ DISCORD_TOKEN: discord.token }, "start");
  assert.match(await good.line("Discord"), /^Discord is connected as \S+ in \d servers?\.$/);
  await person.shows("Attached to Weir again");
  await t.test(
    "an owner is told in a direct message why an answer failed; others get the plain sentence alone",
    async () => {
      const [owners, others] = [world.openDm(owner), world.openDm(other)];
      model.respond(() => REFUSED_KEY);
      world.say(other, others, "hello?");
      await until("an answer", () => discord.answers(others).length === 1);
      world.say(owner, owners, "hello?");
      await until("both texts", () => discord.answers(owners).length === 2);
      const told = discord.answers(owners).join("\n");
      assert.match(told, /No answer: the model's server refused the key \(.*HTTP 401\)/);
      assert.match(told, /I am not set up correctly/);
      assert.doesNotMatch(told, /sk-e2e-secret/);
      assert.equal(discord.answers(others).length, 1);
      assert.doesNotMatch(discord.answers(others).join("\n"), /401|key/);
    },
  );
  discord.gateway.close(4004, "Authentication failed.");
  await person.shows("(Discord cannot be connected: ");
});

test("in a rolling restart on a Postgres of one's own the chats go over to the new daemon", async () => {
  await using model = await startModelServer();
  await using database = await createTestDatabase();
  await using main = await openMainHome("", envOf(database.connection, model.url));
  model.respond(echo);
  const home = { dataDir: path.join(main.folder, "data") };
  const older = await main.start();
  await using person = await attachPerson(home, "main");
  person.type("one");
  await person.shows("Ann: one");
  const newer = await main.start();
  older.signal("SIGTERM");
  assert.deepEqual(await older.ended, { code: 0, signal: null });
  await person.shows(`Attached to Weir again (process ${newer.pid})`);
  person.type("two");
  await person.shows("Ann: two");
  newer.signal("SIGTERM");
  assert.deepEqual(await newer.ended, { code: 0, signal: null });
  assert.equal(await findChatSocket(home.dataDir), null);
});
