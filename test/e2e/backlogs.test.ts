import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openMill } from "../support/discord/mill.ts";
import { ROUTE_MESSAGES } from "../support/discord/server.ts";
import { openMainHome } from "../support/e2e-main.ts";
import { echoQuestions } from "../support/e2e-model.ts";
import { untilNone, until } from "../support/patience.ts";
import { openStore } from "../store/open-store.ts";

/** What is not asked is read, too. */
const BINDING = `[[bindings]]\nagent = "main"\nplatform = "discord"\n`;
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());

test("killed again and again in a backlog, it brings all of it, and answers each question once", async () => {
  const { model, discord, database, general, ann, mention, options } = stack.use(await openMill());
  model.respond(echoQuestions);
  const env = {
    DATABASE_URL: options.databaseUrl,
    OPENAI_BASE_URL: model.url,
    DISCORD_TOKEN: discord.token,
  };
  const home = stack.use(
    await openMainHome(`[platforms.discord]\ndm = "everyone"\napi_url = "${discord.api}"\n${BINDING}`, env),
  );
  const first = await home.start();
  discord.world.say(ann, general, `${mention} question 0?`);
  await until("an answer", () => discord.answers(general).length === 1);
  await first.kill();
  const questions: string[] = [];
  for (let index = 1; index <= 1200; index++) {
    const isQuestion = index % 200 === 100;
    if (isQuestion) questions.push(`question ${index}?`);
    discord.world.say(ann, general, isQuestion ? `${mention} question ${index}?` : `talk ${index}`);
  }
  const pages = (): number => discord.journal.calls("GET", ROUTE_MESSAGES).length;
  for (const more of [3, 5, 7]) {
    const before = pages();
    const killed = await home.start();
    await until(`${more} pages`, () => pages() >= before + more);
    await killed.kill();
  }
  const daemon = await home.start();
  const { store } = stack.use(openStore(database.connection));
  const row = await store.channels.find({ platform: "discord", name: general });
  assert.ok(row !== undefined);
  await untilNone(async () => store.gaps.backlogOf(row.id));
  const times = (question: string): number =>
    discord
      .answers(general)
      .join(" · ")
      .split(" · ")
      .filter((one) => one === question).length;
  await until("all answers", () => questions.every((one) => times(one) > 0));
  for (const question of questions) assert.equal(times(question), 1, question);
  const held = await store.channels.held(row.address, 10_000);
  assert.deepEqual([held.length, new Set(held).size], [1201, 1201]);
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
});
