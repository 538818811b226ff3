// proves: src/router/message-changes.ts, src/store/log/reactions.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordServer, startDiscordServer } from "../../support/discord/server.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";
import { Patience, until } from "../../support/patience.ts";

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly weir: DiscordWeir;
  readonly people: readonly [string, string];
  readonly message: string;
  /** `Ann 👍` of each reaction that the log has, in its order; `-` before one that was taken back. */
  readonly reactions: () => Promise<string[]>;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(() => text("Noted."));
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const ben = discord.world.addUser({ name: "ben", globalName: "Ben" });
  const weir = stack.use(
    await startDiscordWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      discord: { token: discord.token, apiUrl: discord.api },
    }),
  );
  const message = discord.world.say(ann, general, "shall we?");
  const kept = stack.move();
  return {
    discord,
    weir,
    people: [ann, ben],
    message,
    reactions: async () => reactionsIn(weir, { platform: "discord", name: general }),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

async function reactionsIn(
  { daemon }: Pick<DiscordWeir, "daemon">,
  address: { readonly platform: string; readonly name: string },
): Promise<string[]> {
  const row = await daemon.store.channels.find(address);
  if (row === undefined) return [];
  const entries = await daemon.store.log.read(row.id, 1, row.lastSeq);
  return entries.flatMap((entry) =>
    entry.kind === "user" && entry.messageId.startsWith("reaction/")
      ? [`${entry.deleted ? "-" : ""}${entry.author.name} ${entry.text.replace("reacted with ", "")}`.trim()]
      : [],
  );
}

async function settled(look: () => Promise<readonly string[]>, wanted: readonly string[]): Promise<void> {
  let last: readonly string[] = [];
  for (const patience = new Patience(() => last.length); patience.whyOver() === null;) {
    last = await look();
    if (JSON.stringify(last) === JSON.stringify(wanted)) return;
  }
  assert.deepEqual(last, wanted);
}

test("a reaction that was taken back counts again when it is given again; an event that comes twice counts once", async () => {
  await using scene = await openScene();
  const { discord, message, reactions, people } = scene;
  const [ann, ben] = people;
  const { world, gateway } = discord;
  world.react(ben, message, "👍");
  for (let times = 0; times < 3; times++) {
    gateway.deliveries.duplicate("MESSAGE_REACTION_ADD");
    gateway.deliveries.duplicate("MESSAGE_REACTION_REMOVE");
    world.react(ann, message, "👍");
    world.unreact(ann, message, "👍");
  }
  world.react(ann, message, "👍");
  await settled(reactions, ["Ben 👍", "-Ann", "-Ann", "-Ann", "Ann 👍"]);
  world.unreact(ann, message, "👍");
  await settled(reactions, ["Ben 👍", "-Ann", "-Ann", "-Ann", "-Ann"]);
});

test("all reactions with one emoji, and all, are taken back as single ones are", async () => {
  await using scene = await openScene();
  const { discord, message, reactions, people } = scene;
  const { world } = discord;
  for (const person of people) for (const emoji of ["👍", "weir:42"]) world.react(person, message, emoji);
  await settled(reactions, ["Ann 👍", "Ann :weir:", "Ben 👍", "Ben :weir:"]);
  world.clearReactions(message, "weir:42");
  await settled(reactions, ["Ann 👍", "-Ann", "Ben 👍", "-Ben"]);
  world.react(people[0], message, "weir:42");
  world.clearReactions(message);
  await settled(reactions, ["-Ann", "-Ann", "-Ben", "-Ben", "-Ann"]);
});

test("on Slack, too; and what Slack delivers again long after does neither give nor take back", async () => {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(() => text("Noted."));
  let ms = Date.now() - 600_000;
  // People are not as fast as this test.
  const slack = stack.use(await startSlackServer({ now: () => (ms += 1000) }));
  const database = stack.use(await createTestDatabase());
  const ann = slack.world.addUser("ann");
  const general = slack.world.addChannel({ name: "general", members: [ann] });
  const options = {
    databaseUrl: connectionUrl(database.connection),
    modelUrl: model.url,
    slack: accessTo(slack),
  } as const;
  const address = { platform: "slack", name: general.id };
  {
    await using weir = await startSlackWeir(options);
    const ts = slack.world.say(ann, general, "shall we?");
    slack.world.react(ann, general, ts, "tada");
    await settled(async () => reactionsIn(weir, address), ["ann 🎉"]);
    slack.world.unreact(ann, general, ts, "tada");
    slack.world.react(ann, general, ts, "tada");
    await settled(async () => reactionsIn(weir, address), ["-ann", "ann 🎉"]);
  }
  // A later process remembers no event.
  await using weir = await startSlackWeir(options);
  const old = slack.feed.sent.filter(({ event }) => /reaction_/.test(JSON.stringify(event)));
  assert.equal(old.length, 3);
  const before = slack.journal.acks.length;
  for (const { event } of old) {
    const copy: Record<string, unknown> = Object.fromEntries(Object.entries(event ?? {}));
    slack.feed.emit(String(copy["type"]), copy);
  }
  await until("all acknowledged", () => slack.journal.acks.length === before + 3);
  assert.deepEqual(await reactionsIn(weir, address), ["-ann", "ann 🎉"]);
});
