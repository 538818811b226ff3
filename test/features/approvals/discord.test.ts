// proves: src/platforms/discord/outbound/poster.ts, src/platforms/shared/pressed-command.ts
// On Discord an approval is asked for with buttons: a press is the command that it stands for, answered to whoever presses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../../support/discord/server.ts";
import { lookingUp } from "../../support/approvals.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { connectionUrl } from "../../support/weir.ts";

const SENT = z.object({ allowed_mentions: z.unknown(), message_reference: z.unknown().optional() });

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly model: ModelServer;
  readonly ann: string;
  readonly ben: string;
  readonly general: string;
  readonly mention: string;
  start(): Promise<DiscordWeir>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(lookingUp);
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const ben = discord.world.addUser({ name: "ben", globalName: "Ben" });
  const kept = stack.move();
  return {
    discord,
    model,
    ann,
    ben,
    general,
    mention: `<@${discord.world.botId}>`,
    start: async () =>
      startDiscordWeir({
        databaseUrl: connectionUrl(database.connection),
        modelUrl: model.url,
        discord: { token: discord.token, apiUrl: discord.api },
        agent: `[agents.approvals]\ntools = { search_history = "always" }\napprovers = ["discord:${ben}"]\n`,
      }),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The message of the bot's that fits, once it is there. */
async function messageLike(
  { discord, general }: Scene,
  words: RegExp,
): Promise<{ id: string; content: string }> {
  const find = (): { id: string; content: string } | undefined =>
    discord.world.messages(general).find(({ content }) => words.test(content));
  await until(`a message like ${words}`, () => find() !== undefined);
  const found = find();
  assert.ok(found !== undefined);
  return found;
}

async function answered(call: ReturnType<DiscordServer["world"]["press"]>): Promise<string> {
  await until("an answer to the press", () => call.responses().some(({ isLoading }) => !isLoading));
  const [first, ...rest] = call.responses();
  assert.deepEqual(rest, []);
  assert.equal(first?.isEphemeral, true, "for the presser alone");
  return first?.text ?? "";
}

test("a press decides once; others are told who has; the message shows the outcome and no buttons", async () => {
  await using scene = await openScene();
  const { discord, ann, ben, general, mention, model } = scene;
  await using weir = await scene.start();
  discord.world.say(ann, general, `${mention} look up \`\`\`@everyone ${mention} <@${ben}> @Ben`);
  const question = await messageLike(
    scene,
    /^#1: Weir asks for an approval, to use the tool search_history\./,
  );
  assert.match(question.content, /asked by: Ann/);
  assert.deepEqual(
    [...discord.world.buttons(question.id)],
    [
      ["Allow once", "weir/approve 1"],
      ["Allow from now on", "weir/approve 1 always"],
      ["Deny", "weir/deny 1"],
    ],
  );
  const sent = discord.journal
    .calls("POST", ROUTE_MESSAGES)
    .find(({ body }) => JSON.stringify(body).includes("asks for an approval"));
  const { allowed_mentions: mentions, message_reference: reference } = SENT.parse(sent?.body);
  assert.deepEqual(
    [mentions, reference],
    [{ parse: [], users: [], replied_user: true }, undefined],
    "nobody is pinged",
  );
  assert.match(
    await answered(discord.world.press(ann, question.id, "Allow once")),
    /^That is for approvers only\./,
  );
  const presses = ["Allow once", "Allow once", "Deny"].map((label) =>
    discord.world.press(ben, question.id, label),
  );
  const told = await Promise.all(presses.map(answered));
  const won = told.filter((one) => /^(?:Allowed|Denied): #1\.$/.test(one));
  assert.equal(won.length, 1, told.join("\n"));
  assert.equal(
    told.filter((one) => /^#1 is decided already\. (?:Allowed|Denied) by Ben\.$/.test(one)).length,
    2,
  );
  const outcome = await messageLike(scene, /^#1: (?:Allowed|Denied) by Ben\./);
  assert.equal(outcome.id, question.id);
  assert.deepEqual([...discord.world.buttons(question.id)], []);
  await until("the answer", () =>
    model.requests.some(({ body }) => JSON.stringify(body).includes("approval #1, of")),
  );
  // A client that still shows the buttons.
  assert.match(
    await answered(discord.world.press(ben, question.id, "", "weir/deny 1")),
    /^#1 is decided already\./,
  );
  assert.equal(weir.events.filter(({ type }) => type === "tool_failed").length, 0);
});

test("a question is posted once over a restart, and its buttons go on working", async () => {
  await using scene = await openScene();
  const { discord, ann, ben, general, mention } = scene;
  {
    await using _ = await scene.start();
    discord.world.say(ann, general, `${mention} look up the mill`);
    await messageLike(scene, /^#1: Weir asks/);
  }
  await using _ = await scene.start();
  const question = await messageLike(scene, /^#1: Weir asks/);
  assert.equal(
    await answered(discord.world.press(ben, question.id, "Allow from now on")).then(
      (one) => one.split(",")[0],
    ),
    "Allowed: #1",
  );
  await messageLike(scene, /told: .*/);
  await messageLike(scene, /^#1: Allowed by Ben\./);
  const shown = discord.world.messages(general).filter(({ content }) => content.startsWith("#1: "));
  assert.equal(shown.length, 1);
  discord.world.say(ann, general, `${mention} look up the mill`);
  await until(
    "a second result",
    () => discord.answers(general).filter((one) => one.startsWith("told: ")).length >= 3,
  );
  assert.equal(discord.world.messages(general).filter(({ content }) => content.startsWith("#2: ")).length, 0);
});
