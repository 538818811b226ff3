// proves: src/platforms/discord/inbound/reader.ts, src/platforms/slack/inbound/reader.ts
// Several agents in one channel of Discord and of Slack: roles, people of the same name, and names as each platform shows them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../../support/database.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { startDiscordServer } from "../../support/discord/server.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

const RESEARCHER =
  '[[agents]]\nid = "researcher"\nname = "Researcher"\nmodel = "other-model"\nmention_roles = ["Scientists"]\n';
const BINDING = { also: [agentId("researcher")] };

function answersByModel(model: ModelServer): void {
  model.respond((request) =>
    text(request.model === "other-model" ? ["I am ", "**another**."] : "I am Weir."),
  );
}

test("on Discord a role reaches its agent, /ask does, and a person who is called like it does not", async () => {
  await using model = await startModelServer();
  await using discord = await startDiscordServer();
  await using database = await createTestDatabase();
  answersByModel(model);
  const { world } = discord;
  const guild = world.addGuild({ name: "Mill" });
  const general = world.addChannel({ guild, name: "general" });
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const namesake = world.addUser({ name: "researcher", globalName: "Researcher" });
  const role = world.addRole(guild, "Scientists");
  await using weir = await startDiscordWeir({
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    discord: { token: discord.token, apiUrl: discord.api },
    agent: RESEARCHER,
    binding: BINDING,
  });
  const said = async (count: number): Promise<string[]> => {
    await until("the answers", () => {
      return weir.events.filter(({ type }) => type === "reply_delivered").length >= count;
    });
    return discord
      .messages(general)
      .filter(({ isBots }) => isBots)
      .map((message) => message.text);
  };
  const own = "I am Weir.";
  const other = "**Researcher:** I am **another**.";
  world.say(ann, general, `<@&${role}> who are you?`);
  assert.deepEqual(await said(1), [other]);
  world.say(ann, general, `<@${world.botId}> is <@${namesake}> there?`);
  assert.deepEqual(await said(2), [other, own]);
  world.say(ann, general, `<@${world.botId}> /ask researcher who are you?`);
  assert.deepEqual(await said(3), [other, own, other]);
  world.command(ann, general, "ask", { argument: "researcher who are you?" });
  assert.deepEqual(await said(4), [other, own, other, other]);
});

test("on Slack another agent's answer begins with its name in bold, also while it grows", async () => {
  await using model = await startModelServer();
  await using slack = await startSlackServer({ retryDelaysMs: [0, 200] });
  await using database = await createTestDatabase();
  model.respond(() => text(["I ", "am ", "**another**."], { delayMs: 30 }));
  const { world } = slack;
  await using weir = await startSlackWeir({
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    slack: accessTo(slack),
    agent: RESEARCHER,
    binding: BINDING,
  });
  const ann = world.addUser("ann");
  const namesake = world.addUser("researcher", { displayName: "Researcher" });
  const channel = world.addChannel({ name: "weather", members: [ann, namesake] });
  world.say(ann, channel, "@researcher who are you?");
  const delivered = (): number => weir.events.filter(({ type }) => type === "reply_delivered").length;
  await slack.journal.until("the answer", () => delivered() >= 1);
  await slack.deliveries.idle();
  assert.deepEqual(botTexts(slack, channel), ["*Researcher:* I am *another*."]);
  const shown = slack.journal.calls("chat.postMessage").map(({ args }) => JSON.stringify(args));
  assert.ok(shown.every((body) => body.includes("*Researcher:* ")));
  const asked = model.requests.length;
  world.say(ann, channel, `<@${namesake.id}> are you there?`);
  world.say(ann, channel, `<@${world.bot.id}> and you?`);
  await slack.journal.until("the second answer", () => delivered() >= 2);
  assert.deepEqual(
    model.requests.slice(asked).map(({ body }) => body.model),
    ["test-model"],
  );
});
