// proves: src/router/catch-up-ledger.ts, src/platforms/intake/backlogs.ts, src/store/channels/gaps.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DiscordWeir,
  type DiscordWeirOptions,
  startDiscordWeir,
} from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { ROUTE_MESSAGES } from "../../support/discord/server.ts";
import { echoQuestions } from "../../support/e2e-model.ts";
import { text } from "../../support/model-behaviours.ts";
import { untilNone, until } from "../../support/patience.ts";
import { piecesIn } from "../../support/request-pieces.ts";

interface Scene extends Mill {
  readonly lines: string[];
  /** Starts a daemon on the same Discord and the same log. */
  readonly start: (options?: Partial<DiscordWeirOptions>) => Promise<DiscordWeir>;
}

async function openScene(): Promise<Scene> {
  const mill = await openMill();
  mill.model.respond(echoQuestions);
  const lines: string[] = [];
  const start: Scene["start"] = async (options = {}) =>
    startDiscordWeir({
      ...mill.options,
      onLine: (line) => void lines.push(line),
      ...options,
    });
  return { ...mill, lines, start };
}

/** Has the channel known, then says so many things in it while no daemon runs, six of them questions. */
async function sayMeanwhile(
  scene: Scene,
  count: number,
  options: Partial<DiscordWeirOptions> = {},
): Promise<string[]> {
  const { discord, ann, general, mention, start } = scene;
  const weir = await start(options);
  discord.world.say(ann, general, `${mention} hello`);
  await until("an answer", () => discord.answers(general).length === 1);
  await weir[Symbol.asyncDispose]();
  const questions: string[] = [];
  for (let index = 1; index <= count; index++) {
    const isQuestion = index % Math.floor(count / 6) === Math.floor(count / 12);
    if (isQuestion) questions.push(`question ${index}?`);
    discord.world.say(ann, general, isQuestion ? `${mention} question ${index}?` : `talk ${index}`);
  }
  return questions;
}

/** Each of them is answered, and once. */
async function answered({ discord, general }: Scene, questions: readonly string[]): Promise<void> {
  const times = (question: string): number =>
    discord
      .answers(general)
      .join(" · ")
      .split(" · ")
      .filter((one) => one === question).length;
  await until("all answers", () => questions.every((one) => times(one) > 0));
  for (const question of questions) assert.equal(times(question), 1, question);
}

async function held({ daemon }: DiscordWeir, name: string): Promise<number> {
  return (await daemon.store.channels.held({ platform: "discord", name }, 1_000_000)).length;
}

/** Resolves when nothing of the channel is missing; fails where nothing more of it comes. */
async function caughtUp({ daemon }: DiscordWeir, name: string): Promise<void> {
  const { channels, gaps } = daemon.store;
  const row = await channels.find({ platform: "discord", name });
  assert.ok(row !== undefined);
  await untilNone(async () => gaps.backlogOf(row.id));
}

test("5,000 messages while it was away all come in, talk goes on at once, and each question is answered once", async () => {
  await using scene = await openScene();
  const { discord, ann, general, mention, start, lines } = scene;
  const questions = await sayMeanwhile(scene, 5000);
  assert.equal(questions.length, 6);
  await using weir = await start();
  discord.world.say(ann, general, `${mention} question 9999?`);
  await until("talk to go on", () => discord.answers(general).some((one) => one.includes("9999")));
  assert.ok((await held(weir, general)) < 5002, "all was read before somebody was answered");
  discord.world.say(ann, general, `${mention} /status`);
  const isTold = (one: string): boolean =>
    /Reading what was said here while I was away|still to be read/.test(one);
  await until("the report", () => discord.answers(general).some(isTold));
  await caughtUp(weir, general);
  await answered(scene, [...questions, "question 9999?"]);
  assert.equal(await held(weir, general), 5002);
  const calls = discord.journal.calls("GET", ROUTE_MESSAGES).length;
  assert.ok(calls <= 60, `${calls} calls`);
  assert.match(lines.find((one) => one.includes("backlog_begun")) ?? "", /"level":40.*"name":"general"/);
});

test("a daemon that goes down in a backlog goes on where it was, and nothing comes twice or never", async () => {
  await using scene = await openScene();
  const { general, start, lines } = scene;
  const questions = await sayMeanwhile(scene, 2400);
  for (let round = 1; round <= 3; round++) {
    const weir = await start();
    const from = await held(weir, general);
    const enough = from + (round === 1 ? 600 : 100);
    await until("a part of it", async () => (await held(weir, general)) >= enough);
    await weir[Symbol.asyncDispose]();
  }
  assert.ok(!lines.some((one) => one.includes("backlog_read")), "it went down in the middle");
  await using weir = await start();
  await caughtUp(weir, general);
  await answered(scene, questions);
  assert.equal(await held(weir, general), 2401);
});

test("a backlog of many windows drives what is said now out of no prompt: it waits for the summaries", async () => {
  await using scene = await openScene();
  const { discord, model, ann, general, mention, start } = scene;
  const agent = "context_window = 32768\nmax_output_tokens = 512\n";
  const questions = await sayMeanwhile(scene, 1800, { agent });
  const isSummary = (content: string | null | undefined): boolean =>
    content?.includes("[System: your task]") === true;
  model.respond((request) =>
    request.messages.some(({ content }) => isSummary(content))
      ? text(["Ann and others ", "talked about ", "this and that, ", "one number ", "after the other."], {
          delayMs: 150,
        })
      : echoQuestions(request),
  );
  await using weir = await start({ agent });
  for (let round = 1; round <= 5; round++) {
    discord.world.say(ann, general, `the word of round ${round} is heron`);
    discord.world.say(ann, general, `${mention} question ${90_000 + round}?`);
    const asked = `question ${90_000 + round}?`;
    await until(asked, () => discord.answers(general).some((one) => one.includes(asked)));
    const prompt = model.requests.findLast(({ body }) =>
      body.messages.some(({ content }) => content?.includes(asked) === true && !isSummary(content)),
    );
    const shown = piecesIn(prompt?.body)
      .map(({ content }) => content ?? "")
      .join("\n");
    assert.match(shown, new RegExp(`the word of round ${round} is heron`));
  }
  await caughtUp(weir, general);
  await answered(scene, questions);
  const emergencies = weir.events.filter(({ type }) => type === "emergency");
  assert.deepEqual(emergencies, []);
  assert.ok(weir.events.some(({ type }) => type === "compaction"));
});

test("40 mentions in channels never heard of come, also where then somebody spoke in 360 others", async () => {
  await using scene = await openScene();
  const { discord, ann, guild, general, mention, start } = scene;
  const rooms = Array.from({ length: 400 }, (_, index) =>
    discord.world.addChannel({ guild, name: `room-${index}` }),
  );
  const first = await start();
  discord.world.say(ann, general, `${mention} hello`);
  await until("an answer", () => discord.answers(general).length === 1);
  await first[Symbol.asyncDispose]();
  const asked = rooms.slice(0, 40);
  for (const [index, room] of asked.entries()) discord.world.say(ann, room, `${mention} question ${index}?`);
  for (const room of rooms.slice(40)) discord.world.say(ann, room, "only talk");
  await using _weir = await start();
  const isAnswered = (room: string, index: number): boolean =>
    discord.answers(room).some((one) => one.includes(`question ${index}?`));
  await until("all answers", () => asked.every(isAnswered));
  assert.ok(asked.every((room) => discord.answers(room).length === 1));
});
