// proves: src/platforms/discord/outbound/poster.ts, src/platforms/shared/pressed-command.ts
// On Discord an approval is asked for with buttons: a press is the command that it stands for, answered to whoever presses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../../support/discord/server.ts";
import { lookingUp } from "../../support/approvals.ts";
import { askFor, asking } from "../../support/asking.ts";
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
      ["Deny with a reason …", "weir?deny 1"],
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
  const told = (): number => discord.answers(general).filter((one) => one.startsWith("told: ")).length;
  // A message that comes into the turn of the decision would be part of it.
  await until("the result", () => told() === 2);
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

test("a denial with a reason is a form: its words reach the model; whoever may not deny is told so", async () => {
  await using scene = await openScene();
  const { discord, ann, ben, general, mention, model } = scene;
  await using weir = await scene.start();
  discord.world.say(ann, general, `${mention} look up the mill`);
  const question = await messageLike(scene, /^#1: Weir asks/);
  const sent = async (who: string): Promise<string> => {
    // Also of a client that still shows the button.
    const pressed = discord.world.press(
      who,
      question.id,
      "",
      discord.world.buttons(question.id).get("Deny with a reason …") ?? "weir?deny 1",
    );
    await until("the form", () => discord.world.form(pressed.id) !== null);
    assert.equal(discord.world.form(pressed.id)?.title, "Deny with a reason");
    assert.deepEqual(pressed.responses(), []);
    return answered(discord.world.sendForm(pressed.id, "not now:\nwe have it"));
  };
  assert.match(await sent(ann), /^That is for approvers only\./);
  assert.equal(await sent(ben), "Denied: #1.");
  assert.equal(await sent(ben), "#1 is decided already. Denied by Ben.");
  await until("the reason", () =>
    model.requests.some(({ body }) => JSON.stringify(body).includes("They say: not now: we have it")),
  );
  assert.equal(weir.events.filter(({ type }) => type === "tool_failed").length, 0);
});

test("a question with choices has a button for each; whoever was asked presses one, once", async () => {
  await using scene = await openScene();
  const { discord, ann, ben, general, mention, model } = scene;
  model.respond(asking);
  await using _ = await scene.start();
  discord.world.say(ann, general, `${mention} ${askFor()}`);
  const question = await messageLike(scene, /^#1: Weir asks: Which colour\?/);
  assert.match(question.content, /Ann can answer by a button, by the number, or by \/answer 1 NUMBER\./);
  assert.deepEqual(
    [...discord.world.buttons(question.id)],
    [
      ["1. Red", "weir/answer 1 1"],
      ["2. Deep blue", "weir/answer 1 2"],
    ],
  );
  const press = async (who: string, label: string): Promise<string> =>
    answered(discord.world.press(who, question.id, label));
  assert.equal(await press(ben, "1. Red"), "#1 is a question to Ann.");
  assert.equal(await press(ann, "2. Deep blue"), "Your answer is noted.");
  const outcome = await messageLike(scene, /^#1: Weir asked: Which colour\?\nAnn has chosen: Deep blue$/);
  assert.deepEqual([...discord.world.buttons(outcome.id)], []);
  const late = discord.world.press(ann, question.id, "", "weir/answer 1 1");
  assert.equal(await answered(late), "#1 is over already. Ann has chosen: Deep blue");
  await messageLike(scene, /^heard: You asked: Which colour\?\nAnn has chosen: Deep blue/);
});

test("a question whose message somebody deletes is answered in words all the same, and comes up again in the list alone", async () => {
  await using scene = await openScene();
  const { discord, ann, general, mention, model } = scene;
  model.respond(asking);
  await using _ = await scene.start();
  discord.world.say(ann, general, `${mention} ${askFor()}`);
  const question = await messageLike(scene, /^#1: Weir asks: Which colour\?/);
  discord.world.remove(question.id);
  const unknown = discord.world.press(
    ann,
    discord.world.say(ann, general, "a message of ann's"),
    "",
    "weir/nothing 1",
  );
  discord.world.say(ann, general, `${mention} 2`);
  await messageLike(scene, /^heard: You asked: Which colour\?\nAnn has chosen: Deep blue/);
  assert.equal(discord.answers(general).filter((text) => text.startsWith("#1")).length, 0);
  assert.deepEqual(unknown.responses(), [], "of a button that is none of Weir's");
});
