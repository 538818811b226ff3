import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import {
  type DiscordWeir,
  type DiscordWeirOptions,
  startDiscordWeir,
} from "../support/discord/discord-weir.ts";
import { until } from "../support/discord/login.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../support/discord/server.ts";
import { echo } from "../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { Patience } from "../support/patience.ts";
import { connectionUrl } from "../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly model: ModelServer;
  readonly ann: string;
  readonly guild: string;
  readonly general: string;
  readonly mention: string;
  readonly lines: string[];
  /** Starts a daemon on the same Discord and the same log. */
  readonly start: (options?: Partial<DiscordWeirOptions>) => Promise<DiscordWeir>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const lines: string[] = [];
  const start: Scene["start"] = async (options = {}) =>
    startDiscordWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      discord: { token: discord.token, apiUrl: discord.api },
      onLine: (line) => void lines.push(line),
      ...options,
    });
  const mention = `<@${discord.world.botId}>`;
  const kept = stack.move();
  const dispose = async (): Promise<void> => kept.disposeAsync();
  return { discord, model, ann, guild, general, mention, lines, start, [Symbol.asyncDispose]: dispose };
}

/** Has the channel known, then says so many things in it while no daemon runs, six of them questions. */
async function sayMeanwhile(
  { discord, ann, general, mention, start }: Scene,
  count: number,
): Promise<string[]> {
  const weir = await start();
  discord.world.say(ann, general, `${mention} hello`);
  await until("an answer", () => discord.answers(general).length === 1);
  await weir[Symbol.asyncDispose]();
  const questions: string[] = [];
  for (let index = 1; index <= count; index++) {
    const isQuestion = index % Math.floor(count / 6) === Math.floor(count / 12);
    const text = isQuestion ? `${mention} question ${index}?` : `talk ${index}`;
    if (isQuestion) questions.push(`question ${index}?`);
    discord.world.say(ann, general, text);
  }
  return questions;
}

async function held({ daemon }: DiscordWeir, name: string): Promise<number> {
  return (await daemon.store.channels.held({ platform: "discord", name }, 1_000_000)).length;
}

/** Resolves when nothing of the channel is missing. */
async function caughtUp(weir: DiscordWeir, name: string): Promise<void> {
  const { channels, gaps } = weir.daemon.store;
  const row = await channels.find({ platform: "discord", name });
  assert.ok(row !== undefined);
  let read = 0;
  const patience = new Patience(() => read);
  while ((await gaps.backlogOf(row.id)) !== null) {
    read = await held(weir, name);
    assert.equal(patience.whyOver(), null, "the backlog is being read");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("5,000 messages while it was away all come in, talk goes on at once, and each question is answered once", async () => {
  await using scene = await openScene();
  const { discord, ann, general, mention, start, lines } = scene;
  const questions = await sayMeanwhile(scene, 5000);
  assert.equal(questions.length, 6);
  await using weir = await start();
  discord.world.say(ann, general, `${mention} are you back?`);
  await until("talk to go on", () => discord.answers(general).some((one) => one.includes("are you back?")));
  assert.ok((await held(weir, general)) < 5002, "all was read before somebody was answered");
  discord.world.say(ann, general, `${mention} /status`);
  const isTold = (one: string): boolean =>
    /Reading what was said here while I was away|still to be read/.test(one);
  await until("the report", () => discord.answers(general).some(isTold));
  await caughtUp(weir, general);
  await until("all answers", () =>
    questions.every((one) => discord.answers(general).join("\n").includes(one)),
  );
  assert.equal(await held(weir, general), 5002);
  const answers = discord.answers(general);
  for (const question of [...questions, "are you back?"])
    assert.equal(answers.filter((one) => one.includes(question)).length, 1, question);
  const calls = discord.journal.calls("GET", ROUTE_MESSAGES).length;
  assert.ok(calls <= 60, `${calls} calls`);
  assert.match(lines.find((one) => one.includes("backlog_begun")) ?? "", /"level":40.*"name":"general"/);
});

test("a daemon that goes down in a backlog goes on where it was, and nothing comes twice or never", async () => {
  await using scene = await openScene();
  const { discord, general, start, lines } = scene;
  const questions = await sayMeanwhile(scene, 2400);
  for (let round = 1; round <= 3; round++) {
    const weir = await start();
    const from = await held(weir, general);
    while ((await held(weir, general)) < from + (round === 1 ? 600 : 100)) await new Promise(setImmediate);
    await weir[Symbol.asyncDispose]();
  }
  assert.ok(!lines.some((one) => one.includes("backlog_read")), "it went down in the middle");
  await using weir = await start();
  await caughtUp(weir, general);
  await until("all answers", () =>
    questions.every((one) => discord.answers(general).join("\n").includes(one)),
  );
  assert.equal(await held(weir, general), 2401);
  for (const question of questions)
    assert.equal(discord.answers(general).filter((one) => one.includes(question)).length, 1, question);
});
