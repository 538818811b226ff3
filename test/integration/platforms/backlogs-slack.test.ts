// proves: src/platforms/intake/backlogs.ts, src/platforms/slack/web/history.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { botTexts } from "../../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../../support/database.ts";
import { echoQuestions } from "../../support/e2e-model.ts";
import { startModelServer } from "../../support/model-server.ts";
import { untilNone } from "../../support/patience.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { type SlackWeir, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

test("5,000 messages while it was away all come in, for some calls, and each question is answered once", async () => {
  await using model = await startModelServer();
  model.respond(echoQuestions);
  await using slack = await startSlackServer({ retryDelaysMs: [] });
  await using database = await createTestDatabase();
  const { world, journal } = slack;
  const start = async (): Promise<SlackWeir> =>
    startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: accessTo(slack),
      // Its pings may wait while so much is said in one turn of the loop.
      timing: { readEveryMs: 0, pingMs: 60_000 },
    });
  const ann = world.addUser("ann");
  const general = world.addChannel({ name: "general", members: [ann] });
  const mention = `<@${world.bot.id}>`;
  const first = await start();
  world.say(ann, general, `${mention} question 0?`);
  const times = (question: string): number =>
    botTexts(slack, general)
      .join(" · ")
      .split(" · ")
      .filter((one) => one === question).length;
  await journal.until("an answer", () => times("question 0?") === 1, 120_000);
  await first[Symbol.asyncDispose]();
  slack.deliveries.dropNext(5000);
  const questions = ["question 9999?"];
  for (let index = 1; index <= 5000; index++) {
    const isQuestion = index % 800 === 100;
    if (isQuestion) questions.push(`question ${index}?`);
    world.say(ann, general, isQuestion ? `${mention} question ${index}?` : `talk ${index}`);
  }
  await slack.deliveries.idle();
  const before = journal.calls("conversations.history").length;
  await using weir = await start();
  world.say(ann, general, `${mention} question 9999?`);
  await journal.until("talk to go on", () => times("question 9999?") === 1, 120_000);
  const { channels, gaps } = weir.daemon.store;
  const row = await channels.find({ platform: "slack", name: general.id });
  assert.ok(row !== undefined);
  assert.ok(
    (await channels.held(row.address, 10_000)).length < 5002,
    "all was read before somebody was answered",
  );
  await untilNone(async () => gaps.backlogOf(row.id));
  await journal.until("all answers", () => questions.every((one) => times(one) > 0), 120_000);
  for (const question of questions) assert.equal(times(question), 1, question);
  assert.equal((await channels.held(row.address, 10_000)).length, 5002);
  assert.ok(journal.calls("conversations.history").length - before <= 12);
});
