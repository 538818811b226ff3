// proves: src/platforms/slack/outbound/content.ts, src/platforms/shared/pressed-command.ts
// On Slack an approval is asked for with buttons: a press is the command that it stands for, answered to whoever presses.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { lookingUp } from "../../support/approvals.ts";
import { askFor, asking } from "../../support/asking.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { buttonsOf } from "../../support/slack/blocks.ts";
import type { Interaction } from "../../support/slack/interactions.ts";
import type { SlackChannel, SlackMessage, SlackUser } from "../../support/slack/model.ts";
import { accessTo, type SlackServer, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly ann: SlackUser;
  readonly ben: SlackUser;
  readonly general: SlackChannel;
  readonly mention: string;
  readonly model: ModelServer;
  start(): Promise<SlackWeir>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(lookingUp);
  const slack = stack.use(await startSlackServer({ retryDelaysMs: [0, 200] }));
  const database = stack.use(await createTestDatabase());
  const ann = slack.world.addUser("ann");
  const ben = slack.world.addUser("ben");
  const general = slack.world.addChannel({ name: "general", members: [ann, ben] });
  const kept = stack.move();
  return {
    slack,
    ann,
    ben,
    general,
    mention: `<@${slack.world.bot.id}>`,
    model,
    start: async () =>
      startSlackWeir({
        databaseUrl: connectionUrl(database.connection),
        modelUrl: model.url,
        slack: accessTo(slack),
        agent: `[agents.approvals]\ntools = { search_history = "always" }\napprovers = ["slack:${ben.id}"]\n`,
      }),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The channel's messages, those of its threads among them. */
function messagesOf({ slack, general }: Scene): SlackMessage[] {
  const roots = slack.messages(general);
  return [...roots, ...roots.flatMap(({ ts }) => slack.messages(general, ts).filter((one) => one.ts !== ts))];
}

async function messageLike(scene: Scene, words: RegExp): Promise<SlackMessage> {
  const find = (): SlackMessage | undefined => messagesOf(scene).find(({ text }) => words.test(text));
  await until(`a message like ${words}`, () => find() !== undefined);
  const found = find();
  assert.ok(found !== undefined);
  return found;
}

function press(
  { slack, general }: Scene,
  who: SlackUser,
  { ts, blocks }: SlackMessage,
  label: string,
): Interaction {
  const button = buttonsOf(blocks).get(label);
  assert.ok(button !== undefined, label);
  return slack.world.click(who, general, ts, button);
}

async function answered(click: Interaction): Promise<string> {
  assert.equal((await click.acknowledged).isAcknowledged, true);
  await until("an answer to the press", () => click.posts.length > 0);
  assert.deepEqual(
    click.posts.map(({ type }) => type),
    ["ephemeral"],
  );
  assert.equal(click.posts[0]?.body["replace_original"], false, "the question stays");
  return click.posts[0]?.text ?? "";
}

test("a press decides once; others are told who has; the message shows the outcome and no buttons", async () => {
  await using scene = await openScene();
  const { slack, ann, ben, general, mention } = scene;
  await using _ = await scene.start();
  slack.world.say(ann, general, `${mention} look up \`\`\`<!channel> <@${ben.id}> @ben`);
  const question = await messageLike(scene, /^#1: Weir asks for an approval, to use the tool search/);
  const asked = structuredClone(question);
  assert.deepEqual(
    [...buttonsOf(question.blocks)].map(([label, { value }]) => [label, value]),
    [
      ["Allow once", "weir/approve 1"],
      ["Allow from now on", "weir/approve 1 always"],
      ["Deny", "weir/deny 1"],
      ["Deny with a reason …", "weir?deny 1"],
    ],
  );
  for (const text of [question.text, JSON.stringify(question.blocks)])
    assert.doesNotMatch(text, /<!channel>|<@/, "nobody is pinged");
  assert.match(await answered(press(scene, ann, question, "Allow once")), /^That is for approvers only\./);
  const told = await Promise.all(
    ["Allow once", "Allow once", "Deny"].map(async (label) => answered(press(scene, ben, asked, label))),
  );
  assert.equal(told.filter((one) => /^(?:Allowed|Denied): #1\.$/.test(one)).length, 1, told.join("\n"));
  assert.equal(
    told.filter((one) => /^#1 is decided already\. (?:Allowed|Denied) by ben\.$/.test(one)).length,
    2,
  );
  const outcome = await messageLike(scene, /^#1: (?:Allowed|Denied) by ben\./);
  assert.equal(outcome.ts, question.ts);
  assert.equal(buttonsOf(outcome.blocks).size, 0);
  assert.match(
    await answered(press(scene, ben, asked, "Deny")),
    /^#1 is decided already\./,
    "an old message",
  );
});

test("in a thread, the question, its presses and their answers stay in the thread; over a restart, too", async () => {
  await using scene = await openScene();
  const { slack, ann, ben, general, mention } = scene;
  const root = slack.world.say(ann, general, "a thread about the mill");
  {
    await using _ = await scene.start();
    slack.world.say(ann, general, `${mention} look up the mill`, { threadTs: root });
    assert.equal((await messageLike(scene, /^#1: Weir asks/)).threadTs, root);
  }
  await using _ = await scene.start();
  const question = await messageLike(scene, /^#1: Weir asks/);
  const click = press(scene, ben, question, "Allow from now on");
  assert.match(await answered(click), /^Allowed: #1, and this tool/);
  assert.equal(click.posts[0]?.body["thread_ts"], root);
  await messageLike(scene, /^#1: Allowed by ben\./);
  const shown = messagesOf(scene).filter(({ text }) => text.startsWith("#1: "));
  assert.equal(shown.length, 1);
  await until("the result", () => messagesOf(scene).some(({ text }) => text.startsWith("told: ")));
});

test("a denial with a reason is a form: its words reach the model; whoever may not deny is told so", async () => {
  await using scene = await openScene();
  const { slack, ann, ben, general, mention, model } = scene;
  await using _ = await scene.start();
  slack.world.say(ann, general, `${mention} look up the mill`);
  const question = await messageLike(scene, /^#1: Weir asks/);
  const sent = async (who: SlackUser): Promise<string> => {
    const click = press(scene, who, question, "Deny with a reason …");
    await until("the form", () => slack.world.form?.user === who.id);
    assert.equal(slack.world.form?.view.title.text, "Deny with a reason");
    assert.deepEqual(click.posts, []);
    assert.equal((await slack.world.submit("not now:\nwe have it")).isAcknowledged, true);
    return answered(click);
  };
  assert.match(await sent(ann), /^That is for approvers only\./);
  assert.equal(await sent(ben), "Denied: #1.");
  await until("the reason", () =>
    model.requests.some(({ body }) => JSON.stringify(body).includes("They say: not now: we have it")),
  );
});

test("a question with choices has a button for each; whoever was asked presses one, once", async () => {
  await using scene = await openScene();
  const { slack, ann, ben, general, mention, model } = scene;
  model.respond(asking);
  await using _ = await scene.start();
  slack.world.say(ann, general, `${mention} ${askFor()}`);
  const question = structuredClone(await messageLike(scene, /^#1: Weir asks: Which colour\?/));
  assert.deepEqual(
    [...buttonsOf(question.blocks)].map(([label, { value }]) => [label, value]),
    [
      ["1. Red", "weir/answer 1 1"],
      ["2. Deep blue", "weir/answer 1 2"],
    ],
  );
  assert.equal(await answered(press(scene, ben, question, "1. Red")), "#1 is a question to ann.");
  assert.equal(await answered(press(scene, ann, question, "2. Deep blue")), "Your answer is noted.");
  const outcome = await messageLike(scene, /^#1: Weir asked: Which colour\?\nann has chosen: Deep blue$/);
  assert.equal(buttonsOf(outcome.blocks).size, 0);
  assert.equal(
    await answered(press(scene, ann, question, "1. Red")),
    "#1 is over already. ann has chosen: Deep blue",
  );
  await messageLike(scene, /^heard: You asked: Which colour\?\nann has chosen: Deep blue/);
});
