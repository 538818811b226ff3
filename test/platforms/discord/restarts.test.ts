// proves: src/platforms/discord/gateway/shard-intake.ts, src/platforms/discord/gateway/session-keeper.ts, src/platforms/discord/gateway/session.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayOpcodes } from "discord.js";
import { pino } from "pino";
import { createDiscord } from "../../../src/platforms/discord/adapter.ts";
import type { DiscordConfig } from "../../../src/platforms/discord/row.ts";
import type { Platform } from "../../../src/platforms/platform.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../../support/discord/server.ts";
import { until } from "../../support/patience.ts";
import { RecordingInbox } from "../recording-inbox.ts";
import { COMMANDS, discordConfig, FAST, gapAfter } from "./discord-harness.ts";

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly inbox: RecordingInbox;
  readonly ann: string;
  readonly guild: string;
  readonly general: string;
  /** Starts another process on what the one before has left. */
  start(config?: Partial<DiscordConfig>): Promise<Platform>;
}

/** Discord with Ann in #general, and a log that outlives each process. */
async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const discord = stack.use(await startDiscordServer());
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const inbox = new RecordingInbox();
  const processes = stack.use(new AsyncDisposableStack());
  const kept = stack.move();
  return {
    discord,
    inbox,
    ann,
    guild,
    general,
    async start(config = {}) {
      const platform = processes.use(
        createDiscord({
          config: discordConfig(discord, config),
          log: pino({ level: "silent" }),
          commands: COMMANDS,
          timing: FAST,
        }),
      );
      await platform.start(inbox, inbox);
      return platform;
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The number of the newest event that was sent to the bot. */
function newestSequence({ discord }: Scene): number {
  return Math.max(...discord.journal.gateway.map(({ direction, s = 0 }) => (direction === "out" ? s : 0)));
}

async function untilKept(scene: Scene): Promise<void> {
  await until("the place", () => scene.inbox.sessions.get(0)?.sequence === newestSequence(scene));
}

test("a restart goes on with the session: what was said meanwhile comes once, and nothing is fetched", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, general } = scene;
  const first = await scene.start();
  discord.world.say(ann, general, "before");
  await untilKept(scene);
  await first[Symbol.asyncDispose]();
  assert.equal(inbox.sessions.get(0)?.sequence, newestSequence(scene));
  const gone = discord.world.say(ann, general, "said while it was off, and taken back");
  discord.world.say(ann, general, "meanwhile");
  discord.world.remove(gone);
  const fetched = discord.journal.calls("GET", ROUTE_MESSAGES).length;
  const second = await scene.start();
  assert.equal(second.connection?.().kind, "connected");
  discord.world.say(ann, general, "after");
  await until("all of it", () => inbox.said.includes("Ann: after"));
  assert.deepEqual(
    inbox.said.filter((text) => !text.includes("taken back")),
    ["Ann: before", "Ann: meanwhile", "Ann: after"],
  );
  assert.ok(inbox.events.some(({ type, id }) => type === "deletion" && id === gone));
  assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 1);
  assert.equal(discord.journal.received(GatewayOpcodes.Resume).length, 1);
  assert.equal(discord.journal.calls("GET", ROUTE_MESSAGES).length, fetched);
  assert.deepEqual(inbox.askedGaps, ["all", "recorded"]);
});

test("a resumed bot knows who and where it is", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, general } = scene;
  const first = await scene.start();
  await untilKept(scene);
  await first[Symbol.asyncDispose]();
  const mention = `<@${discord.world.botId}>`;
  discord.world.say(ann, general, `${mention} are you there? I asked in <#${general}>`);
  const platform = await scene.start();
  await inbox.received(1);
  const [event] = inbox.events;
  assert.ok(event?.type === "message" && event.addressed);
  assert.equal(event.text, "@weir are you there? I asked in #general");
  assert.deepEqual(event.place, { workspace: "Mill", channel: "general", parent: null });
  assert.equal(event.isPrivate, false);
  await until("the servers", () => platform.connection?.().as === "weir in 1 server");
  discord.world.hideChannel(general);
  await until("word of it", () => inbox.privacy.get(general) === true);
});

test("a session that Discord has forgotten is left for a new one, and what was missed is fetched", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, general } = scene;
  const first = await scene.start();
  const before = discord.world.say(ann, general, "before");
  await untilKept(scene);
  await first[Symbol.asyncDispose]();
  discord.gateway.forgetSessions();
  inbox.gaps = [gapAfter(scene, before)];
  discord.world.say(ann, general, "meanwhile");
  await scene.start();
  await until("the missed", () => inbox.said.includes("Ann: meanwhile"));
  assert.equal(discord.journal.received(GatewayOpcodes.Resume).length, 1);
  assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 2);
});

for (const [what, config, age] of [
  ["for longer than a question may wait", { catchUpMaxAgeMs: 1000 }, 1001],
  ["for longer than Discord keeps a session", {}, 600_001],
  ["as another bot", {}, 0],
  ["with another number of shards", {}, 0],
] as const) {
  test(`a session that was left ${what} is not tried`, async () => {
    await using scene = await openScene();
    const { discord, inbox } = scene;
    const first = await scene.start();
    await untilKept(scene);
    await first[Symbol.asyncDispose]();
    const kept = inbox.sessions.get(0);
    assert.ok(kept);
    const other = what === "as another bot" ? { account: "1" } : {};
    const divided = what.startsWith("with another") ? { shards: 2 } : {};
    inbox.sessions.set(0, { ...kept, ageMs: age, ...other, ...divided });
    await scene.start(config);
    assert.equal(discord.journal.received(GatewayOpcodes.Resume).length, 0);
    assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 2);
  });
}

test("the place never stands above what is in the log: a process that dies while it stores loses nothing", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, general } = scene;
  const store = inbox.receive.bind(inbox);
  const isStuck = Promise.withResolvers<void>();
  const stuck = Promise.withResolvers<never>();
  inbox.receive = async (event) => {
    if (event.type !== "message" || event.text !== "stuck") return store(event);
    isStuck.resolve();
    return stuck.promise;
  };
  const other = discord.world.addChannel({ guild: scene.guild, name: "other" });
  await scene.start();
  await untilKept(scene);
  discord.world.say(ann, general, "stuck");
  await isStuck.promise;
  const before = newestSequence(scene) - 1;
  discord.world.say(ann, other, "later");
  await until("the later one", () => inbox.said.includes("Ann: later"));
  // Long enough for the place to be kept, were it to move.
  await new Promise((resolve) => {
    setTimeout(resolve, 600);
  });
  assert.equal(inbox.sessions.get(0)?.sequence, before);
  // The process is frozen from here on; the next one begins beside it.
  discord.gateway.cut();
  inbox.receive = store;
  await scene.start();
  await until("the stuck one", () => inbox.said.includes("Ann: stuck"));
  assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 1);
  stuck.reject(new Error("the process is over"));
});

test("while messages are missing, the place is not kept", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, general } = scene;
  const first = discord.world.say(ann, general, "first");
  inbox.gaps = [gapAfter(scene, first)];
  discord.world.say(ann, general, "missed");
  discord.faults.next({ method: "GET", route: ROUTE_MESSAGES, fault: { kind: "delay", ms: 700 } });
  let atFirst: number | null = null;
  inbox.onEvent = (event) => {
    if (event.type === "message" && event.text === "missed") atFirst = inbox.sessions.size;
  };
  await scene.start();
  await until("the missed", () => atFirst !== null);
  assert.equal(atFirst, 0);
  await untilKept(scene);
});
