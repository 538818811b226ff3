// proves: src/platforms/slack/inbound/events.ts, src/channel/delivery/draft.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { heldText, text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { buttonsOf } from "../../support/slack/blocks.ts";
import type { SlackChannel, SlackMessage, SlackUser } from "../../support/slack/model.ts";
import { accessTo, type SlackServer, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, type SlackWeirOptions, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  readonly weir: SlackWeir;
  readonly ann: SlackUser;
  readonly dm: SlackChannel;
}

/** Ann's direct messages with an agent of Slack's. */
async function openScene(options: Partial<SlackWeirOptions> = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const slack = stack.use(await startSlackServer({ retryDelaysMs: [], ackTimeoutMs: 60_000 }));
  const database = stack.use(await createTestDatabase());
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const weir = stack.use(
    await startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: {
        ...accessTo(slack),
        agentView: "on",
        feedbackButtons: true,
      },
      ...options,
    }),
  );
  const kept = stack.move();
  return { slack, model, weir, ann, dm, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

function answersIn({ slack, dm }: Scene, root: string): readonly SlackMessage[] {
  return slack.messages(dm, root).filter(({ user }) => user === slack.world.bot.id);
}

async function answered(scene: Scene, root: string): Promise<SlackMessage> {
  const answer = (): SlackMessage | undefined => answersIn(scene, root).at(-1);
  const isWhole = (): boolean => answer()?.streaming !== "in_progress" && answer()?.metadata !== undefined;
  await scene.slack.journal.until("the answer", isWhole);
  const [only, ...others] = answersIn(scene, root);
  assert.ok(only);
  assert.deepEqual(others, []);
  return only;
}

function asked(model: ModelServer): string {
  return JSON.stringify(model.requests.at(-1)?.body.messages);
}

test("each message that begins a thread is answered in its thread, once, with the earlier ones as context", async () => {
  await using scene = await openScene();
  const { slack, model, ann, dm } = scene;
  model.respond(() => text("Noted."));
  const first = slack.world.say(ann, dm, "the code word is heron");
  await answered(scene, first);
  const second = slack.world.say(ann, dm, "what is it?");
  await answered(scene, second);
  assert.match(asked(model), /the code word is heron/);
  slack.world.say(ann, dm, "and in short?", { threadTs: first });
  await slack.journal.until("the second answer", () => answersIn(scene, first).length === 2);
  assert.doesNotMatch(asked(model), /what is it\?/);
  assert.deepEqual(
    slack.messages(dm).filter(({ user }) => user === slack.world.bot.id),
    [],
  );
});

test("tools at work are steps of the stream, without what they were asked and what they found", async () => {
  await using scene = await openScene();
  const { slack, model, ann, dm } = scene;
  const gate = Promise.withResolvers<undefined>();
  model.reply(toolCalls([{ name: "search_history", arguments: { query: "secret heron" } }]));
  model.reply(heldText("It ", gate.promise, "was heron."));
  const root = slack.world.say(ann, dm, "what was the code word?");
  const titles = (): unknown[] => [...(answersIn(scene, root)[0]?.stream?.tasks.values() ?? [])];
  await slack.journal.until("the step", () => titles().length === 1);
  gate.resolve(undefined);
  const answer = await answered(scene, root);
  assert.equal(answer.text, "It was heron.");
  assert.deepEqual(titles(), [{ title: "Searching earlier messages", status: "complete" }]);
  const chunks = slack.journal.calls().map(({ args }) => JSON.stringify(args["chunks"] ?? ""));
  assert.doesNotMatch(chunks.join(""), /secret/);
});

test("an agent's prompts are those of the configuration", async () => {
  const agent = `[[agents.suggested_prompts]]\ntitle = "News"\nmessage = "What is new?"\n`;
  await using scene = await openScene({ agent });
  const { slack, ann, dm } = scene;
  const opened = { user: ann.id, channel: dm.id, tab: "messages", event_ts: "1.1" };
  slack.feed.emit("app_home_opened", { type: "app_home_opened", ...opened });
  const prompts = (): unknown[] =>
    slack.journal.calls("assistant.threads.setSuggestedPrompts").map(({ args }) => args["prompts"]);
  await until("the prompts", () => prompts().length === 1);
  assert.deepEqual(JSON.parse(String(prompts()[0])), [{ title: "News", message: "What is new?" }]);
});

test("a press of a feedback button is in the log as a reaction to the answer", async () => {
  await using scene = await openScene();
  const { slack, model, ann, dm } = scene;
  model.respond(() => text("Noted."));
  const root = slack.world.say(ann, dm, "hello");
  const answer = await answered(scene, root);
  const button = buttonsOf(answer.blocks).get("👎");
  assert.ok(button);
  const press = slack.world.click(ann, dm, answer.ts, button);
  assert.equal((await press.acknowledged).isAcknowledged, true);
  slack.world.say(ann, dm, "and now?", { threadTs: root });
  await slack.journal.until("the second answer", () => answersIn(scene, root).length === 2);
  assert.match(asked(model), /reacted with 👎/);
});
