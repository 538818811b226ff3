// proves: src/daemon/reload.ts, src/daemon/setup.ts, src/channel/renewal.ts, src/agent-texts.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Config } from "../../../src/config/config.ts";
import { agentId } from "../../../src/core/ids.ts";
import { type Binding, bindPlatform } from "../../../src/router/bindings.ts";
import type { ChannelRow } from "../../../src/store/channels/channels.ts";
import { command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { heldText, text } from "../../support/model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { openStore } from "../../store/open-store.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

function agent(id: string, lines = ""): string {
  return `[[agents]]\nid = "${id}"\nmodel = "test-model"\n${lines}\n`;
}

/** The system prompt of a request. */
function system({ messages }: ChatRequest): string {
  return messages.find(({ role }) => role === "system")?.content ?? "";
}

/** Says something, and waits until it is answered. */
async function ask(weir: TestWeir, words: string, room: string): Promise<void> {
  const receipt = await weir.say(words, { room });
  assert.equal(receipt.outcome, "accepted");
  const seq = "seq" in receipt ? receipt.seq : 0;
  const accepted = await weir.event(
    "message_accepted",
    (event) => event.channel === `test:${room}` && event.seq === seq,
  );
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(accepted.messageId));
}

test("a turn that runs keeps what it began with, and the next one has what was reloaded, at once and alone", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: agent("main", 'instructions = "You are the old one."'),
  });
  const gate = Promise.withResolvers<void>();
  server.reply(heldText("well", gate.promise, " said"));
  await weir.say("one", { room: "swap" });
  await until("the model is asked", () => server.requests.length === 1);
  const answer = await weir.reload(agent("main", 'instructions = "You are the new one."'));
  assert.deepEqual(answer, {
    kind: "reloaded",
    live: ["agents.main.instructions"],
    prompts: false,
    atStart: [],
  });
  // It comes while the old turn runs.
  server.reply(text("second"));
  await weir.say("two", { room: "swap" });
  gate.resolve();
  await until("both are answered", () => weir.platform.shown.size === 2);
  server.reply(text("third"));
  await ask(weir, "three", "swap");
  const told = server.requests.map(({ body }) => system(body).match(/the (old|new) one/)?.[1]);
  assert.deepEqual(told, ["old", "new", "new"]);
  assert.deepEqual(
    weir.events.flatMap((event) => (event.type === "turn_settled" ? [event.outcome] : [])),
    ["answered", "answered", "answered"],
  );
});

test("what stays the same stays loaded: another agent's channels are not even read again", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  const bindingsOf = () => [
    { ...bindPlatform("test", agentId("other")), channels: ["other"] },
    bindPlatform("test", agentId("main")),
  ];
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: agent("main") + agent("other"),
    bindingsOf,
  });
  await ask(weir, "hello", "stays");
  await ask(weir, "hello", "other");
  await weir.reload(agent("main", "[agents.compaction]\nbackground_threshold = 0.5\n") + agent("other"));
  await ask(weir, "hello", "stays");
  await ask(weir, "hello", "other");
  const loaded = weir.events
    .flatMap((event) => (event.type === "channel_loaded" ? [event.channel] : []))
    .filter((channel) => channel !== "test:swap");
  assert.deepEqual(loaded.toSorted(), ["test:other", "test:stays", "test:stays"]);
});

/** Who answers a room by the names of agents in a configuration: `other-…` rooms are the other's, if there is one. */
function byRoom({ agents }: Pick<Config, "agents">): Binding[] {
  const other = agents.find(({ id }) => id === "other");
  const main = agents.find(({ id }) => id === "main");
  return [
    ...(other === undefined ? [] : [{ ...bindPlatform("test", other.id), channels: ["bound"] }]),
    ...(main === undefined ? [] : [bindPlatform("test", main.id)]),
  ];
}

const NAMED = (id: string): string => agent(id, `instructions = "You are ${id} here."`);

