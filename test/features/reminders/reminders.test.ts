// proves: src/features/reminders/declaration.ts, src/features/reminders/reminder-clock.ts, src/features/reminders/reminder-desk.ts, src/features/reminders/commands.ts, src/features/reminders/feature.ts
// A reminder is told once, at its time, where it was set; late and missed ones are told as that, and what was taken back is told no more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import {
  type ConfiguredSchedule,
  ReminderClock,
  type ReminderClockParts,
} from "../../../src/features/reminders/reminder-clock.ts";
import { ReminderDesk } from "../../../src/features/reminders/reminder-desk.ts";
import { ReminderStore } from "../../../src/features/reminders/reminder-store.ts";
import { answerText } from "../../../src/core/card.ts";
import type { InboundMessage } from "../../../src/core/message.ts";
import { draftMessage } from "../../../src/store/log/message-rows.ts";
import { createTimeFormat } from "../../../src/text/time.ts";
import { type OpenStore, openStore, SILENT } from "../../store/open-store.ts";
import { ANN, BEN, command } from "../../support/commands.ts";
import { cutStatements } from "../../support/cut-statements.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { told } from "../../support/together.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "../../support/weir.ts";

const AGENT = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;
const START = new Date("2026-11-25T04:30:00Z");
const HOUR_MS = 3_600_000;
const AFTER = (hours: number): Date => new Date(START.getTime() + hours * HOUR_MS);

const SAID: InboundMessage = {
  type: "message",
  channel: { platform: "test", name: "room" },
  kind: "channel",
  workspace: "",
  id: "said",
  author: { id: "u-ann", name: "Ann", isBot: false },
  text: "/remind in 1h sooner",
  at: START,
  addressed: false,
};

interface World extends AsyncDisposable {
  readonly server: ModelServer;
  readonly open: OpenStore;
  /** What time it is in the conversations of the daemons that are started. */
  now: Date;
  start(options?: Partial<TestWeirOptions>): Promise<TestWeir>;
}

async function openWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const { connection } = stack.use(await createTestDatabase());
  const open = stack.use(openStore(connection));
  const server = stack.use(await startModelServer());
  server.respond(() => text("told"));
  const kept = stack.move();
  const world: World = {
    server,
    open,
    now: START,
    start: async (options = {}) =>
      startWeir({ connection, modelUrl: server.url, config: AGENT, now: () => world.now, ...options }),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
  return world;
}

interface DueEntry {
  readonly title: string;
  readonly text: string;
}

/** Weir's own work in a channel's log. */
async function dueWork({ open }: World, room: string): Promise<DueEntry[]> {
  return open.sql<DueEntry & Record<string, unknown>>(
    `select e.author_name as title, e.text from entries e join channels c on c.id = e.channel_id
      where c.name = $1 and e.message_id like 'reminder/%' order by e.seq`,
    room,
  );
}

async function titles(world: World, room: string): Promise<string[]> {
  return (await dueWork(world, room)).map(({ title }) => title.replace(/^reminder \d+/, "reminder N"));
}

async function shown(weir: TestWeir, room: string, texts: number): Promise<void> {
  await weir.platform.until(() => weir.platform.texts(room).length >= texts);
}

/** A room in which something was said, and answered. */
async function meet(
  weir: TestWeir,
  room: string,
  overrides: Parameters<TestWeir["say"]>[1] = {},
): Promise<void> {
  await told(weir, "hello", { room, ...overrides });
}

/** Sets a reminder by a command. */
async function set(weir: TestWeir, room: string, what: string, asker = ANN): Promise<void> {
  assert.match(await command(weir, room, `remind ${what}`, asker), /^Reminder \d+ is set: /);
}

