// proves: src/admin/commands/ask.ts, src/admin/reports/answerer.ts
// Commands, replies, edits and deletions where several agents answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerText } from "../../../src/core/card.ts";
import { ANN, BEN, command } from "../../support/commands.ts";
import { checkFold, hold } from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import { openTogether, shownIn, told } from "../../support/together.ts";
import { TestPlatform } from "../../support/test-platform.ts";

test("/ask reaches an agent, as a slash command and as a text, also one that is read again", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start({
    platform: new TestPlatform({ serves: () => true, hasTextCommands: true }),
  });
  await told(weir, "hello");
  assert.equal(
    await command(weir, "room", "ask Researcher what is the lake?"),
    "Researcher has your question.",
  );
  await weir.platform.until(() => weir.platform.texts().length === 2);
  assert.equal(weir.platform.texts()[1], "**Researcher:** I am researcher.");
  const answer = [...weir.platform.shown.values()][1];
  assert.deepEqual(answer?.inReplyTo, []);
  assert.match(shownIn(scene.requests("researcher")[0]), /Ann: what is the lake\?/);

  const typed = { id: "typed", addressed: true };
  assert.deepEqual(await told(weir, "/ask coder which line?", typed), ["**Coder:** I am coder."]);
  assert.deepEqual((await weir.say("/ask coder which line?", typed)).outcome, "duplicate");
  assert.match(shownIn(scene.requests("coder")[0]), /which line\?/);
  assert.deepEqual(await told(weir, "/ask nobody which line?", { id: "typed-2" }), [
    'There is no agent "nobody" here. There are: main, researcher, coder. This is /ask AGENT TEXT.',
  ]);
  assert.match(await command(weir, "room", "ask coder"), /What do you ask Coder\?/);
  assert.match(await command(weir, "room", "ask"), /Whom\? There are: main, researcher, coder/);
  await checkFold(weir, "room");
});

test("where one agent answers alone, /ask says so, and a name is only a word", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start({ also: [] });
  assert.deepEqual(await told(weir, "@researcher hello"), ["I am main."]);
  assert.equal(
    await command(weir, "room", "ask researcher what?"),
    "Only one agent answers in this channel: just write to it.",
  );
  assert.ok(!scene.requests("main")[0]?.tools?.some((tool) => tool.function.name === "hand_off"));
});

test("a mention of another agent needs none of the bot, and keeps to whom the binding answers", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start({ binding: { listen: false, allowUsers: ["u-ann"] } });
  const heard = { addressed: false };
  assert.equal((await weir.say("just talking", heard)).outcome, "ignored");
  assert.deepEqual(await told(weir, "what does @res say?", heard), ["**Researcher:** I am researcher."]);
  const ben = { id: BEN.id, name: "Ben", isBot: false };
  assert.equal((await weir.say("@res and me?", { ...heard, author: ben })).outcome, "ignored");
  assert.equal(scene.requests("researcher").length, 1);
});

test("a reply to what an agent has said is for that agent", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  await told(weir, "@res hello");
  await weir.event("reply_delivered");
  const [answered] = weir.platform.shown.keys();
  assert.ok(answered !== undefined);
  assert.deepEqual(await told(weir, "go on", { replyTo: answered }), ["**Researcher:** I am researcher."]);
  assert.deepEqual(await told(weir, "@coder go on", { replyTo: answered }), ["**Coder:** I am coder."]);
  assert.deepEqual(await told(weir, "and you?", { replyTo: "in-unknown" }), ["I am main."]);
});

test("/context and /why tell of the agent that answered last, and say which", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  await told(weir, "@res hello");
  assert.match(await command(weir, "room", "context"), /agent researcher · model researcher-model/);
  assert.match(await command(weir, "room", "context list"), /agent researcher · model researcher-model/);
  assert.match(
    await command(weir, "room", "why"),
    /The last answer here is Researcher's[\s\S]*researcher-model wrote it/,
  );
  await told(weir, "hello");
  assert.match(await command(weir, "room", "context"), /agent main · model main-model/);
  assert.match(await command(weir, "room", "why"), /My last answer here/);
});

test("/stop ends another agent's answer, and a deletion of the question leaves none", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  const held = hold();
  scene.script({ researcher: () => held.behaviour });
  await weir.say("@res think", { id: "slow" });
  await scene.server.received(1);
  assert.equal(answerText(await command(weir, "room", "stop", ANN)), "Stopped.");
  await weir.event("turn_settled", ({ outcome }) => outcome === "stopped");
  await weir.say("@res think again", { id: "gone" });
  await scene.server.received(2);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "gone", at: new Date() });
  await weir.event("turn_settled", ({ outcome }) => outcome === "skipped");
  held.release(text("too late"));
  assert.deepEqual(await told(weir, "hello"), ["I am main."]);
  await checkFold(weir, "room");
});

test("two who ask two agents at once are each answered by theirs, in the order in which they asked", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  const held = hold();
  scene.script({ main: () => held.behaviour });
  await weir.say("one for you");
  await scene.server.received(1);
  // One after the other, as a platform's intake hands on what a channel says.
  for (const words of ["@res two", "@res three", "@coder four", "five", "@res six"]) await weir.say(words);
  held.release(text("I am main."));
  await weir.platform.until(() => weir.platform.texts().length === 5);
  assert.deepEqual(weir.platform.texts(), [
    "I am main.",
    "**Researcher:** I am researcher.",
    "**Coder:** I am coder.",
    "I am main.",
    "**Researcher:** I am researcher.",
  ]);
  const [first, second] = scene.requests("researcher");
  assert.match(shownIn(first), /@res two[\s\S]*@res three/);
  assert.doesNotMatch(shownIn(first), /four|five|six/);
  assert.match(shownIn(second), /four[\s\S]*Coder: I am coder\.[\s\S]*six/);
  await checkFold(weir, "room");
});