function answeredBy(server: ModelServer): (string | undefined)[] {
  return server.requests.map(({ body }) => /You are (\w+) here/.exec(system(body))?.[1]);
}

test("a channel that is bound to another agent is that one's with its next message, also while one is being answered", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: NAMED("main"),
    bindingsOf: byRoom,
  });
  const gate = Promise.withResolvers<void>();
  server.reply(heldText("well", gate.promise, " said"));
  await weir.say("one", { room: "bound" });
  await until("the model is asked", () => server.requests.length === 1);
  const answer = await weir.reload(NAMED("main") + NAMED("other"));
  assert.partialDeepStrictEqual(answer, { live: ["agents.other"] });
  server.respond(() => text("an answer"));
  await weir.say("two", { room: "bound" });
  gate.resolve();
  await until("both are answered", () => weir.platform.shown.size === 2);
  await ask(weir, "elsewhere", "unbound");
  assert.deepEqual(answeredBy(server), ["main", "other", "main"]);

  await weir.reload(NAMED("main"));
  await ask(weir, "three", "bound");
  assert.equal(answeredBy(server).at(-1), "main");
});

test("where an agent is gone, and no binding names another, nobody answers, and the log says for how many channels", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  const log: string[] = [];
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: NAMED("main"),
    bindingsOf: byRoom,
    onLog: (line) => log.push(line),
  });
  await ask(weir, "one", "lonely");
  const { requests } = server;
  const before = requests.length;
  await weir.reload(NAMED("third"));
  const receipt = await weir.say("two", { room: "lonely" });
  assert.equal(receipt.outcome, "unbound");
  const isTold = (line: string): boolean =>
    /"agent":"main","channels":\d+.*channels_without_agent/.test(line);
  await until("the log says so", () => log.some(isTold));
  assert.equal(requests.length, before);
  await weir.reload(NAMED("main"));
  await ask(weir, "three", "lonely");
});

test("budgets that are new count what was spent before them, and those that are gone end nothing any more", async () => {
  await using fresh = await createTestDatabase();
  await using server = await startModelServer();
  server.respond(() => text("an answer", { usage: { prompt: 900, completion: 100, cached: 0 } }));
  await using weir = await startWeir({
    connection: fresh.connection,
    modelUrl: server.url,
    config: agent("main"),
  });
  await ask(weir, "one", "thrifty");
  await weir.reload(agent("main", "[agents.budget]\nchannel_tokens = 1000\n"));
  await until("what was spent is known", () => weir.daemon.status().budgets.length === 1);
  await ask(weir, "two", "thrifty");
  assert.equal(server.requests.length, 1);
  assert.match([...weir.platform.shown.values()].at(-1)?.text ?? "", /used up/);
  await weir.reload(agent("main"));
  await ask(weir, "three", "thrifty");
  assert.equal(server.requests.length, 2);
  assert.deepEqual(weir.daemon.status().budgets, []);
});

test("a refused configuration leaves everything in force, and owners are told by /status", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: NAMED("main"),
  });
  await ask(weir, "one", "firm");
  const answer = await weir.reload(`${NAMED("main")}[agents.compaction]\ntarget = 0.99\n`);
  assert.equal(answer.kind, "refused");
  const status = weir.daemon.status();
  assert.equal(status.configuration?.refused?.count, 1);
  const told = await command(weir, "firm", "/status");
  assert.match(told, /The configuration is refused since .*agents\[0\]\.compaction/);
  // A prompt that is longer than any window is found only when the agent is made.
  const long = await weir.reload(
    agent("main", `context_window = 4096\ninstructions = "${"mill ".repeat(20000)}"`),
  );
  assert.equal(long.kind, "refused");
  await ask(weir, "two", "firm");
  assert.deepEqual(answeredBy(server).slice(-2), ["main", "main"]);
  await weir.reload(NAMED("main"));
  assert.equal(weir.daemon.status().configuration?.refused, null);
});

