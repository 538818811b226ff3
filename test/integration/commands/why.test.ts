// proves: src/admin/commands/why.ts, src/admin/reports/unanswered.ts, src/admin/skip-reasons.ts, src/router/refusals.ts, src/store/turns/message-fate.ts
// Why a message has no answer: the asker's last one, in its channel alone.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { InboundMessage, Receipt } from "../../../src/core/message.ts";
import { type Binding, bindPlatform } from "../../../src/router/bindings.ts";
import { type Asker, PlatformError } from "../../../src/platforms/platform.ts";
import { openStore } from "../../store/open-store.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { hold } from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { status, text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { openTogether, told } from "../../support/together.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
const open = openStore(database.connection);
after(async () => {
  await open[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const CONFIG = `
${OWNED}
[[agents]]
id = "main"
name = "Weir"
model = "test-model"
time_zone = "UTC"
`;
const NONE_YET = "I have not answered anything here yet.";
const HEAD = "Your last message here, from \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d, ";

interface Scene extends TestWeir {
  set(next: Partial<Binding>): Promise<void>;
}

interface Setting {
  readonly platform?: TestPlatform;
  readonly config?: string;
}

/** A daemon whose binding a test changes: `set` puts another in force. */
async function start(
  server: ModelServer,
  binding: Partial<Binding>,
  { platform = new TestPlatform({ serves: () => true }), config = CONFIG }: Setting = {},
): Promise<Scene> {
  let now = binding;
  let reloads = 0;
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config,
    platform,
    bindingsOf: ({ agents: [first] }) =>
      first === undefined ? [] : [{ ...bindPlatform("discord", first.id), ...now }],
  });
  const set = async (next: Partial<Binding>): Promise<void> => {
    now = next;
    const { kind } = await weir.reload(`${config}temperature = 0.${++reloads}\n`);
    assert.equal(kind, "reloaded");
  };
  return Object.assign(weir, { set });
}

let rooms = 0;
const newRoom = (): string => `why-${++rooms}`;

async function why(weir: TestWeir, room: string, asker: Asker = ANN): Promise<string> {
  return command(weir, room, "why", asker, "discord");
}

/** The words about the message itself. */
async function reason(weir: TestWeir, room: string, asker: Asker = ANN): Promise<string> {
  const [first = ""] = (await why(weir, room, asker)).split("\n\n");
  const [, words = ""] = new RegExp(`^${HEAD}(.*)$`, "s").exec(first) ?? [];
  assert.notEqual(words, "", first);
  return words;
}

/** Says something on Discord. */
async function say(
  weir: TestWeir,
  words: string,
  { room, ...more }: Partial<InboundMessage> & { readonly room: string },
): Promise<Receipt> {
  return weir.say(words, { channel: { platform: "discord", name: room }, ...more });
}

async function settled(weir: TestWeir, room: string): Promise<void> {
  await weir.event("turn_settled", ({ channel }) => channel === `discord:${room}`);
}

test("/why: a message that was not meant for the agent, read or not, also after a restart", async () => {
  await using server = await startModelServer();
  const room = newRoom();
  {
    await using weir = await start(server, {});
    await say(weir, "it rains", { room, id: `${room}-1`, addressed: false });
    assert.match(await reason(weir, room), /^has no answer: it was not meant for me\..* I have read it\.$/);
    assert.equal(await why(weir, room, BEN), NONE_YET, "nothing of others' messages");
    const edit = { type: "edit", platform: "discord", id: `${room}-1`, text: "@Weir it rains" } as const;
    await weir.daemon.inbox.receive({ ...edit, at: new Date() });
    assert.match(await reason(weir, room), /A mention that an edit adds asks for nothing\.$/);
    await weir.set({ listen: false });
    await say(weir, "it snows", { room, addressed: false });
    assert.match(await reason(weir, room), /I have not read it\.$/);
    const unmet = newRoom();
    await say(weir, "it snows", { room: unmet, addressed: false });
    assert.match(await why(weir, unmet), /^Your last message here has no answer: it was not meant for me/);
    assert.match(await why(weir, unmet, BEN), /^Nothing has been said to me here yet/);
  }
  await using weir = await start(server, {});
  assert.match(await reason(weir, room), /^has no answer: it was not meant for me/);
  const dm = newRoom();
  await say(weir, "it rains", { room: dm, kind: "dm", addressed: true, isBackground: true });
  assert.match(await reason(weir, dm), /too old to be answered/);
});

test("/why: nobody answers there, and who may ask for nothing, learn no more than before", async () => {
  await using server = await startModelServer();
  server.respond(() => text("hello"));
  await using weir = await start(server, { channels: ["elsewhere"], dmAllow: [BEN.id] });
  const room = newRoom();
  assert.equal((await say(weir, "hello?", { room })).outcome, "unbound");
  assert.match(
    await why(weir, room),
    /^Your last message here has no answer: nobody answered in this channel/,
  );
  const dm = newRoom();
  await say(weir, "hello?", { room: dm, kind: "dm" });
  assert.match(await why(weir, dm), /^Your last message here has no answer: you were not one of those/);
  await weir.set({ allowUsers: [BEN.id] });
  await say(weir, "hello?", { room });
  assert.match(await why(weir, room), /^Here I answer only people whom whoever runs me has named/);
  await weir.set({});
  assert.match(await reason(weir, room), /^has no answer: you were not one of those whom I answer here/);
  await weir.set({ channels: ["elsewhere"] });
  assert.equal(await why(weir, room), "Nobody answers in this channel.");
  await weir.set({ rateLimit: 1 });
  await say(weir, "one?", { room });
  await settled(weir, room);
  await say(weir, "two?", { room });
  assert.match(await why(weir, room), /more than I may do for you in a minute/);
  await weir.set({});
  assert.match(await reason(weir, room), /^has no answer: you had asked more than I may answer in a minute/);
});

test("/why: a message waits: it is being answered, or behind another", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, {});
  const room = newRoom();
  const held = hold();
  server.respond(() => held.behaviour);
  await say(weir, "first?", { room });
  await server.received(1);
  await say(weir, "second?", { room, author: authorOf(BEN) });
  assert.match(
    await reason(weir, room),
    /^is being answered by the model and its tools, for \d+\.\d s now\.$/,
  );
  assert.match(
    await reason(weir, room, BEN),
    /^waits behind another answer, which is being written for \d+\.\d s now\.$/,
  );
  assert.doesNotMatch(await why(weir, room, BEN), /first|Ann/);
  assert.equal(await command(weir, room, "stop", ANN, "discord"), "Stopped.");
  await settled(weir, room);
  assert.match(await reason(weir, room), /^has no whole answer: somebody stopped me with \/stop\.$/);
  held.release(text("too late"));
});

