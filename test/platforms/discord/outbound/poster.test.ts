import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { z } from "zod";
import type { OutboundMessage } from "../../../../src/core/message.ts";
import { createDiscord } from "../../../../src/platforms/discord/adapter.ts";
import { toCard } from "../../../../src/platforms/discord/outbound/card.ts";
import { textIn } from "../../../../src/platforms/discord/outbound/components.ts";
import { PlatformError } from "../../../../src/platforms/platform.ts";
import { until } from "../../../support/patience.ts";
import { ROUTE_MESSAGE, ROUTE_MESSAGES } from "../../../support/discord/server.ts";
import { CARD } from "../../cards.ts";
import { COMMANDS, discordConfig, type DiscordScene, FAST, openDiscordScene } from "../discord-harness.ts";

function outbound(channel: string, text: string, rest: Partial<OutboundMessage> = {}): OutboundMessage {
  return {
    channel: { platform: "discord", name: channel },
    idempotencyKey: `key of ${text}`,
    mayBeThere: false,
    text,
    final: true,
    inReplyTo: [],
    kind: "answer",
    ...rest,
  };
}

/** Ann says something in #general, and is heard. */
async function said({ discord, inbox, ann, general }: DiscordScene, text: string): Promise<string> {
  const before = inbox.events.length;
  const id = discord.world.say(ann, general, text);
  await inbox.received(before + 1);
  return id;
}

test("an answer refers to what it answers, unless it comes right behind it or in a DM", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, inbox, ann, general } = scene;
  const asked = await said(scene, "a question");
  const direct = await platform.send(outbound(general, "behind it", { inReplyTo: [asked] }));
  const late = await platform.send(outbound(general, "later", { inReplyTo: [asked] }));
  const dm = discord.world.openDm(ann);
  const first = discord.world.say(ann, dm, "psst");
  discord.world.say(ann, dm, "and");
  await inbox.received(3);
  await platform.send(outbound(dm, "in private", { inReplyTo: [first] }));
  const references = [...discord.messages(general), ...discord.messages(dm)]
    .filter(({ isBots }) => isBots)
    .map(({ id, replyTo }) => [id, replyTo]);
  assert.deepEqual(references.slice(0, 2), [
    [direct, null],
    [late, asked],
  ]);
  assert.equal(references[2]?.[1], null);
  assert.deepEqual(discord.pings(late).users, [ann]);
});

test("a message that answers something that is gone is sent all the same", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  const asked = await said(scene, "a question");
  await said(scene, "another");
  discord.world.remove(asked);
  await platform.send(outbound(general, "an answer", { inReplyTo: [asked] }));
  assert.deepEqual(discord.answers(general), ["an answer"]);
});

test("where the bot may not read the history, an answer is sent without a reference, and the log says why", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general, lines } = scene;
  const asked = await said(scene, "a question");
  await said(scene, "another");
  discord.world.setAccess(general, "no_history");
  const id = await platform.send(outbound(general, "an answer", { inReplyTo: [asked] }));
  assert.deepEqual(
    discord.messages(general).flatMap((one) => (one.isBots ? [[one.id, one.text, one.replyTo]] : [])),
    [[id, "an answer", null]],
  );
  const told = lines.filter((line) => line.includes('"sent_without_reference"'));
  assert.equal(told.length, 1);
  assert.match(told[0] ?? "", /the bot lacks Read Message History there/);
});

test("people who are known there are mentioned by name; nobody else is, and never everybody", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, ann, general } = scene;
  const other = discord.world.addUser({ name: "zed" });
  await said(scene, "hello");
  const text = `@ann, @Ann! @everyone @here <@${other}> @zed \`@ann\``;
  const id = await platform.send(outbound(general, text));
  assert.equal(
    discord.answers(general)[0],
    `<@${ann}>, <@${ann}>! @\u200Beveryone @\u200Bhere <@${other}> @zed \`@ann\``,
  );
  assert.deepEqual(discord.pings(id), { users: [ann], roles: [], everyone: false });
});

