// proves: src/features/pairing/feature.ts, src/features/pairing/pairing-desk.ts, src/features/pairing/paired-people.ts, src/features/pairing/pairing-store.ts, src/features/pairing/command.ts, migrations/baseline/20_pairing.sql
// A stranger's direct message: a code, and nothing else; nothing of it is kept or sent to a model.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { ChatPlatformConfig } from "../../../src/config/chat-platform.ts";
import { agentId } from "../../../src/core/ids.ts";
import type { InboundMessage } from "../../../src/core/message.ts";
import { admit, bindPlatform } from "../../../src/router/bindings.ts";
import type { FindLetIn } from "../../../src/router/strangers.ts";
import { PairingStore } from "../../../src/features/pairing/pairing-store.ts";
import { isPairingCode, newPairingCode } from "../../../src/features/pairing/pairing-desk.ts";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type DiscordServer, startDiscordServer } from "../../support/discord/server.ts";
import { echo } from "../../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import type { SlackUser } from "../../support/slack/model.ts";
import { accessTo, type SlackServer, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";
import { type OpenStore, openStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";

const SECRET = "zxqpine";
const CODE = /code is ([A-Z\d]{8})/;

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly model: ModelServer;
  readonly rows: OpenStore;
  readonly olga: string;
  readonly lines: string[];
  start(config?: Partial<ChatPlatformConfig>): Promise<DiscordWeir>;
}

/** Discord with an owner, Olga. */
async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const rows = stack.use(openStore(database.connection));
  const olga = discord.world.addUser({ name: "olga", globalName: "Olga" });
  const lines: string[] = [];
  const kept = stack.move();
  return {
    discord,
    model,
    rows,
    olga,
    lines,
    start: async (config = {}) =>
      kept.use(
        await startDiscordWeir({
          databaseUrl: connectionUrl(database.connection),
          modelUrl: model.url,
          discord: { token: discord.token, apiUrl: discord.api, owners: [olga], ...config },
          binding: { dmAllow: [olga], dmLetsIn: true },
          onLine: (line) => void lines.push(line),
        }),
      ),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** A stranger with a direct channel. */
function stranger({ discord }: Scene, name: string): { readonly id: string; readonly dm: string } {
  const id = discord.world.addUser({ name });
  return { id, dm: discord.world.openDm(id) };
}

/** The code that a stranger was told. */
async function codeIn({ discord }: Scene, dm: string): Promise<string> {
  await until("a code", () => discord.answers(dm).some((text) => CODE.test(text)));
  return CODE.exec(discord.answers(dm).find((text) => CODE.test(text)) ?? "")?.[1] ?? "";
}

test("a stranger gets one code, an owner lets them in at a press, and nothing of before is kept", async () => {
  await using scene = await openScene();
  const { discord, model, rows, olga, lines } = scene;
  const weir = await scene.start();
  const sam = stranger(scene, "sam");
  discord.world.say(sam.id, sam.dm, `the code of the safe is ${SECRET}`);
  const code = await codeIn(scene, sam.dm);
  discord.world.say(sam.id, sam.dm, `hello? ${SECRET}`);
  const owners = discord.world.openDm(olga);
  await until("the owner is told", () => discord.answers(owners).length === 1);
  assert.match(discord.answers(owners)[0] ?? "", new RegExp(`sam \\(discord:${sam.id}\\).*${code}`));
  assert.deepEqual(await rows.sql("select 1 from channels"), []);
  // A command of a stranger opens nothing, either.
  const asked = discord.world.command(sam.id, sam.dm, "remember", { what: SECRET });
  await until("an answer to a command", () => asked.responses()[0]?.isLoading === false);
  assert.deepEqual(await rowsWith(rows, SECRET), []);

  const [told] = discord.world.messages(owners);
  const press = discord.world.press(olga, told?.id ?? "", "Let in");
  await until("it is done", () => press.responses()[0]?.isLoading === false);
  assert.match(press.responses()[0]?.text ?? "", /^sam \(discord:\d+\) is let in/);
  await until("the stranger is told", () => discord.answers(sam.dm).length === 2);
  assert.match(discord.answers(sam.dm)[1] ?? "", /let in/);

  discord.world.say(sam.id, sam.dm, "now you hear me");
  await until("an answer", () => discord.answers(sam.dm)[2]?.includes("now you hear me") === true);
  // The channel's past is its context elsewhere; here it was said before.
  assert.deepEqual(await rowsWith(rows, SECRET), []);
  assert.ok(!JSON.stringify(model.requests.map(({ body }) => body)).includes(SECRET));
  assert.ok(!lines.some((line) => line.includes(SECRET)));
  // A second press finds nobody.
  const again = discord.world.press(olga, told?.id ?? "", "Let in");
  await until("it is said", () => again.responses()[0]?.isLoading === false);
  assert.match(again.responses()[0]?.text ?? "", /Nobody waits/);
  assert.equal((await rows.sql("select 1 from paired_people")).length, 1);
  await weir[Symbol.asyncDispose]();
});

test("what another program changes holds soon, both ways, and survives a restart", async () => {
  await using scene = await openScene();
  const { discord, rows } = scene;
  const weir = await scene.start();
  const sam = stranger(scene, "sam");
  discord.world.say(sam.id, sam.dm, "hello");
  const code = await codeIn(scene, sam.dm);
  const person = { platform: "discord", person: sam.id };
  assert.ok(await new PairingStore(rows.db).letIn({ ...person, code }, "operator"));
  await until("the stranger is told", () => discord.answers(sam.dm).length === 2);
  await weir[Symbol.asyncDispose]();

  await scene.start();
  discord.world.say(sam.id, sam.dm, "after a restart");
  await until("an answer", () => discord.answers(sam.dm).some((text) => text.includes("after a restart")));
  const [channel] = await rows.sql<{ id: number }>("select id from channels");
  await rows.sql(
    `insert into reminders (channel_id, time_zone, text, next_at, asked_key, asked_seq, asker_id)
     values ($1, 'UTC', 'water the plants', now() + interval '1 hour', 'k', 1, $2)`,
    channel?.id,
    sam.id,
  );
  const before = discord.answers(sam.dm).length;
  assert.ok(await new PairingStore(rows.db).remove(person));
  assert.ok(!(await new PairingStore(rows.db).remove(person)));
  const [reminder] = await rows.sql<{ state: string }>("select state from reminders");
  assert.equal(reminder?.state, "cancelled");
  // A stranger again as soon as the daemon has looked: they are told a new code.
  await until("a new code", async () => {
    discord.world.say(sam.id, sam.dm, "still there?");
    await delay(250);
    return discord
      .answers(sam.dm)
      .slice(before)
      .some((text) => CODE.test(text));
  });
});

function dmOf(person: string): InboundMessage {
  return {
    type: "message",
    channel: { platform: "discord", name: "1" },
    kind: "dm",
    workspace: "",
    id: "m1",
    author: { id: person, name: person, isBot: false },
    text: "hello",
    at: new Date(),
    addressed: true,
  };
}

test("a crowd of strangers shuts nobody out, its owner hears of all once a minute, and a code is no more valid after an hour", async () => {
  await using scene = await openScene();
  const { discord, rows, olga } = scene;
  await scene.start();
  const owners = discord.world.openDm(olga);
  const people = ["ann", "ben", "cyd", "dan"].map((name) => stranger(scene, name));
  const [first, ...others] = people;
  assert.ok(first !== undefined);
  discord.world.say(first.id, first.dm, "hello");
  await codeIn(scene, first.dm);
  await until("the owner is told", () => discord.answers(owners).length === 1);
  const codes: string[] = [];
  for (const [index, { id, dm }] of others.entries()) {
    assert.equal(discord.answers(owners).length, 1, "not within the minute");
    // The last of them asks when it has passed.
    if (index === 2) await rows.sql("update pairing_news set told_at = told_at - interval '1 minute'");
    discord.world.say(id, dm, "hello");
    codes.push(await codeIn(scene, dm));
  }
  await until("the owner is told of the others", () => discord.answers(owners).length > 1);
  const [, second = ""] = discord.answers(owners);
  assert.match(second, /^3 people ask to be let in: /);
  for (const code of codes) assert.ok(second.includes(code));
  assert.equal(discord.answers(owners).length, 2);
  const [request] = await new PairingStore(rows.db).open("discord");
  assert.equal(request?.person, first.id);
  await rows.sql(
    "update pairing_requests set asked_at = asked_at - interval '61 minutes' where person = $1",
    first.id,
  );
  assert.ok(request !== undefined && !(await new PairingStore(rows.db).letIn(request, "operator")));
  discord.world.say(first.id, first.dm, "and now?");
  await until("a new code", () => discord.answers(first.dm).length === 2);
});

test("only named owners let people in, and guessing ends after five wrong codes", async () => {
  await using scene = await openScene();
  const { discord, olga } = scene;
  await scene.start();
  const sam = stranger(scene, "sam");
  discord.world.say(sam.id, sam.dm, "hello");
  const code = await codeIn(scene, sam.dm);
  const say = async (who: string, dm: string, argument: string): Promise<string> => {
    const call = discord.world.command(who, dm, "pair", { code: argument });
    await until("an answer", () => call.responses()[0]?.isLoading === false);
    return call.responses()[0]?.text ?? "";
  };
  assert.match(await say(sam.id, sam.dm, code), /owners only/);
  const owners = discord.world.openDm(olga);
  for (let wrong = 0; wrong < 5; wrong++)
    assert.match(await say(olga, owners, newPairingCode()), /Nobody waits/);
  assert.match(await say(olga, owners, code), /too many wrong codes/);
});

interface SlackScene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  readonly rows: OpenStore;
  readonly olga: SlackUser;
  /** A stranger. */
  readonly sam: SlackUser;
  start(): Promise<SlackWeir>;
}

/** Slack with an owner, Olga. */
async function openSlackScene(): Promise<SlackScene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const slack = stack.use(await startSlackServer({}));
  const database = stack.use(await createTestDatabase());
  const rows = stack.use(openStore(database.connection));
  const [olga, sam] = [slack.world.addUser("olga"), slack.world.addUser("sam")];
  const kept = stack.move();
  return {
    slack,
    model,
    rows,
    olga,
    sam,
    start: async () =>
      startSlackWeir({
        databaseUrl: connectionUrl(database.connection),
        modelUrl: model.url,
        slack: {
          ...accessTo(slack),
          owners: [olga.id],
        },
        binding: { dmAllow: [olga.id], dmLetsIn: true },
      }),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

test("Slack: the same by typed commands", async () => {
  await using scene = await openSlackScene();
  const { slack, model, rows, olga, sam } = scene;
  const [owners, dm] = [slack.world.openIm(olga), slack.world.openIm(sam)];
  await using _ = await scene.start();
  slack.world.say(sam, dm, `I know ${SECRET}`);
  const shown = (channel: typeof dm): string[] => slack.messages(channel).map(({ text }) => text);
  await until("a code", () => shown(dm).some((text) => CODE.test(text)));
  const code = CODE.exec(shown(dm).join("\n"))?.[1] ?? "";
  await until("the owner is told", () => shown(owners).some((text) => text.includes(code)));
  slack.world.say(olga, owners, `/pair ${code.toLowerCase()}`);
  await until("the stranger is told", () => shown(dm).some((text) => text.includes("You were let in")));
  slack.world.say(sam, dm, "now you hear me");
  await until("an answer", () => shown(dm).filter((text) => text.includes("now you hear me")).length === 2);
  assert.deepEqual(await rowsWith(rows, SECRET), []);
  assert.ok(!JSON.stringify(model.requests.map(({ body }) => body)).includes(SECRET));
});

test("Slack: a stranger who wrote while Weir was away gets the code when it is back, once, and nothing of it is kept", async () => {
  await using scene = await openSlackScene();
  const { slack, model, rows, olga, sam } = scene;
  const dm = slack.world.openIm(sam);
  const codes = (): string[] => slack.messages(dm).flatMap(({ text }) => CODE.exec(text)?.[1] ?? []);
  for (const run of ["first", "second", "third"]) {
    const weir = await scene.start();
    if (run === "second") await until("a code", () => codes().length > 0);
    // Whoever may write is heard when what was missed has been read.
    slack.world.say(olga, slack.world.openIm(olga), `are you there, ${run}?`);
    await until("an answer", () =>
      slack
        .messages(slack.world.openIm(olga))
        .some(({ text }) => text.startsWith("You said") && text.includes(run)),
    );
    await weir[Symbol.asyncDispose]();
    if (run === "first")
      for (const words of ["hello", "are you away"]) slack.world.say(sam, dm, `${words}? ${SECRET}`);
  }
  assert.equal(codes().length, 1);
  assert.deepEqual(await rowsWith(rows, SECRET), []);
  assert.ok(!JSON.stringify(model.requests.map(({ body }) => body)).includes(SECRET));
});

test("codes have no letters that are taken for others, and are typed in any case", () => {
  for (let count = 0; count < 200; count++)
    assert.match(newPairingCode(), /^[ACDEFGHJKMNPQRTUVWXY34679]{8}$/);
  assert.ok(isPairingCode("acde-fghj ", "ACDEFGHJ"));
  assert.ok(!isPairingCode("ACDEFGHK", "ACDEFGHJ"));
  assert.ok(!isPairingCode("", "ACDEFGHJ"));
});

test("who is let in is a matter of direct messages, and of what is said since", () => {
  const binding = { ...bindPlatform("discord", agentId("main")), dmAllow: ["olga"], dmLetsIn: true };
  const since = new Date("2026-11-01");
  const unreadTo = new Date("2026-10-31T23:00Z");
  const paired: FindLetIn = (_, person) => (person === "sam" ? { since, unreadTo, unreadIds: ["m0"] } : null);
  const outcome = (message: Partial<InboundMessage>): string =>
    admit(binding, { ...dmOf("sam"), ...message }, false, () => true, paired).outcome;
  assert.equal(outcome({}), "turn");
  assert.equal(outcome({ author: { id: "tom", name: "Tom", isBot: false } }), "ignored");
  assert.equal(outcome({ author: { id: "olga", name: "Olga", isBot: false } }), "turn");
  // By a platform's clock that is an hour behind.
  assert.equal(outcome({ at: new Date("2026-10-31T22:59Z") }), "ignored");
  assert.equal(outcome({ at: unreadTo, id: "m0" }), "ignored");
  assert.equal(outcome({ at: unreadTo }), "turn");
  assert.equal(outcome({ isBackground: true, at: new Date("2026-10-31") }), "ignored");
  assert.equal(outcome({ isBackground: true, at: new Date("2026-11-02") }), "listened");
  // A conversation of several people is a channel.
  assert.equal(outcome({ kind: "channel", author: { id: "tom", name: "Tom", isBot: false } }), "turn");
});