test("the agent sets a reminder when it is asked to, and tells it in its own words when it is due, once", async () => {
  await using world = await openWorld();
  const { server } = world;
  await using weir = await world.start({ now: () => new Date() });
  server.reply(
    toolCalls([{ name: "remind", arguments: { in: "1s", text: "water the plants" } }]),
    text("I will."),
    text("Ann, the plants are thirsty."),
  );
  await weir.say("remind me in a second to water the plants", { room: "garden" });
  await shown(weir, "garden", 2);
  assert.deepEqual(weir.platform.texts("garden"), ["I will.", "Ann, the plants are thirsty."]);
  assert.deepEqual(await titles(world, "garden"), ["reminder N, set by Ann, is due now"]);
  const asked = server.requests.at(-1)?.body.messages.map(({ content }) => content ?? "") ?? [];
  assert.ok(
    asked.some((line) => /\[Weir: reminder \d+, set by Ann, is due now\] water the plants/.test(line)),
  );
  assert.ok(!(asked.at(-1) ?? "").includes('"reminder'), "it is nobody who is here");
  assert.deepEqual(await world.open.sql("select state, text, next_at from reminders"), [
    { state: "done", text: "", nextAt: null },
  ]);
});

test("an agent without them has no tool for it, and the tool says what is wrong with its arguments", async () => {
  await using world = await openWorld();
  const { server } = world;
  {
    await using weir = await world.start({ config: `${AGENT}[agents.reminders]\nenabled = false\n` });
    await meet(weir, "room");
    const names = server.requests.at(-1)?.body.tools?.map((tool) => tool.function.name) ?? [];
    assert.ok(names.length > 0 && !names.includes("remind"));
  }
  await using weir = await world.start();
  const wrong = [
    { text: "x" },
    { at: "soon", text: "x" },
    { cron: "* * * * *", text: "x" },
    { in: "1h", text: "" },
    { at: "every other monday", text: "x" },
  ];
  server.reply(toolCalls(wrong.map((args) => ({ name: "remind", arguments: args }))), text("no"));
  await weir.say("remind me", { room: "room" });
  await shown(weir, "room", 1);
  const results = server.requests
    .at(-1)
    ?.body.messages.flatMap(({ role, content }) => (role === "tool" ? [content ?? ""] : []));
  const expected = [
    /Say one time/,
    /"soon" is no time/,
    /oftener than every 5 minutes/,
    /its text is missing/,
    /"every other monday" is no rule of a schedule; these work: "every day at 9"/,
  ];
  assert.equal(results?.length, expected.length);
  for (const [index, one] of expected.entries()) assert.match(results?.[index] ?? "", one);
  assert.deepEqual(await world.open.sql("select from reminders"), []);
});

test("the agent may name a time in the words of people", async () => {
  await using world = await openWorld();
  const { server } = world;
  await using weir = await world.start();
  const said = [{ at: "every monday at 9" }, { at: "tomorrow at 9am" }, { cron: "montags um 10 Uhr" }];
  server.reply(
    toolCalls(said.map((args) => ({ name: "remind", arguments: { ...args, text: "x" } }))),
    text("ok"),
  );
  await weir.say("remind me", { room: "room" });
  await shown(weir, "room", 1);
  assert.deepEqual(await world.open.sql("select cron, next_at from reminders order by next_at, cron"), [
    { cron: null, nextAt: new Date("2026-11-26T09:00:00Z") },
    { cron: "0 9 * * 1", nextAt: new Date("2026-11-30T09:00:00Z") },
    { cron: "0 10 * * 1", nextAt: new Date("2026-11-30T10:00:00Z") },
  ]);
});

test("what was missed while no daemon ran is told once, late", async () => {
  await using world = await openWorld();
  {
    await using weir = await world.start();
    for (const room of ["near", "late"]) await meet(weir, room);
    await set(weir, "near", "2026-11-25 07:29 tea");
    await set(weir, "late", "in 1h tea");
  }
  world.now = AFTER(3);
  await using weir = await world.start();
  for (const room of ["near", "late"]) await shown(weir, room, 1);
  assert.deepEqual(await titles(world, "near"), ["reminder N, set by Ann, is due now"]);
  assert.deepEqual(await titles(world, "late"), ["reminder N, set by Ann, was due 2026-11-25 05:30, late"]);
});

