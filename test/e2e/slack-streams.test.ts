// proves: src/platforms/slack/outbound/streams.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { botTexts } from "../platforms/slack/slack-harness.ts";
import { createTestDatabase } from "../support/database.ts";
import { openMainHome } from "../support/e2e-main.ts";
import { Gate } from "../support/e2e-model.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import type { SlackChannel, SlackMessage, SlackUser } from "../support/slack/model.ts";
import { startSlackServer } from "../support/slack/server.ts";
import { connectionUrl } from "../support/weir.ts";

await using stack = new AsyncDisposableStack();
const model = stack.use(await startModelServer());
const slack = stack.use(await startSlackServer({ retryDelaysMs: [], ackTimeoutMs: 1000 }));
const database = stack.use(await createTestDatabase());
const home = stack.use(
  await openMainHome(`[platforms.slack]\ndm = "everyone"\napi_url = "${slack.apiUrl}"`, {
    DATABASE_URL: connectionUrl(database.connection),
    OPENAI_BASE_URL: model.url,
    SLACK_BOT_TOKEN: slack.botToken,
    SLACK_APP_TOKEN: slack.appToken,
  }),
);
const kept = stack.move();
after(async () => kept.disposeAsync());
// One daemon after the other: each is killed in its test.
let daemon = await home.start();

interface Talk {
  readonly person: SlackUser;
  readonly channel: SlackChannel;
  readonly root: string;
  /** The bot's messages in the thread. */
  readonly answers: () => readonly SlackMessage[];
}

/** A thread in a direct message, under a message that is answered, or one in a channel. */
async function openTalk(name: string, where: "dm" | "channel"): Promise<Talk> {
  const person = slack.world.addUser(name);
  const channel =
    where === "dm" ? slack.world.openIm(person) : slack.world.addChannel({ name, members: [person] });
  if (where === "dm") model.reply(text("Hello."));
  const root = slack.world.say(person, channel, "a root");
  if (where === "dm")
    await slack.journal.until("the root's answer", () => botTexts(slack, channel).includes("Hello."));
  return {
    person,
    channel,
    root,
    answers: () => slack.messages(channel, root).filter(({ user }) => user === slack.world.bot.id),
  };
}

function ask({ person, channel, root }: Talk, words: string): void {
  slack.world.say(person, channel, `<@${slack.world.bot.id}> ${words}`, { threadTs: root });
}

async function untilShown({ answers }: Talk, words: string, isDone: boolean): Promise<void> {
  await slack.journal.until(`"${words}"`, () =>
    answers().some((one) => one.text.includes(words) && (!isDone || one.streaming !== "in_progress")),
  );
}

for (const where of ["dm", "channel"] as const) {
  test(`killed while a stream is open (${where}), it completes the same message, and answers once`, async () => {
    const talk = await openTalk(`open-${where}`, where);
    const gate = new Gate();
    model.reply(gate.between("Half of an answer", " that never comes"));
    ask(talk, "tell me something");
    await untilShown(talk, "Half of an answer", false);
    const [half] = talk.answers();
    assert.equal(half?.streaming, "in_progress");
    await daemon.kill();
    model.reply(text("Something quite different."));
    daemon = await home.start();
    await untilShown(talk, "Something quite different.", true);
    assert.deepEqual(
      talk.answers().map(({ ts, text: shown }) => [ts, shown]),
      [[half.ts, "Something quite different."]],
    );
  });
}

for (const isExpired of [false, true]) {
  test(`killed before the id of a stream was known${isExpired ? ", which Slack has ended since" : ""}, it finds it`, async () => {
    const talk = await openTalk(`lost-${String(isExpired)}`, "dm");
    const gate = new Gate();
    slack.faults.next({ method: "chat.startStream", fault: "hang_after" });
    model.reply(gate.between("Half of an answer", " that never comes"));
    ask(talk, "tell me something");
    await untilShown(talk, "Half of an answer", false);
    const [half] = talk.answers();
    await daemon.kill();
    if (isExpired) slack.world.expireStream(talk.channel, half?.ts ?? "");
    model.reply(text("Something quite different."));
    daemon = await home.start();
    await untilShown(talk, "Something quite different.", true);
    assert.deepEqual(
      talk.answers().map(({ ts, text: shown }) => [ts, shown]),
      [[half?.ts, "Something quite different."]],
    );
  });
}

for (const fault of ["hang_before", "hang_after"] as const) {
  test(`killed while it ends a stream (${fault}), the answer stands there once`, async () => {
    const talk = await openTalk(`end-${fault}`, "dm");
    const gate = new Gate();
    model.reply(gate.between("The first half,", " and the second."));
    ask(talk, "tell me something");
    await untilShown(talk, "The first half,", false);
    slack.faults.next({ method: "chat.stopStream", fault });
    const stops = slack.journal.calls("chat.stopStream").length;
    gate.open();
    await slack.journal.until("the stop", () => slack.journal.calls("chat.stopStream").length > stops);
    await daemon.kill();
    daemon = await home.start();
    await untilShown(talk, "The first half, and the second.", true);
    assert.deepEqual(
      talk.answers().map(({ text: shown }) => shown),
      ["The first half, and the second."],
    );
  });
}

test("a reader who presses stop ends the answer, in the log as well", async () => {
  const talk = await openTalk("stop", "channel");
  const gate = new Gate();
  model.reply(gate.between("One sentence. Half of", " another"));
  ask(talk, "tell me something");
  await untilShown(talk, "One sentence.", false);
  const [answer] = talk.answers();
  slack.world.stopStream(talk.person, talk.channel, answer?.ts ?? "");
  model.reply(text("Yes."));
  ask(talk, "are you done?");
  await untilShown(talk, "Yes.", true);
  assert.equal(talk.answers().length, 2);
  assert.equal(talk.answers()[0]?.text, answer?.text);
  const asked = model.requests.at(-1)?.body.messages.map(({ content }) => content ?? "") ?? [];
  assert.match(asked.join("\n"), /One sentence\.[^]*\(stopped\)/);
});

test("the last of them ends in peace", async () => {
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
});
