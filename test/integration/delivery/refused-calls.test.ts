// proves: src/channel/delivery/part-sender.ts, src/channel/delivery/loss-report.ts, src/platforms/discord/outbound/poster.ts, src/platforms/slack/outbound/poster.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type DiscordServer, startDiscordServer } from "../../support/discord/server.ts";
import { heldText, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { accessTo, type SlackServer, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";

const LINES = Array.from({ length: 80 }, (_, index) => `line ${index}: ${"words ".repeat(12)}`);
const [BEGINNING, REST] = [LINES.slice(0, 3).join("\n"), `\n${LINES.slice(3).join("\n")}`];
const ROUTE_MESSAGES = "/channels/:channel/messages";
const ROUTE_MESSAGE = `${ROUTE_MESSAGES}/:message`;

/** What people see of a platform's messages, as one text. */
function asOne(texts: readonly string[]): string {
  return texts.join(" ").replaceAll(/\s+/g, " ").trim();
}
const WHOLE = asOne(LINES);

async function discordWeir(
  own: TestDatabase,
  model: ModelServer,
  discord: DiscordServer,
  more: { streaming?: boolean; owners?: readonly string[] } = {},
): Promise<DiscordWeir> {
  const { streaming = true, owners = [] } = more;
  return startDiscordWeir({
    databaseUrl: connectionUrl(own.connection),
    modelUrl: model.url,
    discord: { token: discord.token, apiUrl: discord.api, owners: [...owners] },
    binding: { streaming },
  });
}

async function slackWeir(
  own: TestDatabase,
  model: ModelServer,
  slack: SlackServer,
  streaming = true,
): Promise<SlackWeir> {
  return startSlackWeir({
    databaseUrl: connectionUrl(own.connection),
    modelUrl: model.url,
    slack: accessTo(slack),
    binding: { streaming },
  });
}

function isDelivered({ events }: { readonly events: DiscordWeir["events"] }): boolean {
  return events.some(({ type }) => type === "reply_delivered");
}

for (const [status, code, what] of [
  [404, 10_008, "Unknown Message"],
  [403, 50_001, "Missing Access"],
  [403, 50_013, "Missing Permissions"],
  [400, 50_035, "Invalid Form Body"],
  [400, 30_046, "Maximum number of edits to messages older than 1 hour reached"],
  [409, 999_999, "a refusal of which nobody has heard"],
] as const)
  test(`Discord refuses every edit for good (${code}): the whole answer is there once`, async () => {
    await using model = await startModelServer();
    await using own = await createTestDatabase();
    await using discord = await startDiscordServer();
    const { world, faults } = discord;
    const general = world.addChannel({ guild: world.addGuild({ name: "Mill" }), name: "general" });
    const ann = world.addUser({ name: "ann", globalName: "Ann" });
    const { promise, resolve } = Promise.withResolvers<void>();
    model.respond(() => heldText(BEGINNING, promise, REST));
    await using weir = await discordWeir(own, model, discord);
    world.say(ann, general, `<@${world.botId}> tell me all`);
    await until("the draft", () => discord.answers(general).length === 1);
    const body = { message: what, code };
    faults.next({
      method: "PATCH",
      route: ROUTE_MESSAGE,
      times: Infinity,
      fault: { kind: "status", status, body },
    });
    resolve();
    await until("the answer", () => isDelivered(weir));
    // Of a message that Discord says is gone, nothing is deleted.
    const shown = discord.answers(general).slice(code === 10_008 ? 1 : 0);
    assert.equal(asOne(shown), WHOLE);
  });

for (const error of [
  "msg_too_long",
  "message_not_found",
  "cant_update_message",
  "edit_window_closed",
  "is_inactive",
  "a_code_of_next_year",
])
  test(`Slack refuses every edit for good (${error}): the whole answer is there once`, async () => {
    await using model = await startModelServer();
    await using own = await createTestDatabase();
    await using slack = await startSlackServer();
    const ann = slack.world.addUser("ann");
    const general = slack.world.addChannel({ name: "general", members: [ann] });
    const { promise, resolve } = Promise.withResolvers<void>();
    model.respond(() => heldText(BEGINNING, promise, REST));
    await using weir = await slackWeir(own, model, slack);
    slack.world.say(ann, general, `<@${slack.world.bot.id}> tell me all`);
    await slack.journal.until("the draft", () => botTexts(slack, general).length === 1);
    slack.faults.next({ method: "chat.update", fault: "error", error, times: Infinity });
    resolve();
    await slack.journal.until("the answer", () => isDelivered(weir));
    const shown = botTexts(slack, general).slice(error === "message_not_found" ? 1 : 0);
    assert.equal(asOne(shown), WHOLE);
  });

test("Discord refuses a text once: it is there in shorter messages, and the rest after it", async () => {
  await using model = await startModelServer();
  await using own = await createTestDatabase();
  await using discord = await startDiscordServer();
  const { world, faults } = discord;
  const general = world.addChannel({ guild: world.addGuild({ name: "Mill" }), name: "general" });
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  model.respond(() => text(BEGINNING + REST));
  await using weir = await discordWeir(own, model, discord, { streaming: false });
  faults.next({
    method: "POST",
    route: ROUTE_MESSAGES,
    fault: { kind: "status", status: 400, body: { message: "Invalid Form Body", code: 50_035 } },
  });
  world.say(ann, general, `<@${world.botId}> tell me all`);
  await until("the answer", () => isDelivered(weir));
  assert.equal(asOne(discord.answers(general)), WHOLE);
  assert.ok(
    discord
      .answers(general)
      .slice(0, 3)
      .every(({ length }) => length <= 500),
  );
});

test("Slack refuses a text in each form: a word is there instead, and the agent knows", async () => {
  await using model = await startModelServer();
  await using own = await createTestDatabase();
  await using slack = await startSlackServer();
  const ann = slack.world.addUser("ann");
  const general = slack.world.addChannel({ name: "general", members: [ann] });
  model.respond(() => text("a *short* answer"));
  await using weir = await slackWeir(own, model, slack, false);
  slack.faults.next({ method: "chat.postMessage", fault: "error", error: "invalid_text", times: 2 });
  slack.world.say(ann, general, `<@${slack.world.bot.id}> tell me`);
  await slack.journal.until("a word", () => botTexts(slack, general).length > 0);
  assert.deepEqual(botTexts(slack, general), ["(My answer could not be shown here.)"]);
  await until("its note", async () => (await weir.daemon.store.overview.waiting()).deliveries === 0);
  slack.world.say(ann, general, `<@${slack.world.bot.id}> and?`);
  await until("the next request", () => model.requests.length === 2);
  assert.match(
    JSON.stringify(model.requests[1]?.body),
    /have not seen all of your answer.{1,99}the whole of it/,
  );
});

test("Discord takes nothing in a channel: the owners are told there, once until it takes something again", async () => {
  await using model = await startModelServer();
  await using own = await createTestDatabase();
  await using discord = await startDiscordServer();
  const { world } = discord;
  const general = world.addChannel({ guild: world.addGuild({ name: "Mill" }), name: "general" });
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const olga = world.addUser({ name: "olga", globalName: "Olga" });
  const dm = world.openDm(olga);
  model.respond(() => text("hello"));
  await using weir = await discordWeir(own, model, discord, { owners: [olga] });
  const { overview } = weir.daemon.store;
  const before = (await overview.waiting()).refused;
  for (const [question, count] of [
    ["one", 1],
    ["two", 2],
  ] as const) {
    world.setAccess(general, "read");
    world.say(ann, general, `<@${world.botId}> ${question}`);
    await until("its refusal", async () => (await overview.waiting()).refused === before + count);
  }
  const [word, ...others] = discord.answers(dm);
  assert.match(word ?? "", /^An answer in discord:\d+ could not be shown there/);
  assert.deepEqual(others, []);
  world.setAccess(general, "all");
  world.say(ann, general, `<@${world.botId}> three`);
  await until("an answer", () => discord.answers(general).length === 1);
  assert.match(JSON.stringify(model.requests.at(-1)?.body), /the whole of it/);
});