test("what is over the grace is told as missed; of what was missed many times the last counts, with their number", async () => {
  await using world = await openWorld();
  {
    await using weir = await world.start();
    for (const room of ["old", "daily", "yearly"]) await meet(weir, room);
    await set(weir, "old", "in 1h tea");
    await set(weir, "daily", 'cron "0 6 * * *" tea');
    await set(weir, "yearly", 'cron "0 6 26 11 *" tea');
  }
  world.now = AFTER(4 * 24);
  await using weir = await world.start();
  for (const room of ["old", "daily", "yearly"]) await shown(weir, room, 1);
  const missed = "reminder N, set by Ann, was missed at";
  assert.deepEqual(await titles(world, "old"), [`${missed} 2026-11-25 05:30`]);
  assert.deepEqual(await titles(world, "yearly"), [`${missed} 2026-11-26 06:00`]);
  assert.deepEqual(await titles(world, "daily"), [
    "reminder N, set by Ann, was due 2026-11-28 06:00, late, 3 missed before",
  ]);
  const left = await world.open.sql<{ nextAt: Date }>(
    "select next_at from reminders where state = 'active' order by next_at",
  );
  assert.deepEqual(
    left.map((row) => row.nextAt.toISOString().slice(0, 10)),
    ["2026-11-29", "2027-11-26"],
  );
});

test("two daemons on one database tell an occurrence once", async () => {
  await using world = await openWorld();
  {
    await using weir = await world.start();
    for (let room = 1; room <= 5; room++) {
      await meet(weir, `room-${room}`);
      await set(weir, `room-${room}`, 'cron "0 9 * * *" tea');
    }
  }
  for (let day = 0; day < 3; day++) {
    world.now = AFTER(5 + day * 24);
    const daemons = await Promise.all([world.start(), world.start()]);
    for (let room = 1; room <= 5; room++)
      while ((await dueWork(world, `room-${room}`)).length <= day) await delay(5);
    // The end of both waits for what they have begun.
    await Promise.all(daemons.map(async (weir) => weir[Symbol.asyncDispose]()));
  }
  for (let room = 1; room <= 5; room++)
    assert.equal((await dueWork(world, `room-${room}`)).length, 3, `room-${room}`);
});

test("a daemon that ends between the log and the answer leaves the answer to the next, once", async () => {
  await using world = await openWorld();
  const { server, open } = world;
  {
    await using weir = await world.start();
    await meet(weir, "room");
    await set(weir, "room", "in 1h tea");
  }
  world.now = AFTER(1);
  // The commit, and nobody who is told of it.
  const store = new ReminderStore(open.db);
  const [reminder] = await store.due(["test"], world.now, 0, 10);
  assert.ok(reminder !== undefined);
  const author = { id: "weir", name: "reminder 1", isBot: true };
  const id = `reminder/${reminder.id}/${reminder.due.toISOString()}`;
  const draft = draftMessage({ id, author, text: reminder.text, at: world.now, addressed: true });
  assert.equal((await store.fire({ reminder, draft, next: null })).hasFired, true);
  const before = server.requests.length;
  for (let run = 0; run < 2; run++) {
    await using weir = await world.start();
    if (run === 0) await shown(weir, "room", 1);
    await weir.daemon.registry.compactionsIdle();
  }
  assert.equal(server.requests.length, before + 1);
  assert.equal((await dueWork(world, "room")).length, 1);
});

/** A clock beside the daemon's that looks often, with a desk of its own. */
function quickClock(
  world: World,
  { daemon: { store, waker } }: TestWeir,
  now = (): Date => world.now,
  more: Partial<ReminderClockParts> = {},
): { desk: ReminderDesk; clock: ReminderClock } {
  const reminders = new ReminderStore(world.open.db);
  const desk = new ReminderDesk(reminders, now);
  const clock = new ReminderClock({
    reminders,
    store,
    desk,
    waker,
    log: SILENT,
    now,
    schedules: () => [],
    platforms: ["test"],
    serves: () => true,
    agentOf: () => ({ time: createTimeFormat("UTC"), graceMs: HOUR_MS }),
    tickMs: 20,
    ...more,
  });
  return { desk, clock };
}

