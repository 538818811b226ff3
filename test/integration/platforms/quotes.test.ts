// proves: src/store/deletion/quotes.ts, src/store/deletion/carriers/carriers.ts, migrations/0080_quotes.sql
// A message that replies to one which the log never had is shown with it, and only for as long as that one is as it was.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Author } from "../../../src/core/message.ts";
import { redactPerson } from "../../../src/router/redact-messages.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { Gate } from "../../support/e2e-model.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";
import { piecesIn } from "../../support/request-pieces.ts";
import { type OpenStore, openStore } from "../../store/open-store.ts";

interface Scene extends Mill {
  readonly log: OpenStore;
  readonly bob: string;
  readonly start: () => Promise<DiscordWeir>;
}

/** The bot hears what it is asked, and nothing else. */
async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const mill = stack.use(await openMill());
  const log = stack.use(openStore(mill.database.connection));
  const bob = mill.discord.world.addUser({ name: "bob", globalName: "Bob" });
  const start = async (): Promise<DiscordWeir> =>
    startDiscordWeir({ ...mill.options, binding: { listen: false } });
  mill.model.respond(() => text("No."));
  const kept = stack.move();
  return { ...mill, log, bob, start, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** What the model was shown at the end of a request. */
function shown({ model }: Scene, request = -1): string {
  const body = model.requests.at(request)?.body;
  return body === undefined ? "" : (piecesIn(body).at(-1)?.content ?? "");
}

async function ask({ discord, ann, general, mention, log }: Scene, replyTo?: string): Promise<void> {
  const before = discord.answers(general).length;
  discord.world.say(ann, general, `${mention} is this true?`, replyTo === undefined ? {} : { replyTo });
  await until("an answer", () => discord.answers(general).length > before);
  await until(
    "its end",
    async () => (await log.sql("select from turns where state = 'running'")).length === 0,
  );
}

const quotes = async ({ log }: Scene): Promise<number> => (await log.sql("select from quotes")).length;

test("the model sees the message that is asked about, with its author, its cards and its files, once", async () => {
  await using scene = await openScene();
  const { discord, bob, general } = scene;
  const files = [{ name: "moon.pdf", body: "x", contentType: "application/pdf" }];
  const raw = {
    message_snapshots: [
      { message: { content: "seen by a sailor", attachments: [], embeds: [], mentions: [] } },
    ],
  };
  const said = discord.world.say(bob, general, "the moon is made of papaya", { files, raw });
  await using _ = await scene.start();
  await ask(scene, said);
  assert.match(
    shown(scene),
    /> Ann answers \[[^\]]+\] Bob: the moon is made of papaya\n> \[forwarded message\]\n> seen by a sailor\n> \[file moon\.pdf/,
  );
  await ask(scene);
  assert.doesNotMatch(shown(scene), /papaya/);
  assert.equal(await quotes(scene), 1);
});

test("of a message that the log has, and beside one that asks nothing, no quote is kept", async () => {
  await using scene = await openScene();
  const { discord, ann, bob, general, mention } = scene;
  await using _ = await scene.start();
  const asked = discord.world.say(bob, general, `${mention} is it made of papaya?`);
  await until("an answer", () => discord.answers(general).length === 1);
  const said = discord.world.say(bob, general, "the moon is made of papaya");
  discord.world.say(ann, general, "no", { replyTo: said });
  await ask(scene, asked);
  assert.match(shown(scene), /> Ann answers \[[^\]]+\] Bob: @weir is it made of papaya\?/);
  assert.equal(await quotes(scene), 0);
});

for (const [how, change] of [
  ["deleted", (scene: Scene, id: string) => scene.discord.world.remove(id)],
  ["edited", (scene: Scene, id: string) => scene.discord.world.edit(id, "the moon is made of rock")],
] as const)
  test(`a quote goes with its original, ${how}, with what repeats it, and out of the turn that has read it`, async () => {
    await using scene = await openScene();
    const { discord, model, log, ann, bob, general, mention } = scene;
    const said = discord.world.say(bob, general, "the moon is made of papaya");
    await using _ = await scene.start();
    const gate = new Gate();
    model.reply(toolCalls([{ name: "search_history", arguments: { query: "papaya" } }]));
    model.reply(gate.between("It is ", "of papaya."));
    discord.world.say(ann, general, `${mention} is this true?`, { replyTo: said });
    await until("its call", () => model.requests.length === 2);
    change(scene, said);
    await until("no quote", async () => (await quotes(scene)) === 0);
    await until("a turn that begins again", () => model.requests.length >= 3);
    gate.open();
    await until("an answer", () => discord.answers(general).includes("No."));
    assert.doesNotMatch(shown(scene), /papaya/);
    const left = "select from entries where text like '%papaya%' or data::text like '%papaya%'";
    assert.equal((await log.sql(left)).length, 0);
  });

for (const how of ["deleted", "edited"] as const)
  test(`a quote whose original was ${how} while nobody listened goes with the catch-up`, async () => {
    await using scene = await openScene();
    const { discord, bob, general } = scene;
    const said = discord.world.say(bob, general, "the moon is made of papaya");
    const other = discord.world.say(bob, general, "the sun is made of honey");
    discord.world.edit(other, "the sun is made of mango");
    const first = await scene.start();
    await ask(scene, said);
    await ask(scene, other);
    assert.match(shown(scene), /mango/);
    await first[Symbol.asyncDispose]();
    if (how === "deleted") discord.world.remove(said);
    else discord.world.edit(said, "the moon is made of rock");
    await using _ = await scene.start();
    await until("one quote", async () => (await quotes(scene)) === 1);
    await ask(scene);
    assert.deepEqual(await scene.log.sql("select text from quotes"), [{ text: "the sun is made of mango" }]);
  });

test("a quote goes with the message that replies, and with what its author has said, who never spoke to the bot", async () => {
  await using scene = await openScene();
  const { discord, bob, general, log } = scene;
  const said = discord.world.say(bob, general, "the moon is made of papaya");
  await using weir = await scene.start();
  await ask(scene, said);
  const [reply] = await log.sql<{ id: string }>(
    "select message_id as id from entries where reply_to = $1",
    said,
  );
  discord.world.remove(reply?.id ?? "");
  await until("no quote", async () => (await quotes(scene)) === 0);
  await ask(scene, said);
  assert.equal(await quotes(scene), 1);
  const author: Author["id"] = bob;
  const places = await weir.daemon.store.people.places("discord", author);
  assert.deepEqual(
    places.map(({ channel, messages }) => [channel.address.name, messages]),
    [[general, 0]],
  );
  for (const { channel } of places) await redactPerson(weir.daemon, channel, author, () => true);
  assert.equal(await quotes(scene), 0);
});
