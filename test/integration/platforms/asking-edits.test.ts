// proves: src/platforms/intake/asking-edits.ts, src/router/router.ts
// An edit that makes a message one for the agent is answered once, however and however often it is heard of.
import assert from "node:assert/strict";
import { test } from "node:test";
import { botTexts } from "../../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordWeirOptions, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { Gate } from "../../support/e2e-model.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { piecesIn } from "../../support/request-pieces.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";

function shown({ model }: Pick<Mill, "model">): string {
  const messages = model.requests.at(-1)?.body;
  return messages === undefined
    ? ""
    : piecesIn(messages)
        .map(({ content }) => content ?? "")
        .join("\n");
}

/** Asks a question of its own, and waits for its answer: all that came before it is done. */
async function settle({ discord, ann, general, mention }: Mill, number: number): Promise<void> {
  discord.world.say(ann, general, `${mention} anything else?`);
  await until(`${number} answers`, () => discord.answers(general).length === number);
}

async function startDiscord(
  mill: Mill,
  options: Partial<DiscordWeirOptions> = {},
): ReturnType<typeof startDiscordWeir> {
  return startDiscordWeir({ ...mill.options, ...options });
}

for (const listen of [true, false]) {
  test(`Discord: a mention that an edit adds is answered once, ${listen ? "listening" : "not listening"}`, async () => {
    await using mill = await openMill();
    const { discord, model, ann, general, mention } = mill;
    model.respond(() => text("So it is."));
    await using _ = await startDiscord(mill, { binding: { listen } });
    await settle(mill, 1);
    const said = discord.world.say(ann, general, "is the well dry?");
    discord.world.say(ann, general, "a few words more");
    discord.world.edit(said, `${mention} is the well dry?`);
    await until("an answer", () => discord.answers(general).length === 2);
    assert.match(shown(mill), /is the well dry\?/);
    const reply = discord.messages(general).findLast(({ authorId }) => authorId === discord.world.botId);
    assert.equal(reply?.replyTo, said, "the answer replies to the edited message");
    discord.world.edit(said, `${mention} is the old well dry?`);
    discord.gateway.deliveries.duplicate("MESSAGE_UPDATE");
    discord.world.edit(said, `${mention} is the oldest well dry?`);
    await settle(mill, 3);
    assert.equal(model.requests.length, 3);
  });
}

test("an edit of an answered message asks for nothing, and neither does one without a mention", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  model.respond(() => text("So it is."));
  await using _ = await startDiscord(mill);
  const asked = discord.world.say(ann, general, `${mention} is the well dry?`);
  await until("an answer", () => discord.answers(general).length === 1);
  discord.world.edit(asked, `${mention} is the well deep?`);
  discord.world.edit(discord.world.say(ann, general, "only talk"), "only more talk");
  discord.world.edit(discord.world.say(ann, general, "status"), `${mention} /status`);
  await settle(mill, 2);
  assert.equal(model.requests.length, 2);
});

test("found by a catch-up, and by the next one again, it is answered once", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  model.respond(() => text("So it is."));
  const first = await startDiscord(mill);
  await settle(mill, 1);
  const said = discord.world.say(ann, general, "is the well dry?");
  await settle(mill, 2);
  await first[Symbol.asyncDispose]();
  discord.world.edit(said, `${mention} is the well dry?`);
  for (const count of [4, 5]) {
    await using _ = await startDiscord(mill);
    if (count === 4) await until("an answer", () => discord.answers(general).length === 3);
    await settle(mill, count);
  }
  assert.equal(model.requests.length, 5);
});

test("deleted before its answer, it is not answered", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  const gate = new Gate();
  model.respond(() => text("So it is."));
  await using weir = await startDiscord(mill);
  await settle(mill, 1);
  model.reply(gate.between("Dry ", "it is."));
  const said = discord.world.say(ann, general, "is the well of Falkenstein dry?");
  discord.world.edit(said, `${mention} is the well of Falkenstein dry?`);
  await until("a request", () => model.requests.length === 2);
  discord.world.remove(said);
  await until("its end", () => weir.events.filter(({ type }) => type === "turn_settled").length === 2);
  gate.open();
  discord.world.say(ann, general, `${mention} anything else?`);
  await until("another request", () => model.requests.length === 3);
  assert.doesNotMatch(shown(mill), /Falkenstein|Dry/);
});

for (const subscriptions of [undefined, ["app_mention"]]) {
  test(`Slack: a mention that an edit adds is answered once, ${subscriptions === undefined ? "heard twice" : "by app_mention alone"}`, async () => {
    await using stack = new AsyncDisposableStack();
    const model = stack.use(await startModelServer());
    model.respond(() => text("So it is."));
    const slack = stack.use(
      await startSlackServer({ retryDelaysMs: [0, 200], ...(subscriptions && { subscriptions }) }),
    );
    const database = stack.use(await createTestDatabase());
    stack.use(
      await startSlackWeir({
        databaseUrl: connectionUrl(database.connection),
        modelUrl: model.url,
        slack: accessTo(slack),
      }),
    );
    const ann = slack.world.addUser("ann");
    const channel = slack.world.addChannel({ name: "weather", members: [ann] });
    const mention = `<@${slack.world.bot.id}>`;
    const answers = async (count: number): Promise<void> => {
      await slack.journal.until(`${count} answers`, () => botTexts(slack, channel).length >= count);
      await slack.deliveries.idle();
    };
    const ts = slack.world.say(ann, channel, "is the well dry?");
    slack.deliveries.duplicateNext(2);
    slack.world.edit(channel, ts, `${mention} is the well dry?`);
    await answers(1);
    slack.world.edit(channel, ts, `${mention} is the old well dry?`);
    slack.world.say(ann, channel, `${mention} anything else?`);
    await answers(2);
    assert.equal(model.requests.length, 2);
    assert.match(JSON.stringify(model.requests[0]?.body.messages), /is the well dry\?/);
  });
}