/** Resolves once so much of Weir's own work has come in a room. @returns its texts */
async function come(world: World, room: string, count: number): Promise<string[]> {
  for (;;) {
    const due = await dueWork(world, room);
    if (due.length >= count) return due.map((one) => one.text);
    await delay(5);
  }
}

test("a clock that is set is noticed, and a new reminder that comes sooner is", async () => {
  await using world = await openWorld();
  await using weir = await world.start();
  await meet(weir, "room");
  const quick = quickClock(world, weir);
  await using _clock = quick.clock;
  await set(weir, "room", "in 2h later");
  quick.clock.start();
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "room" });
  assert.ok(row !== undefined);
  const plan = { at: AFTER(1), cron: null, timeZone: "UTC", text: "sooner" };
  await quick.desk.setByCommand(row, { ...SAID, channel: row.address, id: "soon" }, plan);
  world.now = AFTER(1);
  assert.deepEqual(await come(world, "room", 1), ["sooner"]);
  // Set back, nothing comes twice.
  world.now = AFTER(0.5);
  await shown(weir, "room", 2);
  world.now = AFTER(2);
  assert.deepEqual(await come(world, "room", 2), ["sooner", "later"]);
});

test("what comes due while the clock looks is told, and not passed over until it looks again", async () => {
  await using world = await openWorld();
  await using weir = await world.start();
  await meet(weir, "room");
  await set(weir, "room", "in 1h tea");
  // The look for what is due is before its time, and all that comes after it is not.
  const times = [START];
  const quick = quickClock(world, weir, () => times.shift() ?? AFTER(1));
  await using _clock = quick.clock;
  quick.clock.start();
  assert.deepEqual(await come(world, "room", 1), ["tea"]);
  await shown(weir, "room", 2);
});

test("schedules that change while those of before are placed are placed as well, and at once", async () => {
  await using world = await openWorld();
  await using weir = await world.start();
  await meet(weir, "room");
  const { store } = weir.daemon;
  const row = await store.channels.find({ platform: "test", name: "room" });
  assert.ok(row !== undefined);
  const planned = (name: string): ConfiguredSchedule[] => [
    { name, cron: "0 9 * * *", timeZone: "UTC", text: name, agent: row.agent, channel: "test:room" },
  ];
  let schedules = planned("before");
  // It is behind the look at the schedules.
  const find: typeof store.channels.find = async (address) => {
    const found = await store.channels.find(address);
    if (schedules[0]?.name === "before") {
      schedules = planned("after");
      quick.clock.reconfigured();
    }
    return found;
  };
  const channels = Object.assign(Object.create(store.channels), { find });
  const quick = quickClock(world, weir, () => world.now, {
    schedules: () => schedules,
    store: { ...store, channels },
  });
  await using _clock = quick.clock;
  quick.clock.start();
  for (;;) {
    const waiting = await world.open.sql<{ text: string }>(
      "select text from reminders where state = 'active'",
    );
    if (waiting.some(({ text: one }) => one === "after")) break;
    await delay(5);
  }
});

test("where the database goes away, it is told when that is back", async () => {
  await using world = await openWorld();
  await using weir = await world.start();
  await meet(weir, "room");
  const quick = quickClock(world, weir);
  await using _clock = quick.clock;
  await set(weir, "room", "in 1h tea");
  quick.clock.start();
  const cut = await cutStatements(world.open, "select", 3);
  world.now = AFTER(1);
  await cut.done;
  assert.deepEqual(await come(world, "room", 1), ["tea"]);
  await shown(weir, "room", 2);
});

