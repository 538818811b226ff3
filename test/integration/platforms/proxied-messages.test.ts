// proves: src/platforms/discord/inbound/proxied-messages.ts, src/platforms/discord/inbound/reader.ts
// A proxy like PluralKit repeats a person's message and deletes it: the person is answered once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type OpenStore, openStore } from "../../store/open-store.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { type Mill, openMill } from "../../support/discord/mill.ts";
import { Gate } from "../../support/e2e-model.ts";
import { text } from "../../support/model-behaviours.ts";
import { until } from "../../support/patience.ts";

interface Scene extends Mill {
  readonly log: OpenStore;
  readonly repeat: (words: string) => string;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const mill = stack.use(await openMill());
  const log = stack.use(openStore(mill.database.connection));
  const { world } = mill.discord;
  const proxy = world.addUser({ name: "PluralKit", isBot: true });
  stack.use(await startDiscordWeir({ ...mill.options, binding: { allowBots: false } }));
  mill.model.respond(() => text("So it is."));
  const author = { id: "1100000000000000077", username: "River", global_name: null, bot: true };
  const raw = { webhook_id: author.id, application_id: "466378653216014359", author };
  const repeat = (words: string): string => world.say(proxy, mill.general, words, { raw });
  const kept = stack.move();
  return { ...mill, log, repeat, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** What people said, as the log has it. */
async function rows({ log, ann }: Scene): Promise<unknown[]> {
  return log.sql(
    `select message_id as id, author_name as name, author_bot as bot, addressed, deleted_at is not null as gone
       from entries where author_id = $1 order by seq`,
    ann,
  );
}

for (const order of ["repeated, then deleted", "deleted, then repeated"])
  test(`${order} before its answer, a message is answered once, as the person's`, async () => {
    await using scene = await openScene();
    const { discord, model, ann, general, mention, repeat } = scene;
    const gate = new Gate();
    model.reply(gate.between("So ", "be it."));
    const said = discord.world.say(ann, general, `R: ${mention} is the well dry?`);
    await until("a request", () => model.requests.length === 1);
    if (order.startsWith("deleted")) discord.world.remove(said);
    const copy = repeat(`${mention} is the well dry?`);
    if (order.startsWith("repeated")) discord.world.remove(said);
    await until("an answer", () => discord.answers(general).includes("So it is."));
    gate.open();
    await until("one answer", () => discord.answers(general).length === 1);
    assert.equal(model.requests.length, 2);
    assert.match(JSON.stringify(model.requests[1]?.body.messages), /River: @weir is the well dry\?/);
    assert.deepEqual(await rows(scene), [
      { id: said, name: "Ann", bot: false, addressed: true, gone: true },
      { id: copy, name: "River", bot: false, addressed: true, gone: false },
    ]);
  });

test("an answered message stands in the log as its repetition, and is not answered again; what nobody repeats is gone", async () => {
  await using scene = await openScene();
  const { discord, model, ann, general, mention, repeat } = scene;
  const said = discord.world.say(ann, general, `R: ${mention} is the well dry?`);
  await until("an answer", () => discord.answers(general).length === 1);
  const copy = repeat(`${mention} is the well dry?`);
  discord.world.remove(said);
  await until("the repetition", async () => (await rows(scene)).length === 2);
  const secret = discord.world.say(ann, general, "R: a secret");
  discord.world.remove(secret);
  repeat("another secret");
  discord.world.say(ann, general, `${mention} anything else?`);
  await until("another answer", () => discord.answers(general).length === 2);
  assert.equal(model.requests.length, 2);
  assert.match(JSON.stringify(model.requests[1]?.body.messages), /River: @weir is the well dry\?/);
  assert.doesNotMatch(JSON.stringify(model.requests[1]?.body.messages), /secret/);
  const [first, second] = await rows(scene);
  assert.deepEqual(first, { id: said, name: "Ann", bot: false, addressed: true, gone: true });
  assert.deepEqual(second, { id: copy, name: "River", bot: false, addressed: false, gone: false });
  discord.world.remove(copy);
  await until(
    "its end",
    async () => (await scene.log.sql("select from entries where deleted_at is not null")).length === 3,
  );
});
