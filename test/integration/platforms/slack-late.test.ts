// proves: src/platforms/slack/inbound/events.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { botTexts } from "../../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../../support/database.ts";
import { echo } from "../../support/e2e-model.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

test("a mention whose events come late is answered once, also in a channel and in a thread that are new to Weir", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using slack = await startSlackServer({ retryDelaysMs: [] });
  await using database = await createTestDatabase();
  const { world } = slack;
  await using weir = await startSlackWeir({
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    slack: accessTo(slack),
  });
  const ann = world.addUser("ann");
  const [known, fresh] = ["known", "fresh"].map((name) => world.addChannel({ name, members: [ann] }));
  assert.ok(known !== undefined && fresh !== undefined);
  const root = world.say(ann, known, "hello all");
  await slack.deliveries.idle();
  const mentions: string[] = [];
  const answered = (): string[] =>
    weir.events.flatMap((event) => (event.type === "turn_settled" ? event.inReplyTo : []));
  for (const [channel, threadTs] of [[known], [fresh], [known, root]] as const) {
    const options = threadTs === undefined ? {} : { threadTs };
    slack.deliveries.delayNext(400, 400);
    const ts = world.say(ann, channel, `<@${world.bot.id}> what is the plan?`, options);
    const mention = `${channel.id}/${ts}`;
    mentions.push(mention);
    world.say(ann, channel, "and who is in?", options);
    await slack.deliveries.idle();
    await slack.journal.until("an answer", () => botTexts(slack, channel, threadTs).length >= 1);
    // Its first words stand there before its turn is over.
    await until("settled turn", () => answered().includes(mention));
  }
  // In the thread, what follows the mention is meant for the bot, too.
  assert.deepEqual(
    answered().filter((id) => mentions.includes(id)),
    mentions,
  );
});