test("a reminder may be the first thing that is said in a channel, as a message and as a command", async () => {
  await using world = await openWorld();
  await using weir = await world.start({
    platform: new TestPlatform({ hasTextCommands: true, serves: () => true }),
  });
  await weir.say("/remind in 1h the first", { room: "new" });
  assert.match(weir.platform.texts("new").join(), /^Reminder 1 is set: /);
  const where = { channel: { platform: "test", name: "newer" }, kind: "dm", workspace: "" } as const;
  const answer = await weir.daemon.inbox.command({
    channel: where.channel,
    where,
    name: "remind",
    argument: "in 1h the second",
    asker: ANN,
  });
  assert.match(answerText(answer), /^Reminder 2 is set: /);
  assert.deepEqual(await world.open.sql("select name, kind from channels order by id"), [
    { name: "new", kind: "channel" },
    { name: "newer", kind: "dm" },
  ]);
});

test("/reminders lists what waits in its channel alone; who asked, or an owner, may end one", async () => {
  await using world = await openWorld();
  const platform = new TestPlatform({ serves: () => true });
  await using weir = await world.start({ config: `${OWNED}\n${AGENT}`, platform });
  const at = (room: string) => ({ channel: { platform: "discord", name: room } });
  for (const room of ["one", "two"]) await meet(weir, room, at(room));
  const typed = async (room: string, what: string, asker = ANN): Promise<string> =>
    command(weir, room, what, asker, "discord");
  assert.match(await typed("one", "reminders"), /^No reminder waits in this channel\. \/remind says how/);
  assert.match(
    await typed("one", "remind water"),
    /^Say when, and then what\. For example:\n\/remind in 20m water/,
  );
  assert.match(
    await typed("one", "remind 25:00 water"),
    /^This cannot be set: "25:00" is no time\. Examples: 20m, 18:30/,
  );
  assert.match(
    await typed("one", "remind 18:30 water the plants"),
    /^Reminder \d+ is set: Wednesday 2026-11-25 18:30 UTC\. \/reminders cancel \d+ ends it\.$/,
  );
  for (const [said, answer] of [
    [
      "every monday at 9 tea",
      /first on Monday 2026-11-30 09:00 UTC, then every Monday at 09:00\. \S+ cancel (\d+) ends it\.$/,
    ],
    [
      "friday tea",
      /2026-11-27 09:00 UTC\. No time of day was said: it is 9:00\. For another time.*cancel (\d+) ends it\.$/,
    ],
    [
      "on Mondays tea",
      /first on Monday 2026-11-30 09:00 UTC, then every Monday at 09:00\. No time of day was said.* cancel (\d+) ends it\.$/,
    ],
    ["in 3 Stunden Tee", /: Wednesday 2026-11-25 07:30 UTC\. \S+ cancel (\d+) ends it\.$/],
  ] as const) {
    const reply = await typed("one", `remind ${said}`);
    assert.match(reply, answer);
    await typed("one", `reminders cancel ${answer.exec(reply)?.[1]}`);
  }
  assert.match(
    await typed("one", "remind yesterday at 5 tea"),
    /that time is past\..*Your words were read as 2026-11-24 05:00\.$/,
  );
  assert.match(
    await typed("one", "remind every 7 hours tea"),
    /^This cannot be set: "every 7 hours" does not fit/,
  );
  const list = await typed("one", "reminders", BEN);
  assert.match(
    list,
    /^1 reminder in this channel:\n- #(\d+) Wednesday 2026-11-25 18:30 UTC for Ann: water the plants\n/,
  );
  assert.match(await typed("two", "reminders"), /^No reminder waits/);
  const id = /#(\d+)/.exec(list)?.[1] ?? "";
  assert.equal(await typed("two", `reminders cancel ${id}`), `No reminder ${id} waits in this channel.`);
  assert.match(await typed("one", `reminders cancel ${id}`, BEN), /is somebody else's/);
  assert.match(await typed("one", "reminders end it"), /^This is \/reminders or \/reminders cancel NUMBER/);
  assert.equal(await typed("one", `reminders cancel #${id}`), `Reminder ${id} is cancelled.`);
  assert.equal(await typed("one", `reminders cancel ${id}`), `No reminder ${id} waits in this channel.`);
  await typed("one", "remind in 1h tea", BEN);
  const other = /#(\d+)/.exec(await typed("one", "reminders"))?.[1] ?? "";
  assert.equal(await typed("one", `reminders cancel ${other}`, OWNER), `Reminder ${other} is cancelled.`);
});

test("a reminder that was set in a direct message or a thread comes there", async () => {
  await using world = await openWorld();
  {
    await using weir = await world.start();
    await meet(weir, "dm", { kind: "dm" });
    await meet(weir, "thread", {
      kind: "thread",
      place: { workspace: "w", channel: "t", parent: { id: "general", name: "general" } },
    });
    await meet(weir, "general");
    await set(weir, "dm", "in 1h a secret");
    await set(weir, "thread", "in 1h the thing");
  }
  world.now = AFTER(1);
  await using weir = await world.start();
  for (const room of ["dm", "thread"]) await shown(weir, room, 1);
  assert.deepEqual(
    (await dueWork(world, "dm")).map((one) => one.text),
    ["a secret"],
  );
  assert.deepEqual(
    (await dueWork(world, "thread")).map((one) => one.text),
    ["the thing"],
  );
  assert.deepEqual(weir.platform.texts("general"), []);
});

test("what was taken back is told no more: before it was due, and after", async () => {
  await using world = await openWorld();
  const { server, open } = world;
  await using weir = await world.start();
  for (const room of ["before", "after"]) {
    server.reply(
      toolCalls([{ name: "remind", arguments: { in: "1h", text: `zxq${room}` } }]),
      text("I will."),
    );
    await weir.say(`remind me of zxq${room}`, { room, id: `${room}-1` });
    await shown(weir, room, 1);
  }
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "before-1", at: START });
  world.now = AFTER(1);
  {
    await using other = await world.start();
    await shown(other, "after", 1);
  }
  assert.deepEqual(await dueWork(world, "before"), []);
  assert.equal((await dueWork(world, "after")).length, 1);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "after-1", at: START });
  assert.deepEqual(
    (await dueWork(world, "after")).map((one) => one.text),
    [""],
  );
  for (const word of ["zxqbefore", "zxqafter"])
    assert.deepEqual(await open.sql("select from entries where text ~ $1 or data::text ~ $1", word), []);
});