test("what may be there is looked for where Discord has forgotten its key", async () => {
  await using scene = await openDiscordScene({ server: { nonceLifeMs: 1 }, timing: { nonceMs: 1 } });
  const { discord, platform, general } = scene;
  const asked = await said(scene, "a question");
  const message = outbound(general, "an answer with a table", { inReplyTo: [asked] });
  discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault: { kind: "reset", when: "after" } });
  await assert.rejects(platform.send({ ...message, text: "an answer" }), PlatformError);
  await said(scene, "more talk");
  const drafted = await platform.send({
    ...message,
    mayBeThere: true,
    mayBeInPart: true,
    final: false,
  });
  assert.deepEqual(discord.answers(general), ["an answer"]);
  assert.equal(await platform.send({ ...message, mayBeThere: true }), drafted);
  assert.deepEqual(discord.answers(general), ["an answer with a table"]);
});

test("what only looks alike is not taken for it", async () => {
  await using scene = await openDiscordScene({ server: { nonceLifeMs: 1 }, timing: { nonceMs: 1 } });
  const { discord, platform, general } = scene;
  const earlier = await said(scene, "one");
  const asked = await said(scene, "two");
  // The same words as an answer to somebody else, and from this process: neither is ours.
  await platform.send(outbound(general, "Yes.", { idempotencyKey: "a", inReplyTo: [earlier] }));
  await platform.send(
    outbound(general, "Yes.", { idempotencyKey: "b", inReplyTo: [asked], mayBeThere: true }),
  );
  assert.deepEqual(discord.answers(general), ["Yes.", "Yes."]);
});

test("an answer to somebody else that another process sent is not taken for it", async () => {
  await using scene = await openDiscordScene({ server: { nonceLifeMs: 1 }, timing: { nonceMs: 1 } });
  const { discord, platform, general } = scene;
  const earlier = await said(scene, "one");
  const asked = await said(scene, "two");
  await platform.send(outbound(general, "Yes.", { idempotencyKey: "a", inReplyTo: [earlier] }));
  const config = discordConfig(discord);
  const log = pino({ level: "silent" });
  await using successor = createDiscord({ config, log, commands: COMMANDS, timing: FAST });
  const message = outbound(general, "Yes.", { idempotencyKey: "b", inReplyTo: [asked], mayBeThere: true });
  await successor.send(message);
  assert.deepEqual(discord.answers(general), ["Yes.", "Yes."]);
});

test("an answer in a DM that begins like the one before it, which another process sent, is not taken for it", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, inbox, ann } = scene;
  const dm = discord.world.openDm(ann);
  const first = discord.world.say(ann, dm, "is it raining?");
  const second = discord.world.say(ann, dm, "and is it cold?");
  await inbox.received(2);
  const channel = { platform: "discord", name: dm };
  await platform.send(outbound(dm, "Yes", { channel, idempotencyKey: "a", inReplyTo: [first] }));
  const config = discordConfig(discord);
  const log = pino({ level: "silent" });
  await using successor = createDiscord({ config, log, commands: COMMANDS, timing: FAST });
  const answer = outbound(dm, "Yes, bring a coat.", { channel, idempotencyKey: "b", inReplyTo: [second] });
  const id = await successor.send({ ...answer, mayBeThere: true });
  assert.deepEqual(discord.answers(dm), ["Yes", "Yes, bring a coat."]);
  await using third = createDiscord({ config, log, commands: COMMANDS, timing: FAST });
  assert.equal(await third.send({ ...answer, mayBeThere: true }), id, "what is there is found");
  assert.equal(discord.answers(dm).length, 2);
});

test("a rate limit is waited for up to a bound, and told above it", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  const limit = (retryAfterMs: number): void =>
    discord.faults.next({
      method: "POST",
      route: ROUTE_MESSAGES,
      fault: { kind: "rate-limit", retryAfterMs },
    });
  limit(200);
  const startedAt = performance.now();
  await platform.send(outbound(general, "soon"));
  assert.ok(performance.now() - startedAt >= 200);
  limit(60_000);
  await assert.rejects(platform.send(outbound(general, "never")), (error) => {
    assert.ok(error instanceof PlatformError);
    assert.equal(error.kind, "unavailable");
    assert.ok((error.retryAfterMs ?? 0) >= 60_000);
    return true;
  });
});

test("buckets are kept: nothing runs into a limit that Discord told", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  discord.limit("POST", ROUTE_MESSAGES, { requests: 2, windowMs: 150 });
  for (let index = 0; index < 5; index++) await platform.send(outbound(general, `text ${index}`));
  assert.equal(discord.answers(general).length, 5);
  const statuses = discord.journal.calls("POST", ROUTE_MESSAGES).map(({ status }) => status);
  assert.ok(!statuses.includes(429), statuses.join(" "));
});