test("nothing of a setup outlives what used it", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  assert.ok(typeof collect === "function");
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: NAMED("main") + NAMED("other"),
    bindingsOf: byRoom,
  });
  const setups: WeakRef<object>[] = [];
  for (let count = 0; count < 6; count++) {
    await ask(weir, "what is it?", "held");
    setups.push(new WeakRef(weir.daemon.staffOf(await held(weir)).agent));
    await weir.reload(
      agent("main", `instructions = "You are main here. ${count}"`) + agent("other", `name = "O${count}"`),
    );
  }
  await until("the setups before are gone", async () => {
    await ask(weir, "and now?", "held");
    collect();
    // Of the last one a register may still hold something.
    return setups.slice(0, -1).every((setup) => setup.deref() === undefined);
  });
});

async function held({ daemon }: TestWeir): Promise<ChannelRow> {
  const row = await daemon.store.channels.find({ platform: "test", name: "held" });
  assert.ok(row !== undefined);
  return row;
}

test("schedules are set and ended as they are saved", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: agent("main"),
  });
  await ask(weir, "hello", "planned");
  const schedule =
    '[[agents.schedules]]\nname = "standup"\ncron = "0 9 * * 1-5"\nchannel = "test:planned"\ntext = "Ask who is stuck."\n';
  await weir.reload(agent("main", schedule));
  const isShown = async (): Promise<boolean> =>
    (await command(weir, "planned", "/reminders")).includes("stuck");
  await until("the schedule is set", isShown);
  await weir.reload(agent("main"));
  await until("the schedule is over", async () => !(await isShown()));
});

test("a reload that changes nothing does nothing, and the status tells when one has changed something", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: NAMED("main"),
  });
  const { daemon } = weir;
  const reloadedAt = (): Date | null | undefined => daemon.status().configuration?.reloadedAt;
  const { setup } = daemon.current;
  const nothing = { kind: "reloaded", live: [], prompts: false, atStart: [] };
  assert.deepEqual(await weir.reload(NAMED("main")), nothing);
  assert.equal(daemon.current.setup, setup);
  assert.equal(reloadedAt(), null);
  await weir.reload(NAMED("main") + NAMED("other"));
  const at = reloadedAt();
  assert.ok(at instanceof Date);
  const next = daemon.current.setup;
  assert.notEqual(next, setup);
  const answer = await weir.reload(`[daemon]\nmax_compactions = 2\n${NAMED("main")}${NAMED("other")}`);
  assert.partialDeepStrictEqual(answer, {
    ...nothing,
    atStart: ["daemon.max_compactions"],
    last: { live: ["agents.other"], prompts: false },
  });
  assert.equal(daemon.current.setup, next);
  assert.equal(reloadedAt(), at);
});

test("a reload that could not look what is due is made up for by the next, also where that changes nothing", async () => {
  await using fresh = await createTestDatabase();
  await using server = await startModelServer();
  const log: string[] = [];
  await using weir = await startWeir({
    connection: fresh.connection,
    modelUrl: server.url,
    config: NAMED("main"),
    onLog: (line) => log.push(line),
  });
  await using outside = openStore(fresh.connection);
  await outside.sql("alter table subagents rename to away");
  await weir.reload(NAMED("main") + NAMED("other"));
  await until("it is told", () => log.some((line) => line.includes("reload_looks_again_later")));
  await outside.sql("alter table away rename to subagents");
  // Due, and announced by nobody.
  const { id } = await outside.channel("owed");
  await outside.say(id, "are you there?");
  server.respond(() => text("an answer"));
  const { setup } = weir.daemon.current;
  await weir.reload(NAMED("main") + NAMED("other"));
  await weir.event("turn_settled", ({ channel }) => channel === "test:owed");
  const next = weir.daemon.current.setup;
  assert.notEqual(next, setup);
  await weir.reload(NAMED("main") + NAMED("other"));
  assert.equal(weir.daemon.current.setup, next);
});