test("/why: a model chose not to answer, and why, until its words may be somebody's who deleted them", async () => {
  await using server = await startModelServer();
  const room = newRoom();
  const skip = toolCalls([{ name: "skip", arguments: { reason: "Ann only thinks aloud of zxqplums." } }]);
  {
    await using weir = await start(server, {});
    server.reply(skip, skip);
    await say(weir, "hm, zxqplums", { room, id: `${room}-1` });
    await settled(weir, room);
    assert.equal(
      await reason(weir, room),
      "has no answer: the model chose not to answer. Its reason: Ann only thinks aloud of zxqplums.",
    );
    const at = new Date();
    await weir.daemon.inbox.receive({ type: "deletion", platform: "discord", id: `${room}-1`, at });
    const shown = await why(weir, room);
    assert.match(shown, /was deleted, so I have not answered it\./);
    assert.doesNotMatch(shown, /zxqplums/);
    const before = weir.events.filter(({ type }) => type === "turn_settled").length;
    await say(weir, "hm, again", { room });
    await weir.event(
      "turn_settled",
      () => weir.events.filter(({ type }) => type === "turn_settled").length > before,
    );
  }
  await using weir = await start(server, {});
  assert.match(await reason(weir, room), /Its reason is not kept\.$/);
});

test("/why: a turn that failed, in plain words; the provider's text is for named owners", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, {});
  const room = newRoom();
  server.respond(() => status(401, { error: { message: "bad key sk-zxqsecret" } }));
  const words =
    /failed, at .*\. I said: Sorry, I can't answer: I am not set up correctly\..* Whoever runs me sees why/;
  for (const [asker, anns] of [
    [ANN, /^My last turn here failed, at /],
    [OWNER, /^Your last message here, from .*, has no answer: my turn failed, at /],
  ] as const) {
    await say(weir, "hello?", { room, author: authorOf(asker) });
    await weir.platform.until(() => weir.platform.texts(room).length === (asker === ANN ? 1 : 2));
    const shown = await why(weir, room);
    assert.match(shown, anns);
    assert.match(shown, words);
    assert.doesNotMatch(shown, /zxqsecret|401|refused the key/);
  }
  assert.match(
    await why(weir, room, OWNER),
    /No answer: the model's server refused the key \(test-model, HTTP 401\)/,
  );
});

