import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/patience.ts";
import { ROUTE_MESSAGES } from "../../support/discord/server.ts";
import { type DiscordScene, openDiscordScene } from "./discord-harness.ts";

/** A past in which Weir has listened until now. */
const hasListened: NonNullable<Parameters<typeof openDiscordScene>[0]>["before"] = ({ inbox }) => {
  inbox.mark = new Date();
};

/** The channels whose messages were asked for. */
function asked({ discord }: Pick<DiscordScene, "discord">): string[] {
  return discord.journal.calls("GET", ROUTE_MESSAGES).map(({ path }) => path.split("/")[2] ?? "");
}

/** Ids are made of milliseconds: two that are said with this between them are of different ones. */
function nextMillisecond(): void {
  for (const end = Date.now() + 2; Date.now() < end;);
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 5));
}

test("the first mention in a channel and in a thread, while Weir was off, comes; nothing else is asked for", async () => {
  let quiet = "";
  let thread = "";
  await using scene = await openDiscordScene({
    before: (before) => {
      const { discord, ann, guild, general, inbox, mention } = before;
      const { world } = discord;
      quiet = world.addChannel({ guild, name: "quiet" });
      world.say(ann, quiet, "long ago");
      const root = world.say(ann, quiet, "plans");
      thread = world.openThread(quiet, { name: "plans", owner: ann, fromMessage: root });
      nextMillisecond();
      inbox.mark = new Date();
      nextMillisecond();
      world.say(ann, general, `${mention} are you there?`);
      world.say(ann, thread, `${mention} and here?`);
    },
  });
  const { inbox, general } = scene;
  await inbox.received(2);
  await until("both", () => inbox.closed.length >= 2);
  const found = inbox.events.map((event) =>
    event.type === "message" ? [event.channel.name, event.kind, event.text, event.addressed] : [],
  );
  assert.deepEqual(
    new Set(found.map((one) => JSON.stringify(one))),
    new Set([
      JSON.stringify([general, "channel", "@weir are you there?", true]),
      JSON.stringify([thread, "thread", "@weir and here?", true]),
    ]),
  );
  assert.deepEqual(new Set(asked(scene)), new Set([general, thread]));
  assert.equal(asked(scene).includes(quiet), false);
});

test("a new session asks for what was said in channels never heard of; one that is resumed does not", async () => {
  await using scene = await openDiscordScene({ before: hasListened });
  const { discord, inbox, ann, guild, mention } = scene;
  await pause();
  const other = discord.world.addChannel({ guild, name: "other" });
  discord.gateway.cut();
  discord.world.say(ann, other, `${mention} one`);
  await inbox.received(1);
  assert.deepEqual(asked(scene), [], "it was replayed");
  discord.gateway.forgetSessions();
  discord.gateway.cut();
  discord.world.say(ann, other, `${mention} two`);
  await until("the other's gap", () => inbox.closed.includes(other));
  assert.deepEqual([...new Set(inbox.said)], ["Ann: @weir one", "Ann: @weir two"]);
  assert.deepEqual(asked(scene), [other]);
});

test("a server that the bot joins later is not asked for its past", async () => {
  await using scene = await openDiscordScene({
    before: ({ inbox }) => {
      inbox.mark = new Date(Date.now() - 60_000);
    },
  });
  const { discord, inbox, ann, mention } = scene;
  const guild = discord.world.addGuild({ name: "Late" });
  const hall = discord.world.addChannel({ guild, name: "hall" });
  discord.world.say(ann, hall, `${mention} welcome`);
  await inbox.received(1);
  assert.deepEqual(asked(scene), []);
});

test("a first connection ever asks for nothing", async () => {
  await using scene = await openDiscordScene({
    before: ({ discord, ann, general, mention }) => void discord.world.say(ann, general, `${mention} hello?`),
  });
  const { discord, inbox, ann, general } = scene;
  discord.world.say(ann, general, "now");
  await inbox.received(1);
  assert.deepEqual(asked(scene), []);
  assert.ok(inbox.mark !== null);
});

test("a replay of more than can be held ends in a search: a mention and a direct message among it come", async () => {
  await using scene = await openDiscordScene({
    server: { replayLimit: 20_000 },
    before: (before) => {
      hasListened(before);
      before.inbox.policy = ({ place }) => ({
        isBound: place?.channel !== "flood",
        listens: true,
        answersAll: false,
        isKnown: true,
      });
    },
  });
  const { discord, inbox, ann, guild, mention } = scene;
  const flood = discord.world.addChannel({ guild, name: "flood" });
  const quiet = discord.world.addChannel({ guild, name: "quiet" });
  const dm = discord.world.openDm(ann);
  await pause();
  discord.gateway.cut();
  discord.world.say(ann, quiet, `${mention} are you there?`);
  discord.world.say(ann, dm, "and here?");
  for (let count = 0; count < 10_000; count++) discord.world.say(ann, flood, "words");
  await until("both", () => inbox.closed.length >= 2);
  assert.deepEqual(new Set(inbox.said), new Set(["Ann: @weir are you there?", "Ann: and here?"]));
  assert.deepEqual(new Set(asked(scene)), new Set([quiet, dm]));
  assert.equal(discord.journal.dispatched("READY").length, 1, "it was resumed");
});
