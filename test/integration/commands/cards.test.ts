// proves: src/admin/reports/context-card.ts, src/platforms/discord/outbound/card.ts, src/platforms/slack/outbound/card.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { command, commandAnswer } from "../../support/commands.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { ROUTE_MESSAGES, startDiscordServer } from "../../support/discord/server.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { until } from "../../support/patience.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { connectionUrl, startWeir } from "../../support/weir.ts";

const SUMMARY = /^\d+(?:\.\d)? % of [\d,]+ usable tokens: low$/;

test("/context is a box on Discord, for the asker alone or in the channel, and the text where Discord refuses it; /why is a box, too", async () => {
  await using model = await startModelServer();
  await using discord = await startDiscordServer();
  await using database = await createTestDatabase();
  const guild = discord.world.addGuild({ name: "Mill *west*" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  model.respond(() => text("Noted."));
  await using weir = await startDiscordWeir({
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    discord: { token: discord.token, apiUrl: discord.api },
  });
  const mention = `<@${discord.world.botId}>`;
  discord.world.say(ann, general, `${mention} hello`);
  await until("an answer", () => weir.events.some(({ type }) => type === "reply_delivered"));
  await until("the commands", () => discord.commands().includes("context"));

  const call = discord.world.command(ann, general, "context");
  await until("the card", () => call.responses().some(({ isLoading }) => !isLoading));
  const [answer] = call.responses();
  assert.equal(answer?.isEphemeral, true);
  const [title, summary, ...rest] = (answer?.text ?? "").split("\n");
  assert.equal(title, "### #general in Mill \\*west\\* · agent main · model test-model");
  assert.match(summary ?? "", SUMMARY);
  assert.match(rest.join("\n"), /^```\n█*░+\n {24}▲▲ {2}▲\n```\n▲ background 80 %[^]*\*\*Cost by type\*\*/);
  const why = discord.world.command(ann, general, "why");
  await until("the sources", () => why.responses().some(({ isLoading }) => !isLoading));
  const drawn = discord.journal.calls("PATCH", "/webhooks/:application/:token/messages/:message").at(-1);
  assert.match(JSON.stringify(drawn?.body), /"components":\[\{"type":17/);

  discord.world.say(ann, general, `${mention} /context`);
  await until("a card in the channel", () =>
    discord.answers(general).some((said) => said.startsWith("### #general in")),
  );
  discord.faults.next({
    method: "POST",
    route: ROUTE_MESSAGES,
    fault: { kind: "status", status: 400, body: { message: "Invalid Form Body", code: 50_035 } },
  });
  discord.world.say(ann, general, `${mention} /context`);
  await until("its text", () => discord.answers(general).some((said) => said.startsWith("```\n#general in")));
  // The greeting, the card and the text.
  assert.equal(discord.answers(general).length, 3);
});

test("/context is made of blocks on Slack, for the asker alone, also behind a mention", async () => {
  await using model = await startModelServer();
  await using slack = await startSlackServer({ retryDelaysMs: [0, 200] });
  await using database = await createTestDatabase();
  model.respond(() => text("Noted."));
  await using weir = await startSlackWeir({
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    slack: accessTo(slack),
  });
  const ann = slack.world.addUser("ann");
  const general = slack.world.addChannel({ name: "general", members: [ann] });
  const mention = `<@${slack.world.bot.id}>`;
  slack.world.say(ann, general, `${mention} hello`);
  await slack.journal.until("an answer", () => weir.events.some(({ type }) => type === "reply_delivered"));

  const call = slack.world.command(ann, general, "/weir", "context");
  await slack.journal.until("a card", () => call.posts.length > 0);
  assert.equal(call.posts[0]?.type, "ephemeral");
  assert.match(call.posts[0]?.text ?? "", SUMMARY);
  assert.match(JSON.stringify(call.posts[0]?.body["blocks"]), /"#general in .*🟢.*▲.*\*Cost by type\*/);

  slack.world.say(ann, general, `${mention} /context`);
  await until("a card", () => slack.ephemerals.length === 1);
  slack.faults.next({ method: "chat.postEphemeral", fault: "error", error: "invalid_blocks" });
  slack.world.say(ann, general, `${mention} /context`);
  await until("its text", () => slack.ephemerals.length > 1);
  const [card, written] = slack.ephemerals;
  assert.match(JSON.stringify(card?.blocks), /\*Cost by type\*/);
  assert.deepEqual([written?.user, written?.blocks], [ann.id, undefined]);
  assert.match(written?.text ?? "", /^```\n#general in/);
});

test("/context shows no key or password, whoever has said it", async () => {
  await using model = await startModelServer();
  await using database = await createTestDatabase();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: model.url,
    config: `${OWNED}\n[[agents]]\nid = "main"\nmodel = "test-model"\n`,
    platform: new TestPlatform({ serves: () => true }),
  });
  const channel = { platform: "discord", name: "open" };
  await weir.say("hello", { channel, room: "open", workspace: "w", addressed: false });
  // The configuration takes the token of Discord from the variable with this address.
  const remembered = await command(weir, "open", `remember the token is ${model.url}`, OWNER, "discord");
  assert.match(remembered, /^Remembered/);
  const answer = await commandAnswer(weir, "open", "context", OWNER, "discord");
  assert.match(JSON.stringify(answer), /the token is •••[^]*the token is •••/);
  assert.ok(!JSON.stringify(answer).includes(model.url));
});
