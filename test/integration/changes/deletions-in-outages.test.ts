// proves: src/router/message-changes.ts, src/platforms/intake/intake.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openStore, type OpenStore } from "../../store/open-store.ts";
import { cutStatements } from "../../support/cut-statements.ts";
import { createTestDatabase } from "../../support/database.ts";
import { type DiscordServer, startDiscordServer } from "../../support/discord/server.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { connectionUrl } from "../../support/weir.ts";
import { Patience } from "../../support/patience.ts";

/** More often than a write is repeated at once. */
const MANY = 7;

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly outside: OpenStore;
  readonly ann: string;
  readonly general: string;
  /** Resolves when that many messages of a channel are in the log. */
  readonly untilHeld: (channel: string, count: number) => Promise<void>;
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
  stack.use(
    await startDiscordWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      discord: { token: discord.token, apiUrl: discord.api },
      timing: { backOff: { fromMs: 20, toMs: 100 } },
    }),
  );
  const outside = stack.use(openStore(database.connection));
  const untilHeld: Scene["untilHeld"] = async (name, count) => {
    let held = -1;
    for (const patience = new Patience(() => held); patience.whyOver() === null; await delay(20)) {
      held = (await outside.store.channels.held({ platform: "discord", name }, 500)).length;
      if (held === count) return;
    }
    assert.equal(held, count);
  };
  const kept = stack.move();
  return {
    discord,
    outside,
    ann,
    general,
    untilHeld,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

test("messages that are taken back while the database is away go, also old ones", async () => {
  await using scene = await openScene();
  const { discord, outside, ann, general, untilHeld } = scene;
  const { world } = discord;
  const secrets = ["my secret", "my other secret"].map((words) => world.say(ann, general, words));
  // A catch-up compares the newest hundred.
  for (let count = 0; count < 120; count++) world.say(ann, general, `talk ${count}`);
  await untilHeld(general, 122);
  const cutting = await cutStatements(outside, "where e.message_id = $2", MANY);
  for (const secret of secrets) world.remove(secret);
  await cutting.done;
  await untilHeld(general, 120);
});

test("a channel that is deleted while the database is away goes", async () => {
  await using scene = await openScene();
  const { discord, outside, ann, general, untilHeld } = scene;
  discord.world.say(ann, general, "a secret");
  await untilHeld(general, 1);
  const cutting = await cutStatements(outside, "set gone_at", MANY);
  discord.world.removeChannel(general);
  await cutting.done;
  await untilHeld(general, 0);
});