test("/why: what may be spent is used up: the asker's own, and of others' nothing", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer", { usage: { prompt: 990, completion: 10, cached: 0 } }));
  await using weir = await start(server, {}, { config: `${CONFIG}[agents.budget]\nperson_tokens = 900\n` });
  const room = newRoom();
  const ask = async (asker: Asker): Promise<void> => {
    const before = weir.platform.texts(room).length;
    await say(weir, "hello?", { room, author: authorOf(asker) });
    await weir.platform.until(() => weir.platform.texts(room).length > before);
  };
  await ask(ANN);
  await ask(ANN);
  assert.match(
    await reason(weir, room),
    /^has no answer: what I may spend on your questions today was used up/,
  );
  assert.doesNotMatch(await why(weir, room, BEN), /spend|spent|used up/);
});

test("/why: an answer that the platform refused, and a time whose messages are lost", async () => {
  await using server = await startModelServer();
  server.respond(() => text("hello"));
  const platform = new TestPlatform({ serves: () => true });
  await using weir = await start(server, {}, { platform });
  const room = newRoom();
  platform.fail = () => {
    throw new PlatformError("test", "rejected", "no such channel");
  };
  await say(weir, "hello?", { room });
  await settled(weir, room);
  const refused =
    "select from deliveries d join channels c on c.id = d.channel_id where c.name = $1 and d.state = 'failed'";
  while ((await open.sql(refused, room)).length === 0) await new Promise(setImmediate);
  assert.match(await reason(weir, room), /^is answered, but the platform did not take the answer/);
  const row = await open.store.channels.find({ platform: "discord", name: room });
  assert.ok(row !== undefined);
  const from = new Date("2030-01-01T10:00:00Z");
  const to = new Date("2030-01-01T12:00:00Z");
  await open.store.gaps.noteAbsence(row.id, `absence/lost/${room}`, { kind: "lost", from, to }, to);
  assert.match(
    await why(weir, room),
    /^What was said here from 2030-01-01 10:00 to 2030-01-01 12:00 has not reached me: I was away\./,
  );
});

test("/why: another agent was handed the message over, and what became of it there", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  const handsOver = toolCalls([
    { name: "hand_off", arguments: { agent: "researcher", message: "The lake?" } },
  ]);
  scene.script({ main: () => handsOver });
  await told(weir, "how deep is the lake?");
  const answered = await command(weir, "room", "why");
  assert.match(
    answered,
    new RegExp(`^${HEAD}was handed over to Researcher\\.\n\nThe last answer here is Researcher's`),
  );
  scene.script({
    main: () => handsOver,
    researcher: () => toolCalls([{ name: "skip", arguments: { reason: "nobody asked" } }]),
  });
  await weir.say("and how wide?");
  await weir.event("turn_settled", ({ reason: why_ }) => why_ === "nobody asked");
  assert.match(
    await command(weir, "room", "why"),
    /was handed over to Researcher: there it has no answer: the model chose not to answer\. Its reason: nobody asked\n/,
  );
});

const SAID: readonly Partial<InboundMessage>[] = [{ kind: "channel" }, { kind: "thread" }, { kind: "dm" }];

test("/why: where an answer came, nothing is said but what it was made of", async () => {
  await using server = await startModelServer();
  server.respond(() => text("hello"));
  await using weir = await start(server, {});
  for (const said of SAID) {
    const room = newRoom();
    await say(weir, "hello?", { room, ...said });
    await weir.event("reply_delivered", ({ channel }) => channel === `discord:${room}`);
    assert.match(await why(weir, room), /^My last answer here is from /);
  }
});
