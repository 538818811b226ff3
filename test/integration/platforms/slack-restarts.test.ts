// proves: src/platforms/slack/outbound/poster.ts, src/platforms/slack/web/history.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { botTexts } from "../../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../../support/database.ts";
import { echo } from "../../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { accessTo, type SlackServer, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, type SlackWeirOptions, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  /** Starts a daemon on the same Slack and the same log. */
  readonly start: (options?: Partial<SlackWeirOptions>, catchUpMaxAgeMs?: number) => Promise<SlackWeir>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const slack = stack.use(await startSlackServer({ retryDelaysMs: [] }));
  const database = stack.use(await createTestDatabase());
  const start: Scene["start"] = async (options = {}, catchUpMaxAgeMs = 3_600_000) =>
    startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: {
        ...accessTo(slack),
        catchUpMaxAgeMs,
      },
      ...options,
    });
  const kept = stack.move();
  return { slack, model, start, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

test("a command in a message that a catch-up fetches again after a restart is run once, and is no message", async () => {
  await using scene = await openScene();
  const { slack, model, start } = scene;
  const ann = slack.world.addUser("ann");
  const channel = slack.world.addChannel({ name: "general", members: [ann] });
  const mention = `<@${slack.world.bot.id}>`;
  const reports = (): number =>
    slack.ephemerals.filter(({ user, text }) => user === ann.id && text.includes("answered by main")).length;
  const pages = (): number => slack.journal.calls("conversations.history").length;
  // The first has nothing to catch up with; for the last, what was missed is too old to be answered.
  for (const [round, maxAgeMs] of [3_600_000, 3_600_000, 0].entries()) {
    const pagesBefore = pages();
    await using weir = await start({}, maxAgeMs);
    if (round > 0) await slack.journal.until("a catch-up", () => pages() > pagesBefore);
    slack.world.say(ann, channel, `${mention} hello ${round}`);
    await slack.journal.until("an answer", () =>
      botTexts(slack, channel).some((text) => text.includes(`hello ${round}`)),
    );
    assert.equal(reports(), round, "nothing was run again");
    slack.world.say(ann, channel, `${mention} /status`);
    await slack.journal.until("a report", () => reports() === round + 1);
    const held = await weir.daemon.store.channels.held({ platform: "slack", name: channel.id }, 100);
    assert.equal(held.length, round + 1, "the log has no command");
  }
  const shown = model.requests.map(({ body }) => JSON.stringify(body.messages)).join("\n");
  assert.doesNotMatch(shown, /\/status/);
});

test("a command that was missed is run after the restart, once, and what follows it is answered", async () => {
  await using scene = await openScene();
  const { slack, start } = scene;
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const first = await start();
  slack.world.say(ann, dm, "hello");
  await slack.journal.until("an answer", () => botTexts(slack, dm).length === 1);
  await first[Symbol.asyncDispose]();
  slack.deliveries.dropNext(2);
  slack.world.say(ann, dm, "/status");
  slack.world.say(ann, dm, "still there?");
  for (let round = 0; round < 2; round++) {
    await using _ = await start();
    await slack.journal.until("both answers", () => botTexts(slack, dm).length === 3);
  }
  assert.equal(botTexts(slack, dm).filter((text) => text.includes("answered by main")).length, 1);
});

test("a person whose direct messages are not wanted leaves no channel and no gap behind", async () => {
  await using scene = await openScene();
  const { slack, start } = scene;
  const [ann, sly] = [slack.world.addUser("ann"), slack.world.addUser("sly")];
  const options = { binding: { dmAllow: [ann.id] }, timing: { holdMs: 50 } };
  await (await start(options))[Symbol.asyncDispose]();
  const rooms = [slack.world.openIm(ann), slack.world.openIm(sly)] as const;
  // What was missed of both takes longer to be fetched than their messages wait for it.
  const { promise: until, resolve: fill } = Promise.withResolvers<void>();
  for (const { id: channel } of rooms)
    slack.faults.next({ method: "conversations.history", channel, fault: "slow_before", until });
  slack.deliveries.dropNext(1);
  slack.world.say(sly, rooms[1], "let me in");
  await using weir = await start(options);
  const { channels } = weir.daemon.store;
  slack.world.edit(rooms[1], slack.world.say(sly, rooms[1], "hello?"), "hello!");
  slack.world.say(ann, rooms[0], "hello");
  await slack.journal.until("an answer", () => botTexts(slack, rooms[0]).length === 1);
  assert.notEqual(await channels.find({ platform: "slack", name: rooms[0].id }), undefined);
  await slack.deliveries.idle();
  assert.equal(await channels.find({ platform: "slack", name: rooms[1].id }), undefined);
  assert.equal(slack.journal.acks.length, slack.journal.envelopes().length);
  fill();
});
