// proves: src/router/channel-erasure.ts, src/store/deletion/erasures.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelAddress } from "../../../src/core/ids.ts";
import type { Daemon } from "../../../src/daemon/daemon.ts";
import { openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordServer, startDiscordServer } from "../../support/discord/server.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";
import { Patience, until } from "../../support/patience.ts";

/** What people said there, as the log has it now. */
async function saidIn({ store }: Daemon, address: ChannelAddress): Promise<string[]> {
  const row = await store.channels.find(address);
  if (row === undefined) return [];
  const entries = await store.log.read(row.id, 1, row.lastSeq);
  return entries.flatMap((entry) => (entry.kind === "user" && !entry.deleted ? [entry.text] : []));
}

async function untilSaid(daemon: Daemon, address: ChannelAddress, count: number): Promise<void> {
  let last = -1;
  for (const patience = new Patience(() => last); patience.whyOver() === null;) {
    last = (await saidIn(daemon, address)).length;
    if (last === count) return;
  }
  assert.equal(last, count);
}

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly start: () => Promise<DiscordWeir>;
  readonly sql: (text: string) => Promise<unknown>;
  readonly ann: string;
  readonly guild: string;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(() => text("Noted."));
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const options = {
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    discord: { token: discord.token, apiUrl: discord.api },
  };
  const guild = discord.world.addGuild({ name: "Mill" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const store = stack.use(openStore(database.connection));
  const kept = stack.move();
  return {
    discord,
    start: async () => startDiscordWeir(options),
    sql: async (statement) => store.sql(statement),
    ann,
    guild,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

const at = (name: string): ChannelAddress => ({ platform: "discord", name });

test("a channel that is deleted on Discord goes from the log, its threads with it, and no other", async () => {
  await using scene = await openScene();
  const { discord, ann, guild } = scene;
  const { world } = discord;
  const [doomed, other] = [
    world.addChannel({ guild, name: "doomed" }),
    world.addChannel({ guild, name: "other" }),
  ];
  await using weir = await scene.start();
  for (let count = 0; count < 250; count++) world.say(ann, doomed, `secret ${count}`);
  world.say(ann, other, "stays");
  const root = world.say(ann, doomed, "plans");
  const thread = world.openThread(doomed, { name: "plans", owner: ann, fromMessage: root });
  world.say(ann, thread, "secret, too");
  const lone = world.openThread(other, { name: "lone", owner: ann });
  world.say(ann, lone, "a thread's own secret");
  await untilSaid(weir.daemon, at(doomed), 251);
  await until("the threads", () => weir.events.some(({ type }) => type === "message_accepted"));
  await untilSaid(weir.daemon, at(other), 1);
  const route = "/channels/:channel";
  discord.faults.next({ method: "GET", route, fault: { kind: "status", status: 503 } });
  world.removeChannel(doomed);
  world.removeChannel(lone);
  for (const gone of [doomed, thread, lone]) await untilSaid(weir.daemon, at(gone), 0);
  assert.deepEqual(await saidIn(weir.daemon, at(other)), ["stays"]);
  const row = await weir.daemon.store.channels.find(at(thread));
  assert.ok(row !== undefined && row.lastSeq > 0, "the thread was in the log");
});

test("a channel that the bot may not see any more, an archived thread, an outage and a lost server are no deletions", async () => {
  await using scene = await openScene();
  const { discord, ann, guild } = scene;
  const { world } = discord;
  const general = world.addChannel({ guild, name: "general" });
  await using weir = await scene.start();
  const thread = world.openThread(general, { name: "plans", owner: ann });
  world.say(ann, general, "stays");
  world.say(ann, thread, "stays");
  await untilSaid(weir.daemon, at(general), 1);
  await until("the thread", () => weir.events.filter(({ type }) => type === "message_accepted").length >= 2);
  const before = await saidIn(weir.daemon, at(thread));
  world.archive(thread);
  world.hideChannel(general);
  world.removeGuild(guild, { isOutage: true });
  world.removeGuild(guild);
  await until("Discord was asked", () =>
    discord.journal.calls("GET", "/channels/:channel").some(({ path }) => path.endsWith(general)),
  );
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(await saidIn(weir.daemon, at(general)), ["stays"]);
  assert.deepEqual(await saidIn(weir.daemon, at(thread)), before);
});

test("an erasure that a crash cut off goes on at the next start", async () => {
  await using scene = await openScene();
  const { discord, ann, guild, sql } = scene;
  const general = discord.world.addChannel({ guild, name: "general" });
  {
    await using weir = await scene.start();
    for (let count = 0; count < 5; count++) discord.world.say(ann, general, `secret ${count}`);
    await untilSaid(weir.daemon, at(general), 5);
  }
  // What is there when the process dies right behind the note.
  await sql("update channels set gone_at = now()");
  await using weir = await scene.start();
  await untilSaid(weir.daemon, at(general), 0);
});

test("a channel that is deleted on Slack goes from the log; one that is left or archived stays", async () => {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(() => text("Noted."));
  const slack = stack.use(await startSlackServer());
  const database = stack.use(await createTestDatabase());
  const { world } = slack;
  const ann = world.addUser("ann");
  const [doomed, left, archived] = ["doomed", "left", "archived"].map((name) =>
    world.addChannel({ name, members: [ann], private: name === "doomed" }),
  );
  assert.ok(doomed !== undefined && left !== undefined && archived !== undefined);
  const weir = stack.use(
    await startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: accessTo(slack),
    }),
  );
  const slackAt = (name: string): ChannelAddress => ({ platform: "slack", name });
  for (const channel of [left, archived]) world.say(ann, channel, "stays");
  const root = world.say(ann, doomed, "a secret");
  world.say(ann, doomed, "secret, too", { threadTs: root });
  for (const { id } of [left, archived, doomed]) await untilSaid(weir.daemon, slackAt(id), 1);
  await untilSaid(weir.daemon, slackAt(`${doomed.id}/${root}`), 2);
  world.leave(world.bot, left);
  world.archive(archived);
  world.removeChannel(doomed);
  await untilSaid(weir.daemon, slackAt(doomed.id), 0);
  await untilSaid(weir.daemon, slackAt(`${doomed.id}/${root}`), 0);
  for (const { id } of [left, archived]) assert.deepEqual(await saidIn(weir.daemon, slackAt(id)), ["stays"]);
});
