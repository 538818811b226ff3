// proves: src/platforms/intake/intake.ts, src/store/database/database.ts
/** A platform that tells each message once, and a database that fails for a reason that nobody knows: nothing is lost. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordWeir, startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { until } from "../../support/patience.ts";
import { startDiscordServer } from "../../support/discord/server.ts";
import { echo } from "../../support/e2e-model.ts";
import { startModelServer } from "../../support/model-server.ts";
import { connectionUrl } from "../../support/weir.ts";

async function openScene() {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const discord = stack.use(await startDiscordServer());
  const database = stack.use(await createTestDatabase());
  const outside = stack.use(openStore(database.connection));
  const guild = discord.world.addGuild({ name: "Mill" });
  const general = discord.world.addChannel({ guild, name: "general" });
  const ann = discord.world.addUser({ name: "ann", globalName: "Ann" });
  const lines: string[] = [];
  const start = async (): Promise<DiscordWeir> =>
    startDiscordWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      discord: { token: discord.token, apiUrl: discord.api },
      onLine: (line) => void lines.push(line),
    });
  /** Every message with these words is refused, as by a fault of the database or of Weir's own. */
  const refuse = async (words: string, error: string): Promise<void> => {
    await outside.db.script(`
      create or replace function refuse() returns trigger language plpgsql as $$
      begin
        if new.kind = 'user' and strpos(new.text, '${words}') > 0 then ${error}; end if;
        return new;
      end $$;
      create or replace trigger refuse before insert on entries for each row execute function refuse()`);
  };
  const kept = stack.move();
  return {
    start,
    refuse,
    lines,
    say: (words: string) => discord.world.say(ann, general, `<@${discord.world.botId}> ${words}`),
    told: async (event: string) => until(event, () => lines.some((line) => line.includes(event))),
    /** What people see, once the last of it is this. */
    answers: async (last: string) => {
      await until(`an answer to ${last}`, () =>
        discord.answers(general).some((answer) => answer.includes(last)),
      );
      return discord.answers(general).map((answer) => answer.split(" ").at(-1));
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

const UNKNOWN = "raise exception 'cached plan must not change result type' using errcode = '0A000'";

test("what could not be stored is fetched again when that is over, and answered once", async () => {
  await using scene = await openScene();
  await using _weir = await scene.start();
  scene.say("first");
  assert.deepEqual(await scene.answers("first"), ["first"]);
  await scene.refuse("odd", UNKNOWN);
  scene.say("odd");
  await scene.told("event_not_stored_yet");
  await scene.refuse("odd", "null");
  assert.deepEqual(await scene.answers("odd"), ["first", "odd"]);
  scene.say("last");
  assert.deepEqual(await scene.answers("last"), ["first", "odd", "last"]);
});

test("it is fetched again, too, where the daemon ends before that is over", async () => {
  await using scene = await openScene();
  {
    await using _weir = await scene.start();
    scene.say("first");
    await scene.answers("first");
    await scene.refuse("odd", UNKNOWN);
    scene.say("odd");
    await scene.told("event_not_stored_yet");
  }
  await scene.refuse("odd", "null");
  await using _heir = await scene.start();
  assert.deepEqual(await scene.answers("odd"), ["first", "odd"]);
});

test("a message whose own value the database refuses is left out with words, and holds up none", async () => {
  await using scene = await openScene();
  await using _weir = await scene.start();
  scene.say("first");
  await scene.answers("first");
  await scene.refuse("odd", "raise character_not_in_repertoire");
  scene.say("odd");
  scene.say("last");
  assert.deepEqual(await scene.answers("last"), ["first", "last"]);
  const told = scene.lines.filter((line) => line.includes("event_refused"));
  assert.equal(told.length, 1);
  assert.match(told[0] ?? "", /"why":"The database refuses a value of the message \(22021\)\."/);
});
