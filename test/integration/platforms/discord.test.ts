// proves: src/platforms/discord/adapter.ts, src/platforms/discord/inbound/reader.ts, src/platforms/discord/inbound/payload.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type DiscordWeir,
  type DiscordWeirOptions,
  startDiscordWeir,
} from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { type DiscordServer, ROUTE_MESSAGE, ROUTE_MESSAGES } from "../../support/discord/server.ts";
import { echo } from "../../support/e2e-model.ts";
import { text } from "../../support/model-behaviours.ts";
import { Patience, until } from "../../support/patience.ts";
import { piecesIn } from "../../support/request-pieces.ts";

interface Scene extends Mill {
  readonly weir: DiscordWeir;
  readonly lines: readonly string[];
}

async function openScene(
  options: Partial<DiscordWeirOptions> & { readonly before?: (discord: DiscordServer) => void } = {},
): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const mill = stack.use(await openMill());
  const lines: string[] = [];
  options.before?.(mill.discord);
  const weir = stack.use(
    await startDiscordWeir({
      ...mill.options,
      onLine: (line) => void lines.push(line),
      ...options,
    }),
  );
  const kept = stack.move();
  return { ...mill, weir, lines, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** What people see of the answers in a channel, once so many are acknowledged. */
async function answers({ discord, weir }: Scene, channel: string, count: number): Promise<string[]> {
  await until(`${count} answers`, () => {
    const delivered = weir.events.filter(
      (event) => event.type === "reply_delivered" && event.channel === `discord:${channel}`,
    );
    return delivered.length >= count;
  });
  return discord.answers(channel);
}

function lastAsked({ model }: Scene): string {
  const messages = model.requests.at(-1)?.body.messages ?? [];
  return messages.map(({ content }) => content ?? "").join("\n");
}

/** The request whose last message has these words. */
function requestAbout({ model }: Scene, words: string): string {
  const asked = model.requests.map(({ body }) => piecesIn(body).map(({ content }) => content ?? ""));
  return asked.find((texts) => texts.at(-2)?.includes(words) === true)?.join("\n") ?? "";
}

test("a mention that comes twice is answered once, as one message that grows", async () => {
  await using scene = await openScene();
  const { discord, model, ann, general, mention } = scene;
  model.respond(() => text(["It ", "is ", "**raining** ", "& ", "cold, ", "@ann."], { delayMs: 30 }));
  discord.gateway.deliveries.duplicate("MESSAGE_CREATE");
  discord.world.say(ann, general, `${mention} how is it outside?`);
  assert.deepEqual(await answers(scene, general, 1), [`It is **raining** & cold, <@${ann}>.`]);
  assert.equal(model.requests.length, 1);
  assert.equal(discord.journal.calls("POST", ROUTE_MESSAGES).length, 1);
  assert.ok(discord.journal.calls("PATCH", ROUTE_MESSAGE).length >= 1);
});

test("what is said without a connection is answered after it, once; a thread in the thread", async () => {
  await using scene = await openScene();
  const { discord, model, ann, general, mention } = scene;
  const { world, gateway } = discord;
  model.respond(echo);
  const dm = world.openDm(ann);
  world.say(ann, dm, "hello");
  world.say(ann, general, `${mention} hello`);
  const root = world.say(ann, general, "plans");
  const thread = world.openThread(general, { name: "plans", owner: ann, fromMessage: root });
  world.say(ann, thread, `${mention} first?`);
  await answers(scene, dm, 1);
  await answers(scene, general, 1);
  await answers(scene, thread, 1);
  assert.match(requestAbout(scene, "first?"), /plans/);
  gateway.forgetSessions();
  gateway.cut();
  world.say(ann, dm, "are you there?");
  world.say(ann, general, "only talk");
  world.say(ann, thread, "and here?");
  assert.equal((await answers(scene, dm, 2)).length, 2);
  assert.equal((await answers(scene, thread, 2)).length, 2);
  world.say(ann, general, `${mention} what was it?`);
  assert.equal((await answers(scene, general, 2)).length, 2);
  assert.match(lastAsked(scene), /only talk[\s\S]*what was it/);
  assert.equal(model.requests.length, 6);
});

test("where every message is answered, and nothing else read, a file is read without a mention", async () => {
  await using scene = await openScene({ binding: { listen: false, mentionRequired: false } });
  const { discord, model, ann, general } = scene;
  model.respond(() => text("At the old mill."));
  const files = [{ name: "plan.txt", body: "dig by the old mill", contentType: "text/plain" }];
  discord.world.say(ann, general, "where do we dig?", { files });
  assert.deepEqual(await answers(scene, general, 1), ["At the old mill."]);
  assert.match(
    lastAsked(scene),
    /Ann: where do we dig\?\n\[file plan\.txt, .*\n```\ndig by the old mill\n```/,
  );
});

test("edits and deletions while nobody listened reach the log", async () => {
  await using scene = await openScene();
  const { discord, weir, model, ann } = scene;
  const { world, gateway } = discord;
  model.respond(() => text("Noted."));
  const dm = world.openDm(ann);
  const changed = world.say(ann, dm, "the code is 1234");
  await answers(scene, dm, 1);
  const gone = world.say(ann, dm, "my secret");
  await answers(scene, dm, 2);
  gateway.forgetSessions();
  gateway.cut();
  world.edit(changed, "the code is 9999");
  world.remove(gone);
  const address = { platform: "discord", name: dm };
  let held: readonly string[] = [changed, gone];
  for (const patience = new Patience(); held.length > 1 && patience.whyOver() === null;)
    held = await weir.daemon.store.channels.held(address, 10);
  assert.deepEqual(held, [changed]);
  world.say(ann, dm, "what is the code?");
  await answers(scene, dm, 3);
  assert.match(lastAsked(scene), /9999/);
  assert.doesNotMatch(lastAsked(scene), /secret/);
});

test("100 channels at once are all answered, each once", async () => {
  await using scene = await openScene();
  const { discord, model, ann, guild, mention } = scene;
  model.respond(echo);
  const channels = Array.from({ length: 100 }, (_, index) =>
    discord.world.addChannel({ guild, name: `room-${index}` }),
  );
  for (const [index, channel] of channels.entries())
    discord.world.say(ann, channel, `${mention} room ${index}?`);
  for (const [index, channel] of channels.entries()) {
    const said = await answers(scene, channel, 1);
    assert.equal(said.length, 1);
    assert.match(said[0] ?? "", new RegExp(`room ${index}\\?`));
  }
  assert.equal(model.requests.length, 100);
});

test("an answer of 30 kB full of code comes whole, in parts that stand for themselves", async () => {
  await using scene = await openScene();
  const { discord, model, ann } = scene;
  const code = Array.from({ length: 600 }, (_, index) => `const value${index} = "${"x".repeat(30)}";`);
  const answer = `Here:\n\n\`\`\`ts\n${code.join("\n")}\n\`\`\`\n\nThat is all.`;
  assert.ok(answer.length > 30_000);
  model.respond(() => text(answer));
  const dm = discord.world.openDm(ann);
  // One of the posts is refused for a while, another is lost on its way back.
  discord.faults.next({
    method: "POST",
    route: ROUTE_MESSAGES,
    skip: 3,
    fault: { kind: "status", status: 502 },
  });
  discord.faults.next({
    method: "POST",
    route: ROUTE_MESSAGES,
    skip: 6,
    fault: { kind: "reset", when: "after" },
  });
  discord.world.say(ann, dm, "all of it, please");
  const parts = await answers(scene, dm, 1);
  for (const part of parts) {
    assert.ok(part.length <= 2000);
    assert.equal((part.match(/^```/gm) ?? []).length % 2, 0, "every fence is closed");
  }
  const lines = parts.flatMap((part) => part.split("\n").filter((line) => line.startsWith("const")));
  assert.deepEqual(lines, code);
});

test("a channel that nobody answers is told once, whoever floods it, and costs no call", async () => {
  await using scene = await openScene({ binding: { channels: ["general"] } });
  const { discord, model, lines, ann, guild, general, mention } = scene;
  model.respond(echo);
  const flooded = discord.world.addChannel({ guild, name: "flood" });
  const files = [{ name: "a.txt", body: "words" }];
  for (let index = 0; index < 2000; index++)
    discord.world.say(ann, flooded, `${mention} ${index}`, index % 100 === 0 ? { files } : {});
  discord.world.say(ann, general, `${mention} still there?`);
  assert.equal((await answers(scene, general, 1)).length, 1);
  assert.equal(model.requests.length, 1);
  assert.equal(lines.filter((line) => line.includes("message_unbound")).length, 1);
  assert.deepEqual(discord.answers(flooded), []);
  assert.deepEqual(
    discord.journal.rest.filter(({ path }) => path.includes(flooded)),
    [],
  );
});

for (const fault of [
  { kind: "reset", when: "after" },
  { kind: "close", when: "after" },
  { kind: "status", status: 500, when: "after" },
  { kind: "hang", when: "after" },
  { kind: "reset", when: "before" },
  { kind: "rate-limit", retryAfterMs: 200 },
  { kind: "rate-limit", retryAfterMs: 200, isGlobal: true },
] as const) {
  const what = Object.values(fault).join(" ");
  test(`a post that meets a fault (${what}) is seen once in the end`, async () => {
    // A call that hangs is given up soon; those that are answered have as long as a daemon's.
    const timing = fault.kind === "hang" ? { callMs: 1500 } : {};
    await using scene = await openScene({ timing, binding: { streaming: false } });
    const { discord, model, ann, general, mention } = scene;
    model.respond(echo);
    discord.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault });
    discord.world.say(ann, general, `${mention} once`);
    assert.equal((await answers(scene, general, 1)).length, 1);
    assert.equal(discord.journal.calls("POST", ROUTE_MESSAGES).length, 2);
  });
}

test("what can't be delivered is told, and blocks nothing", async () => {
  await using scene = await openScene();
  const { discord, model, weir, ann, guild, general, mention } = scene;
  model.respond(echo);
  const { world } = discord;
  const [readOnly = "", doomed = ""] = ["announcements", "doomed"].map((name) =>
    world.addChannel({ guild, name }),
  );
  world.setAccess(readOnly, "read");
  world.say(ann, readOnly, `${mention} hello?`);
  world.say(ann, doomed, `${mention} hello?`);
  // Were it told, the question would be gone with it, and nothing would be left to deliver.
  world.removeChannel(doomed, false);
  world.say(ann, general, `${mention} hello?`);
  await answers(scene, general, 1);
  const failed = (): string[] =>
    weir.events.flatMap((event) =>
      event.type === "delivery_failed" ? [`${event.channel} ${event.kind}`] : [],
    );
  await until("both failures", () => failed().length >= 2);
  assert.deepEqual(failed().toSorted(), [`discord:${doomed} gone`, `discord:${readOnly} gone`].toSorted());
});

test("in a listening server a channel begins with what was said in it before", async () => {
  await using scene = await openScene({
    before: (discord) => {
      const [ben] = ["ben"].map((name) => discord.world.addUser({ name, globalName: "Ben" }));
      const [guild] = [discord.world.addGuild({ name: "Other" })];
      const old = discord.world.addChannel({ guild: guild ?? "", name: "old" });
      for (const said of ["the bridge is closed", "since Monday"]) discord.world.say(ben ?? "", old, said);
    },
  });
  const { discord, model, ann, mention } = scene;
  model.respond(echo);
  const old = discord.journal.dispatched("GUILD_CREATE").length > 0 ? oldChannel(discord) : "";
  discord.world.say(ann, old, `${mention} which bridge?`);
  await answers(scene, old, 1);
  assert.match(lastAsked(scene), /Ben: the bridge is closed\n\[\+\] since Monday\n[\s\S]*which bridge\?/);
});

/** The id of #old. */
function oldChannel(discord: DiscordServer): string {
  const found = /"id":"(\d+)"[^{}]*"name":"old"/.exec(
    JSON.stringify(discord.journal.dispatched("GUILD_CREATE").map(({ d }) => d)),
  );
  return found?.[1] ?? "";
}

test("a restart goes on with the session that was kept: what was said meanwhile is answered, and nothing is fetched", async () => {
  await using mill = await openMill();
  const { discord, model, general, ann, mention, options } = mill;
  model.respond(echo);
  const first = await startDiscordWeir(options);
  discord.world.say(ann, general, `${mention} first`);
  await until("the first answer", () => discord.answers(general).length === 1);
  const { gatewaySessions } = first.daemon.store;
  await until("the place", async () => (await gatewaySessions.read("discord", 0)) !== undefined);
  await first[Symbol.asyncDispose]();
  const fetches = (): string[] => discord.journal.calls("GET", ROUTE_MESSAGES).map((call) => call.path);
  const before = fetches();
  discord.world.say(ann, general, `${mention} meanwhile`);
  await using _ = await startDiscordWeir(options);
  await until("the second answer", () => discord.answers(general).length === 2);
  assert.equal(model.requests.length, 2);
  assert.equal(discord.journal.received(2).length, 1);
  assert.deepEqual(fetches(), before);
});