test("after a refused token the next call has one again", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  const refused = { kind: "status", status: 401, body: { message: "401: Unauthorized", code: 0 } } as const;
  discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault: refused });
  await assert.rejects(platform.send(outbound(general, "one")), (error) => {
    assert.ok(error instanceof PlatformError && error.kind === "unavailable");
    return true;
  });
  await platform.send(outbound(general, "two"));
  assert.deepEqual(discord.answers(general), ["two"]);
});

for (const [what, status, code, kind] of [
  ["a locked thread", 403, 160_005, "gone"],
  ["a lost permission", 403, 50_013, "gone"],
  ["a person who takes no messages", 403, 50_007, "gone"],
  ["an empty text", 400, 50_006, "rejected"],
] as const) {
  test(`${what} is told as ${kind}`, async () => {
    await using scene = await openDiscordScene();
    const { discord, platform, general } = scene;
    const fault = { kind: "status", status, body: { message: "private words", code } } as const;
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault });
    await assert.rejects(platform.send(outbound(general, "hello")), (error) => {
      assert.ok(error instanceof PlatformError);
      assert.equal(error.kind, kind);
      assert.doesNotMatch(error.message, /private words/);
      return true;
    });
  });
}

test("an edit that changes nothing costs no call", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  const message = outbound(general, "as it is");
  const id = await platform.send(message);
  await platform.edit(id, message);
  await platform.edit(id, { ...message, text: "changed" });
  await platform.edit(id, { ...message, text: "changed" });
  assert.equal(discord.journal.calls("PATCH", ROUTE_MESSAGE).length, 1);
});

test("it reacts with any emoji and the server's own; what cannot be put there is refused", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, guild, general } = scene;
  const own = discord.world.addEmoji(guild, "party_blob");
  const id = await said(scene, "well done");
  const channel = { platform: "discord", name: general };
  for (const emoji of ["🎉", "❤️", "party_blob", ":party_blob:", ":thumbsup:"])
    await platform.react?.(channel, id, emoji);
  assert.deepEqual(Object.keys(discord.messages(general)[0]?.reactions ?? {}), [
    "🎉",
    "❤️",
    `party_blob:${own}`,
    "👍",
  ]);
  const kindOf = async (emoji: string): Promise<string> => {
    try {
      await platform.react?.(channel, id, emoji);
      return "shown";
    } catch (error) {
      assert.ok(error instanceof PlatformError);
      return error.kind;
    }
  };
  const reactions = (): number =>
    discord.journal.calls("PUT", `${ROUTE_MESSAGE}/reactions/:emoji/@me`).length;
  const sent = reactions();
  assert.equal(sent, 5);
  for (const emoji of ["no_such", ":no_such:", "well done", "../@me", "<b>"])
    assert.equal(await kindOf(emoji), "rejected", emoji);
  // Names that are unknown are not sent.
  assert.equal(reactions(), sent);
  assert.equal(await kindOf("🎉🎉"), "rejected");
  assert.equal(await kindOf(`<:party_blob:${own}>`), "shown");
  discord.world.setAccess(general, "read");
  assert.equal(await kindOf("👍"), "gone");
  discord.world.setAccess(general, "all");
  discord.world.remove(id);
  assert.equal(await kindOf("👍"), "gone");
});

test("it shows that it is typing no oftener than needed", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, ann, general } = scene;
  const id = await said(scene, "well done");
  const channel = { platform: "discord", name: general };
  const typed = (): number => discord.journal.calls("POST", "/channels/:channel/typing").length;
  for (let index = 0; index < 5; index++) platform.showTyping?.(channel, [id], true);
  platform.showTyping?.(channel, [id], false);
  await until("the sign", () => typed() > 0);
  // Another channel's sign, so that a second one of the first would have been there by now.
  const dm = discord.world.openDm(ann);
  platform.showTyping?.({ platform: "discord", name: dm }, [], true);
  await until("the other sign", () => typed() > 1);
  assert.equal(typed(), 2);
});

