import assert from "node:assert/strict";
import { after, test } from "node:test";
import { botTexts } from "../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../support/database.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { text } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { openStore } from "../store/open-store.ts";
import { openMainHome } from "../support/e2e-main.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";
import type { SlackChannel, SlackUser } from "../support/slack/model.ts";
import { type SlackServer, startSlackServer } from "../support/slack/server.ts";
import { connectionUrl } from "../support/weir.ts";

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  readonly ann: SlackUser;
  readonly dm: SlackChannel;
  start(): Promise<TestProcess>;
  /** It has been connected once: what is said from then on while it is away is looked for. */
  hasListened(): Promise<boolean>;
}

async function openScene(retryDelaysMs: readonly number[] = []): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const slack = stack.use(await startSlackServer({ retryDelaysMs, ackTimeoutMs: 1000 }));
  const database = stack.use(await createTestDatabase());
  const log = stack.use(openStore(database.connection));
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const env = {
    DATABASE_URL: connectionUrl(database.connection),
    OPENAI_BASE_URL: model.url,
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
  };
  const home = stack.use(
    await openMainHome(`[platforms.slack]\ndm = "everyone"\napi_url = "${slack.apiUrl}"`, env),
  );
  const kept = stack.move();
  return {
    slack,
    model,
    ann,
    dm,
    start: async () => home.start(),
    hasListened: async () => (await log.sql("select 1 from heard_marks")).length > 0,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Ends a process in peace, and says what people see in the end. */
async function finish({ slack, dm }: Scene, daemon: TestProcess): Promise<string[]> {
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  return botTexts(slack, dm);
}

async function untilShown({ slack, dm }: Pick<Scene, "slack" | "dm">, words: string): Promise<void> {
  await slack.journal.until(`"${words}"`, () => botTexts(slack, dm).some((shown) => shown.includes(words)));
}

// One daemon after the other: who takes up what one has left is killed in the next test, and nobody brings anything again.
const row = await openScene();
after(async () => row[Symbol.asyncDispose]());
let daemon = await row.start();
/** What each person is to see in the end, in a direct message of their own. */
const seen = new Map<SlackChannel, string>();

function somebody(name: string): Pick<Scene, "slack" | "ann" | "dm"> {
  const ann = row.slack.world.addUser(name);
  return { slack: row.slack, ann, dm: row.slack.world.openIm(ann) };
}

test("killed after the message was stored and before a word of the answer, it answers once", async () => {
  const { slack, model } = row;
  const { ann, dm } = somebody("silent");
  model.reply(() => undefined);
  slack.world.say(ann, dm, "are you there?");
  await model.received(1);
  await daemon.kill();
  assert.deepEqual(botTexts(slack, dm), []);
  model.respond(echo);
  daemon = await row.start();
  await untilShown({ slack, dm }, "are you there?");
  seen.set(dm, "are you there?");
});

for (const fault of ["hang_before", "hang_after"] as const) {
  test(`killed between append and send, or between send and acknowledgement (${fault}), it sends once`, async () => {
    const { slack, model } = row;
    const { ann, dm } = somebody(fault);
    model.respond(echo);
    const posts = (): number => slack.journal.calls("chat.postMessage").length;
    const postsBefore = posts();
    slack.faults.next({ method: "chat.postMessage", fault });
    slack.world.say(ann, dm, `once after ${fault}`);
    await slack.journal.until("the post", () => posts() === postsBefore + 1);
    await daemon.kill();
    assert.equal(botTexts(slack, dm).length, fault === "hang_after" ? 1 : 0);
    daemon = await row.start();
    await untilShown({ slack, dm }, `once after ${fault}`);
    seen.set(dm, `once after ${fault}`);
  });
}

test("killed while an answer is shown, it edits the same message into the final answer", async () => {
  const { slack, model } = row;
  const { ann, dm } = somebody("half");
  const gate = new Gate();
  model.reply(gate.between("Half of an answer", " that never comes"));
  slack.world.say(ann, dm, "tell me something");
  await untilShown({ slack, dm }, "Half of an answer");
  await daemon.kill();
  const half = slack.messages(dm).at(-1)?.ts;
  model.reply(text("Something quite different."));
  daemon = await row.start();
  await untilShown({ slack, dm }, "Something quite different.");
  assert.equal(slack.messages(dm).at(-1)?.ts, half);
  seen.set(dm, "Something quite different.");
});

test("when the last of them has ended in peace, each answer is seen once", async () => {
  await finish(row, daemon);
  assert.equal(seen.size, 4);
  for (const [dm, words] of seen) {
    const answers = botTexts(row.slack, dm);
    assert.equal(answers.length, 1, words);
    assert.ok(answers[0]?.includes(words), words);
  }
});

test("frozen while events come, it gets them again and answers each once", async () => {
  await using scene = await openScene([0, 300, 600, 1000]);
  const { slack, model, ann, dm } = scene;
  model.respond(() => text("Noted."));
  const frozen = await scene.start();
  frozen.signal("SIGSTOP");
  const said = ["one", "two", "three", "four"];
  for (const word of said) slack.world.say(ann, dm, `word ${word}`);
  await slack.journal.until("a second delivery", () =>
    slack.journal.envelopes().some((one) => one.retryAttempt === 1),
  );
  frozen.signal("SIGCONT");
  await slack.journal.until("all acknowledged", () => slack.journal.acks.length >= 4);
  await slack.deliveries.idle();
  // The words may be answered together, or one after the other: each is asked about once in the end.
  slack.world.say(ann, dm, "and now?");
  await slack.journal.until("the last answer", () => lastAsked(model).includes("and now?"));
  for (const word of said) assert.equal(lastAsked(model).split(`word ${word}`).length, 2, word);
  await slack.journal.until("it is shown", () => botTexts(slack, dm).length === model.requests.length);
  assert.deepEqual(slack.journal.givenUp, []);
  assert.equal((await finish(scene, frozen)).length, model.requests.length);
});

test("killed, it answers the first direct message and the first mention that were said meanwhile, once each", async () => {
  await using scene = await openScene();
  const { slack, model, ann, dm } = scene;
  const channel = slack.world.addChannel({ name: "general", members: [ann] });
  model.respond(echo);
  const killed = await scene.start();
  await until("the first connection", async () => scene.hasListened());
  await killed.kill();
  slack.world.say(ann, dm, "are you there?");
  slack.world.say(ann, channel, "only talk");
  slack.world.say(ann, channel, `<@${slack.world.bot.id}> and here?`);
  const interrupted = await scene.start();
  await slack.journal.until(
    "the first search",
    () => slack.journal.calls("conversations.history").length > 0,
  );
  await interrupted.kill();
  const next = await scene.start();
  await untilShown(scene, "are you there?");
  await slack.journal.until("the other", () => botTexts(slack, channel).length > 0);
  await finish(scene, next);
  const again = await scene.start();
  assert.equal((await finish(scene, again)).length, 1);
  assert.equal(botTexts(slack, channel).length, 1);
  assert.match(botTexts(slack, channel).join(), /and here\?/);
});

function lastAsked({ requests }: ModelServer): string {
  return (
    requests
      .at(-1)
      ?.body.messages.map(({ content }) => content ?? "")
      .join("\n") ?? ""
  );
}