test("/forget me takes a person's reminders, and nobody else's", async () => {
  await using world = await openWorld();
  await using weir = await world.start();
  await meet(weir, "room");
  await set(weir, "room", "in 1h zxqann");
  await set(weir, "room", "in 1h zxqben", BEN);
  assert.match(await command(weir, "room", "forget me yes"), /^Forgotten: 2 messages of yours/);
  assert.deepEqual(await world.open.sql("select text from reminders where state = 'active'"), [
    { text: "zxqben" },
  ]);
});

test("a schedule of the configuration comes where its agent answers, once somebody has spoken there", async () => {
  await using world = await openWorld();
  const schedule = (name: string, channel: string, cron = "0 5 * * *"): string =>
    `[[agents.schedules]]\nname = "${name}"\ncron = "${cron}"\nchannel = "test:${channel}"\ntext = "say good morning"\n`;
  const config = `${AGENT}${schedule("morning", "room")}${schedule("nowhere", "unknown")}`;
  const lines: string[] = [];
  {
    await using weir = await world.start({ config, onLog: (line) => lines.push(line) });
    while (lines.filter((line) => line.includes("schedule_waits")).length < 2) await delay(5);
    await meet(weir, "room");
  }
  {
    await using _weir = await world.start({ config });
    while ((await world.open.sql("select from reminders where state = 'active'")).length < 1) await delay(5);
  }
  world.now = AFTER(0.5);
  {
    await using weir = await world.start({ config });
    await shown(weir, "room", 1);
    assert.match(await command(weir, "room", "reminders"), /by config\.toml \("morning"\): say good morning/);
    const id = /#(\d+)/.exec(await command(weir, "room", "reminders"))?.[1] ?? "";
    assert.match(await command(weir, "room", `reminders cancel ${id}`), /stands in config\.toml/);
  }
  assert.deepEqual(await titles(world, "room"), ["schedule morning is due now"]);
  await using _weir = await world.start();
  while ((await world.open.sql("select from reminders where state = 'active'")).length > 0) await delay(5);
});