test("a card is a box that mentions nobody, once; one that Discord refuses is no message, and an error", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  const card = outbound(general, CARD.summary, { card: CARD });
  const id = await platform.send(card);
  const [{ body } = { body: null }] = discord.journal.calls("POST", ROUTE_MESSAGES);
  const sent = z.looseObject({ components: z.unknown(), allowed_mentions: z.unknown() }).parse(body);
  assert.deepEqual(sent.components, toCard(CARD).components);
  assert.deepEqual(sent.allowed_mentions, { parse: [], users: [], replied_user: true });
  const config = discordConfig(discord);
  const log = pino({ level: "silent" });
  await using successor = createDiscord({ config, log, commands: COMMANDS, timing: FAST });
  assert.equal(await successor.send({ ...card, mayBeThere: true, idempotencyKey: "another" }), id);
  discord.faults.next({
    method: "POST",
    route: ROUTE_MESSAGES,
    fault: { kind: "status", status: 403, body: { message: "Missing Permissions", code: 50_013 } },
  });
  await assert.rejects(platform.send({ ...card, idempotencyKey: "refused" }), { retryable: false });
  assert.deepEqual(
    discord.messages(general).map((message) => [message.id, message.text]),
    [[id, textIn(toCard(CARD).components)]],
  );
});

/** The form of a request's body: its content, its flags, and the types of its components. */
function formOf(body: unknown): unknown[] {
  const form = z.object({
    content: z.unknown(),
    flags: z.number().optional(),
    components: z.array(z.object({ type: z.number() })).optional(),
  });
  const { content, flags, components } = form.parse(body);
  return [content, flags, components?.map(({ type }) => type)];
}

test("a text with actions is a box of components without content; where Discord refuses that, a text with buttons", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general } = scene;
  const forms = (method: "POST" | "PATCH"): unknown[] =>
    discord.journal
      .calls(method, method === "POST" ? ROUTE_MESSAGES : ROUTE_MESSAGE)
      .map(({ body }) => formOf(body));
  const refuse = (method: "POST" | "PATCH", route: string): void =>
    discord.faults.next({
      method,
      route,
      fault: { kind: "status", status: 400, body: { message: "Invalid Form Body", code: 50_035 } },
    });
  const shown = (id: string): unknown[] => [
    discord.world.messages(general).find((one) => one.id === id)?.content,
    [...discord.world.buttons(id).keys()],
  ];
  const actions = [{ label: "Allow", style: "primary", command: "status", argument: "" }] as const;
  const question = outbound(general, "May it?", { actions, kind: "notice" });
  const id = await platform.send(question);
  assert.deepEqual(forms("POST"), [[null, 32_768, [17]]]);
  assert.deepEqual(shown(id), ["May it?", ["Allow"]]);
  refuse("POST", ROUTE_MESSAGES);
  const plain = await platform.send({ ...question, text: "And this?", idempotencyKey: "plain" });
  assert.deepEqual(forms("POST").slice(1), [
    [null, 32_768, [17]],
    ["And this?", undefined, [1]],
  ]);
  assert.deepEqual(shown(plain), ["And this?", ["Allow"]]);
  refuse("PATCH", ROUTE_MESSAGE);
  await platform.edit(plain, { ...question, text: "It may.", actions: [] });
  assert.deepEqual(forms("PATCH").at(-1), ["It may.", undefined, []]);
  await platform.edit(plain, { ...question, text: "It has.", actions: [] });
  assert.deepEqual(forms("PATCH").at(-1), [null, 32_768, [17]], "a text becomes a box");
});

test("the server's own emoji are drawn by their names, and stay words where they are unknown", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, general, guild } = scene;
  const own = discord.world.addEmoji(guild, "party_blob");
  const channel = { platform: "discord", name: general };
  const shared = { channel, mayBeThere: false, final: true, inReplyTo: [], kind: "answer" } as const;
  await platform.send({ ...shared, idempotencyKey: "k", text: "well :party_blob: :nothing: `:party_blob:`" });
  await platform.send({ ...shared, idempotencyKey: "l", text: ":party_blob:" });
  assert.deepEqual(
    discord.messages(general).map(({ text }) => text),
    [`well <:party_blob:${own}> :nothing: \`:party_blob:\``, `<:party_blob:${own}>`],
  );
  assert.equal(discord.journal.calls("GET", "/guilds/:guild/emojis").length, 1);
});
