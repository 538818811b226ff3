// proves: src/cli/pair.ts, src/cli/forget-user.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { startDiscordServer } from "../support/discord/server.ts";
import { openHome } from "../support/e2e.ts";
import { echo } from "../support/e2e-model.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";

test("weir pair beside a daemon and without one", async () => {
  await using model = await startModelServer();
  model.respond(echo);
  await using discord = await startDiscordServer({ token: "sk-e2e-secret" });
  const sam = discord.world.addUser({ name: "sam" });
  const dm = discord.world.openDm(sam);
  const config = `[platforms.discord]\ntoken = "env:OPENAI_API_KEY"\napi_url = "${discord.api}"\n`;
  await using home = await openHome({ modelUrl: model.url, config });

  // What only looks makes nothing.
  const early = await home.run("pair");
  assert.equal(early.code, 1);
  assert.match(early.stderr, /There is no database/);
  const daemon = home.start("start");
  await daemon.line("Weir is ready");
  discord.world.say(sam, dm, "hello");
  await until("a code", () => discord.answers(dm).length === 1);
  const listed = (await home.run("pair")).out.join("\n");
  const [, code = ""] =
    /sam \(discord:\d+\): npm run -s weir -- pair ([A-Z\d]{8}) lets them in/.exec(listed) ?? [];
  const wrong = await home.run("pair", "WRONGONE");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /Nobody waits with this code/);
  const done = await home.run("pair", code.toLowerCase());
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.out.join("\n"), /is let in/);
  await until("the stranger is told", () => discord.answers(dm).length === 2);
  discord.world.say(sam, dm, "are you there?");
  await until("an answer", () => discord.answers(dm).at(-1)?.includes("are you there?") === true);
  daemon.signal("SIGTERM");
  await daemon.ended;
  assert.match(
    (await home.run("pair")).out.join("\n"),
    new RegExp(`discord:${sam} {2}since .*, by operator`),
  );
  const forgotten = await home.run("forget-user", `discord:${sam}`, "--yes");
  assert.equal(forgotten.code, 0, forgotten.stderr);
  assert.match(forgotten.out.join("\n"), /Ended is that they were let in/);
  assert.match((await home.run("pair")).out.join("\n"), /Nobody was let in/);
  const again = await home.run("pair", "--remove", `discord:${sam}`);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /was not let in by a code/);

  const byId = await home.run("pair", "--user", sam);
  assert.equal(byId.code, 0, byId.stderr);
  assert.match(byId.out.join("\n"), new RegExp(`^discord:${sam} is let in\\.`));
});
