// proves: src/platforms/slack/web/names.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { botTexts, openSlackScene } from "./slack-harness.ts";

test("of very many mentions in a message some are looked up, a few at a time; the others stay ids", async () => {
  await using scene = await openSlackScene();
  const { slack, inbox, ana, general } = scene;
  const bob = slack.world.addUser("bob", { displayName: "Bob B" });
  const strangers = Array.from({ length: 300 }, (_, index) => `U1000000${index}`);
  const rooms = Array.from({ length: 300 }, (_, index) => `C1000000${index}`);
  const text = [bob.id, ...strangers, slack.world.bot.id].map((id) => `<@${id}>`).join(" ");
  slack.world.say(ana, general, `${text} ${rooms.map((id) => `<#${id}>`).join(" ")}`);
  let most = 0;
  const lookedUp = (): number => {
    const calls = slack.journal
      .calls()
      .filter(({ method }) => /^(?:users|conversations)\.info$/.test(method));
    most = Math.max(most, calls.filter(({ outcome }) => outcome === "open").length);
    return calls.length;
  };
  await slack.journal.until("the message", () => {
    lookedUp();
    return inbox.events.length > 0;
  });
  // Who speaks, and where, are looked up, too.
  assert.ok(lookedUp() >= 50 && lookedUp() <= 52, `${lookedUp()} calls`);
  assert.ok(most <= 7, `${most} at a time`);
  const names = ["Bob B", ...strangers, "weir"].map((name) => `@${name}`);
  assert.deepEqual(inbox.said, [`Ana: ${[...names, ...rooms.map((id) => `#${id}`)].join(" ")}`]);
});

test("mentions of channels are looked up beside those of people; one that Slack does not know stays an id", async () => {
  await using scene = await openSlackScene();
  const { slack, inbox, ana, general } = scene;
  const random = slack.world.addChannel({ name: "random", members: [ana] });
  slack.world.say(ana, general, `<@${ana.id}> <#${random.id}> <#C1000000000>`);
  await slack.journal.until("the message", () => inbox.events.length > 0);
  assert.deepEqual(inbox.said, ["Ana: @Ana #random #C1000000000"]);
});

test("a name that somebody else takes mentions neither", async () => {
  await using scene = await openSlackScene();
  const { slack, platform, inbox, ana, general } = scene;
  const other = slack.world.addUser("mallory", { displayName: "ANA" });
  const send = async (text: string): Promise<string> =>
    platform.send({
      channel: { platform: "slack", name: general.id },
      idempotencyKey: text,
      mayBeThere: false,
      text,
      final: true,
      inReplyTo: [],
      kind: "answer",
    });
  for (const text of ["hello", "again"]) slack.world.say(ana, general, text);
  await inbox.received(2);
  await send("hi @Ana");
  slack.world.say(other, general, "it is me");
  await inbox.received(3);
  await send("bye @Ana");
  slack.world.say(ana, general, "no");
  await inbox.received(4);
  await send("who, @Ana?");
  assert.deepEqual(botTexts(slack, general), [`hi <@${ana.id}>`, "bye @Ana", "who, @Ana?"]);
});
