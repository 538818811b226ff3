// proves: src/platforms/slack/channel-renames.ts, src/store/channels/names.ts, migrations/0083_channel_renames.sql
// A Slack channel that gets another id goes on as the one that it was.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type OpenStore, openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import type { SlackChannel, SlackUser } from "../../support/slack/model.ts";
import { accessTo, type SlackServer, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  readonly log: OpenStore;
  readonly ann: SlackUser;
  readonly channel: SlackChannel;
  readonly mention: string;
  readonly start: (channels?: readonly string[]) => Promise<SlackWeir>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(() => text("So it is."));
  const slack = stack.use(await startSlackServer({ retryDelaysMs: [0, 200] }));
  const database = stack.use(await createTestDatabase());
  const log = stack.use(openStore(database.connection));
  const ann = slack.world.addUser("ann");
  const channel = slack.world.addChannel({ name: "plans", private: true, members: [ann] });
  const start: Scene["start"] = async (channels = []) =>
    startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: accessTo(slack),
      binding: { channels },
    });
  const kept = stack.move();
  const mention = `<@${slack.world.bot.id}>`;
  return {
    slack,
    model,
    log,
    ann,
    channel,
    mention,
    start,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Asks, and waits for the answer. @returns all that the model was shown for it */
async function ask(
  { slack, model, ann, channel, mention }: Scene,
  words: string,
  threadTs?: string,
): Promise<string> {
  const posts = (): number =>
    ["chat.postMessage", "chat.startStream"].reduce(
      (sum, method) => sum + slack.journal.calls(method).length,
      0,
    );
  const before = posts();
  slack.world.say(ann, channel, `${mention} ${words}`, threadTs === undefined ? {} : { threadTs });
  await slack.journal.until("an answer", () => posts() > before);
  await slack.deliveries.idle();
  return JSON.stringify(model.requests.at(-1)?.body.messages);
}

test("the past, a thread, edits, deletions and the binding go on under the new id, also after a restart and the next change", async () => {
  await using scene = await openScene();
  const { slack, log, ann, channel } = scene;
  const bound = [channel.id];
  const first = await scene.start(bound);
  const root = slack.world.say(ann, channel, "the boat sails at noon");
  assert.match(await ask(scene, "when does it sail?"), /sails at noon/);
  await ask(scene, "and in this thread?", root);
  slack.world.changeId(channel);
  assert.match(await ask(scene, "is that so?"), /sails at noon/);
  assert.match(await ask(scene, "and here?", root), /and in this thread/);
  slack.world.edit(channel, root, "the boat sails at dusk");
  assert.match(await ask(scene, "when?"), /sails at dusk/);
  await first[Symbol.asyncDispose]();
  await using _ = await scene.start(bound);
  assert.match(await ask(scene, "when was it?"), /sails at dusk/);
  slack.world.changeId(channel);
  slack.world.remove(channel, root);
  assert.doesNotMatch(await ask(scene, "when was it?"), /sails at (?:dusk|noon)/);
  const rows = await log.sql<{ name: string }>("select name from channels order by id");
  assert.deepEqual(
    rows.map(({ name }) => name.split("/")[0]),
    [bound[0], bound[0]],
  );
});

test("a daemon that has not heard of the change answers under the new id, as one that is configured with it", async () => {
  await using scene = await openScene();
  const { slack, log, channel } = scene;
  const old = channel.id;
  await using first = await scene.start();
  await ask(scene, "hello");
  slack.world.changeId(channel, false);
  await first.daemon.store.channelRenames.note("slack", old, channel.id);
  await ask(scene, "hello again");
  await first[Symbol.asyncDispose]();
  await using _ = await scene.start([channel.id]);
  assert.match(await ask(scene, "who is there?"), /hello again/);
  assert.equal((await log.sql("select from channels")).length, 1);
});

test("a channel that has messages under its new id already, or none under the old one, is left alone", async () => {
  await using scene = await openScene();
  const { slack, log, channel } = scene;
  const old = channel.id;
  await using weir = await scene.start();
  const { channelRenames } = weir.daemon.store;
  await channelRenames.note("slack", "C0UNKNOWN1", "C0UNKNOWN2");
  await ask(scene, "hello");
  slack.world.changeId(channel, false);
  await ask(scene, "hello from elsewhere");
  await channelRenames.note("slack", old, channel.id);
  assert.deepEqual(await channelRenames.all("slack"), []);
  assert.equal((await log.sql("select from channels")).length, 2);
});
