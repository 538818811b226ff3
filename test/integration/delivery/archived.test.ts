// proves: src/channel/delivery/part-sender.ts, src/channel/delivery/loss-report.ts, src/platforms/discord/rest/api.ts, src/platforms/slack/web/api-errors.ts
// A place that takes no messages for a while, or no longer: what cannot be delivered is told once, and binding and past go on.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { openMill } from "../../support/discord/mill.ts";
import { heldText, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl, type TestWeir } from "../../support/weir.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";

const LOST = /could not be shown there, and neither could a word about it/;
const TOLD = "have not seen all of your answer";

/** Whether the newest request has these words. */
function asked(model: ModelServer, words: string): boolean {
  return JSON.stringify(model.requests.at(-1)?.body).includes(words);
}

/** Two questions whose answers find the place closed; it opens again after each. */
async function loseTwo(
  { daemon }: Pick<TestWeir, "daemon">,
  model: ModelServer,
  place: { readonly ask: (question: string) => void; readonly close: (isClosed: boolean) => void },
): Promise<void> {
  // Words that no prompt has.
  for (const [index, question] of ["is the lamp lit?", "is the lamp out?"].entries()) {
    const gate = Promise.withResolvers<void>();
    // None of it is shown yet: an edit of a shown one would be taken.
    model.reply(heldText("", gate.promise, "hello"));
    place.ask(question);
    await until("its turn", () => asked(model, question));
    place.close(true);
    gate.resolve();
    await until("its loss", async () => (await daemon.store.overview.waiting()).refused === index + 1);
    place.close(false);
  }
}

/** @param words what an owner has read */
function assertToldOnce(words: readonly string[]): void {
  assert.equal(words.length, 1, words.join("\n"));
  assert.match(words[0] ?? "", LOST);
}

test("a thread on Discord that is archived while an answer is written is reopened, and has the answer once", async () => {
  await using mill = await openMill();
  await using weir = await startDiscordWeir(mill.options);
  const { discord, model, ann, general, mention } = mill;
  const thread = discord.world.openThread(general, { name: "plans", owner: ann });
  const { promise, resolve } = Promise.withResolvers<void>();
  model.respond(() => heldText("The first half,", promise, " and the second."));
  discord.world.say(ann, thread, `${mention} tell me`);
  await until("a piece", () => discord.answers(thread).some((one) => one.startsWith("The first half")));
  discord.world.archive(thread);
  resolve();
  await until("its delivery", () => weir.events.some(({ type }) => type === "reply_delivered"));
  assert.deepEqual(discord.answers(thread), ["The first half, and the second."]);
  model.respond(() => text("Yes."));
  discord.world.say(ann, thread, `${mention} really?`);
  await until("the next answer", () => discord.answers(thread).length === 2);
});

test("a locked thread on Discord takes no answer: the owners are told once, the agent once it is open again; all else goes on", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  const { world } = discord;
  const olga = world.addUser({ name: "olga", globalName: "Olga" });
  const dm = world.openDm(olga);
  await using weir = await startDiscordWeir({
    ...mill.options,
    discord: { ...mill.options.discord, owners: [olga] },
  });
  model.respond(() => text("hello"));
  const thread = world.openThread(general, { name: "plans", owner: ann });
  world.say(ann, thread, `${mention} the key is under the mat`);
  await until("an answer", () => discord.answers(thread).length === 1);
  await loseTwo(weir, model, {
    ask: (question) => void world.say(ann, thread, `${mention} ${question}`),
    close: (isClosed) => world.lock(thread, isClosed),
  });
  assertToldOnce(discord.answers(dm));
  world.say(ann, thread, `${mention} three`);
  await until("an answer", () => asked(model, "three") && discord.answers(thread).at(-1) === "hello");
  assert.ok(asked(model, TOLD) && asked(model, "the key is under the mat"), "its past goes on");
  world.say(ann, general, `${mention} and here?`);
  await until("an answer elsewhere", () => discord.answers(general).includes("hello"));
});

test("a channel of Discord that becomes a forum: its posts and threads are answered by its binding, with its past", async () => {
  await using mill = await openMill();
  const { discord, model, ann, general, mention } = mill;
  const { world } = discord;
  const olga = world.addUser({ name: "olga", globalName: "Olga" });
  const dm = world.openDm(olga);
  const options = { ...mill.options, discord: { ...mill.options.discord, owners: [olga] } };
  model.respond(() => text("noted"));
  const thread = world.openThread(general, { name: "plans", owner: ann });
  {
    await using weir = await startDiscordWeir(options);
    world.say(ann, general, `${mention} /remember the key is under the mat`);
    await until("a word", () => discord.answers(general).length === 1);
    world.say(ann, thread, `${mention} the plan is blue`);
    await until("an answer in the thread", () => discord.answers(thread).length === 1);
    // An answer that is on its way when it becomes one.
    const gate = Promise.withResolvers<void>();
    // None of it is shown yet: an edit of a shown one would be taken.
    model.reply(heldText("", gate.promise, "lost"));
    world.say(ann, general, `${mention} one more thing`);
    await until("its turn", () => asked(model, "one more thing"));
    world.toForum(general);
    gate.resolve();
    const { overview } = weir.daemon.store;
    await until("its end", async () => (await overview.waiting()).deliveries === 0);
    world.say(ann, thread, `${mention} what is the plan?`);
    await until("an answer in the old thread", () => discord.answers(thread).length === 2);
    assert.ok(asked(model, "the plan is blue"));
    const post = world.openPost(ann, general, "a post", `${mention} where is the key?`);
    await until("an answer in a post", () => discord.answers(post).length === 1);
    assert.ok(asked(model, "(fact): the key is under the mat"), "what is remembered of the channel");
    await until("a word to the owner", () => discord.answers(dm).length > 0);
    assertToldOnce(discord.answers(dm));
  }
  discord.gateway.forgetSessions();
  const missed = world.openPost(ann, general, "another", `${mention} and the lamp?`);
  await using _ = await startDiscordWeir(options);
  await until("an answer to a missed post", () => discord.answers(missed).length === 1);
});

test("an archived channel of Slack takes no answer: the owners are told once, the agent once it is back", async () => {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const slack = stack.use(await startSlackServer());
  const database = stack.use(await createTestDatabase());
  const { world } = slack;
  const ann = world.addUser("ann");
  const olga = world.addUser("olga");
  const dm = world.openIm(olga);
  const channel = world.addChannel({ name: "old", members: [ann] });
  const weir = stack.use(
    await startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: {
        ...accessTo(slack),
        owners: [olga.id],
      },
    }),
  );
  const mention = `<@${world.bot.id}>`;
  model.respond(() => text("hello"));
  world.say(ann, channel, `${mention} the key is under the mat`);
  await until("an answer", () => botTexts(slack, channel).length === 1);
  await loseTwo(weir, model, {
    ask: (question) => void world.say(ann, channel, `${mention} ${question}`),
    close: (isClosed) => world.archive(channel, isClosed),
  });
  assertToldOnce(botTexts(slack, dm));
  world.say(ann, channel, `${mention} three`);
  await until("an answer", () => asked(model, "three") && botTexts(slack, channel).at(-1) === "hello");
  assert.ok(asked(model, TOLD) && asked(model, "the key is under the mat"), "its past goes on");
});
