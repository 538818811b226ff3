// proves: src/admin/commands/memory.ts, src/platforms/intake/gaps.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerText } from "../../../src/core/card.ts";
import type { ChannelAddress } from "../../../src/core/ids.ts";
import type { Daemon } from "../../../src/daemon/daemon.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../../support/database.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { until } from "../../support/patience.ts";
import { startDiscordServer } from "../../support/discord/server.ts";
import { echo } from "../../support/e2e-model.ts";
import { startModelServer } from "../../support/model-server.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

async function command(
  daemon: Daemon,
  channel: ChannelAddress,
  name: string,
  argument = "",
): Promise<string> {
  const asker = { id: "u", name: "Ann", roles: [] };
  return answerText(await daemon.inbox.command({ channel, name, argument, asker }));
}

/** Leaves a message of Weir's own as the newest of the channel. */
async function remembersTea(daemon: Daemon, channel: ChannelAddress): Promise<void> {
  assert.match(await command(daemon, channel, "remember", "I like green tea"), /^Remembered/);
}

async function knowsTea(daemon: Daemon, channel: ChannelAddress): Promise<void> {
  assert.match(await command(daemon, channel, "memory"), /I like green tea/);
}

test("Discord: what is said without a connection after /remember is answered, and the memory stays", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using discord = await startDiscordServer();
  await using database = await createTestDatabase();
  const { world, gateway } = discord;
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const dm = world.openDm(ann);
  await using weir = await startDiscordWeir({
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    discord: { token: discord.token, apiUrl: discord.api },
  });
  const channel = { platform: "discord", name: dm };
  world.say(ann, dm, "hello");
  await until("an answer", () => discord.answers(dm).length === 1);
  await remembersTea(weir.daemon, channel);
  for (const count of [2, 3]) {
    gateway.forgetSessions();
    gateway.cut();
    world.say(ann, dm, `are you there, ${count}?`);
    await until("another answer", () => discord.answers(dm).length === count);
  }
  await knowsTea(weir.daemon, channel);
});

test("Slack: what is said while Weir does not run after /remember is answered, and the memory stays", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using slack = await startSlackServer({ retryDelaysMs: [] });
  await using database = await createTestDatabase();
  const { world } = slack;
  const start = async () =>
    startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: accessTo(slack),
    });
  const ann = world.addUser("ann");
  const dm = world.openIm(ann);
  const channel = { platform: "slack", name: dm.id };
  {
    await using weir = await start();
    world.say(ann, dm, "hello");
    await slack.journal.until("an answer", () => botTexts(slack, dm).length === 1);
    await remembersTea(weir.daemon, channel);
  }
  for (const count of [2, 3]) {
    slack.deliveries.dropNext(1);
    world.say(ann, dm, `still there, ${count}?`);
    await using weir = await start();
    await slack.journal.until("another answer", () => botTexts(slack, dm).length === count);
    await knowsTea(weir.daemon, channel);
  }
});
