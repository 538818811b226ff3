import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../support/database.ts";
import { until } from "../support/patience.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../support/discord/server.ts";
import type { DiscordOptions } from "../support/discord/state.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { text } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { openStore } from "../store/open-store.ts";
import { openMainHome } from "../support/e2e-main.ts";
import type { TestProcess } from "../support/process.ts";
import { connectionUrl } from "../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly model: ModelServer;
  readonly ann: string;
  readonly dm: string;
  start(): Promise<TestProcess>;
  /** It has been connected once: what is said from then on while it is away is looked for. */
  hasListened(): Promise<boolean>;
}

async function openScene(options: DiscordOptions = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const discord = stack.use(await startDiscordServer(options));
  const database = stack.use(await createTestDatabase());
  const log = stack.use(openStore(database.connection));
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const dm = discord.world.openDm(ann);
  const env = {
    DATABASE_URL: connectionUrl(database.connection),
    OPENAI_BASE_URL: model.url,
    DISCORD_TOKEN: discord.token,
  };
  const home = stack.use(
    await openMainHome(`[platforms.discord]\ndm = "everyone"\napi_url = "${discord.api}"`, env),
  );
  const kept = stack.move();
  return {
    discord,
    model,
    ann,
    dm,
    start: async () => home.start(),
    hasListened: async () => (await log.sql("select 1 from heard_marks")).length > 0,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Ends a process in peace, and says what people see in the end. */
async function finish({ discord, dm }: Scene, daemon: TestProcess): Promise<string[]> {
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  return discord.answers(dm);
}

async function untilShown({ discord, dm }: Pick<Scene, "discord" | "dm">, words: string): Promise<void> {
  await until(`"${words}"`, () => discord.answers(dm).some((shown) => shown.includes(words)));
}

// One daemon after the other: who takes up what one has left is killed in the next test, and nobody brings anything again.
// The server has forgotten the key when the next process comes: it has to look for the message.
const row = await openScene({ nonceLifeMs: 1 });
after(async () => row[Symbol.asyncDispose]());
let daemon = await row.start();
/** What each person is to see in the end, in a direct message of their own. */
const seen = new Map<string, string>();

function somebody(name: string): Pick<Scene, "discord" | "ann" | "dm"> {
  const ann = row.discord.world.addUser({ name });
  return { discord: row.discord, ann, dm: row.discord.world.openDm(ann) };
}

test("killed after the message was stored and before a word of the answer, it answers once", async () => {
  const { discord, model } = row;
  const { ann, dm } = somebody("silent");
  model.reply(() => undefined);
  discord.world.say(ann, dm, "are you there?");
  await model.received(1);
  await daemon.kill();
  assert.deepEqual(discord.answers(dm), []);
  model.respond(echo);
  daemon = await row.start();
  await untilShown({ discord, dm }, "are you there?");
  seen.set(dm, "are you there?");
});

for (const when of ["before", "after"] as const) {
  test(`killed in the middle of a post, ${when} Discord took it, it is seen once`, async () => {
    const { discord, model } = row;
    const { ann, dm } = somebody(when);
    model.respond(echo);
    const posts = (): number => discord.journal.calls("POST", ROUTE_MESSAGES).length;
    const postsBefore = posts();
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault: { kind: "hang", when } });
    discord.world.say(ann, dm, `once, killed ${when}`);
    await until("the post", () => posts() === postsBefore + 1);
    await until("its fate", () => discord.answers(dm).length === (when === "after" ? 1 : 0));
    await daemon.kill();
    daemon = await row.start();
    await untilShown({ discord, dm }, `once, killed ${when}`);
    seen.set(dm, `once, killed ${when}`);
  });
}

test("killed while an answer is shown, it edits the same message into the final answer", async () => {
  const { discord, model } = row;
  const { ann, dm } = somebody("half");
  const gate = new Gate();
  model.reply(gate.between("Half of an answer", " that never comes"));
  discord.world.say(ann, dm, "tell me something");
  await untilShown({ discord, dm }, "Half of an answer");
  await daemon.kill();
  const half = discord.messages(dm).at(-1)?.id;
  model.reply(text("Something quite different."));
  daemon = await row.start();
  await untilShown({ discord, dm }, "Something quite different.");
  assert.equal(discord.messages(dm).at(-1)?.id, half);
  seen.set(dm, "Something quite different.");
});

test("when the last of them has ended in peace, each answer is seen once", async () => {
  await finish(row, daemon);
  assert.equal(seen.size, 4);
  for (const [dm, words] of seen) {
    const answers = row.discord.answers(dm);
    assert.equal(answers.length, 1, words);
    assert.ok(answers[0]?.includes(words), words);
  }
});

test("frozen until its connection is given up, it takes up what was said meanwhile, each once", async () => {
  await using scene = await openScene({ heartbeatIntervalMs: 500 });
  const { discord, model, ann, dm } = scene;
  model.respond(() => text("Noted."));
  const frozen = await scene.start();
  discord.world.say(ann, dm, "word zero");
  await untilShown(scene, "Noted.");
  frozen.signal("SIGSTOP");
  const said = ["one", "two", "three"];
  for (const word of said) discord.world.say(ann, dm, `word ${word}`);
  discord.gateway.forgetSessions();
  discord.gateway.cut({ isReset: true });
  frozen.signal("SIGCONT");
  discord.world.say(ann, dm, "and now?");
  const lastAsked = (): string =>
    model.requests
      .at(-1)
      ?.body.messages.map(({ content }) => content ?? "")
      .join("\n") ?? "";
  await until("the last answer", () => lastAsked().includes("and now?"));
  for (const word of said) assert.equal(lastAsked().split(`word ${word}`).length, 2, word);
  await until("it is shown", () => discord.answers(dm).length === model.requests.length);
  assert.equal((await finish(scene, frozen)).length, model.requests.length);
});

test("killed, it answers the first mentions that were said meanwhile in a channel and a thread it never heard of, once each", async () => {
  await using scene = await openScene();
  const { discord, model, ann } = scene;
  const { world } = discord;
  const guild = world.addGuild({ name: "Mill" });
  const general = world.addChannel({ guild, name: "general" });
  const quiet = world.addChannel({ guild, name: "quiet" });
  const root = world.say(ann, general, "plans");
  const thread = world.openThread(general, { name: "plans", owner: ann, fromMessage: root });
  const mention = `<@${world.botId}>`;
  model.respond(echo);
  const killed = await scene.start();
  await until("the first connection", async () => scene.hasListened());
  await killed.kill();
  world.say(ann, general, "only talk");
  world.say(ann, general, `${mention} are you there?`);
  world.say(ann, thread, `${mention} and in the thread?`);
  const interrupted = await scene.start();
  await until("the first request", () => model.requests.length >= 1);
  await interrupted.kill();
  const next = await scene.start();
  await until("both answers", () => [general, thread].every((one) => discord.answers(one).length > 0));
  await finish(scene, next);
  const again = await scene.start();
  await finish(scene, again);
  assert.match(discord.answers(general).join(), /are you there\?/);
  assert.match(discord.answers(thread).join(), /and in the thread\?/);
  assert.deepEqual(
    [general, thread, quiet].map((one) => discord.answers(one).length),
    [1, 1, 0],
  );
  assert.deepEqual(
    discord.journal.calls("GET", ROUTE_MESSAGES).filter(({ path }) => path.includes(quiet)),
    [],
  );
});
