// proves: src/store/database/embedded/supervisor.ts
/** The embedded Postgres ends under a daemon that runs. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import path from "node:path";
import { after, test } from "node:test";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";
import { assertWhole, type Home, openHome, openSeed } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { postmasterPid } from "../support/embedded-folder.ts";
import { text } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import type { TestProcess } from "../support/process.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

interface Scene extends AsyncDisposable {
  readonly model: ModelServer;
  readonly world: LoopbackWorld;
  readonly home: Home;
  readonly daemon: TestProcess;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const world = stack.use(await openLoopbackWorld());
  const home = stack.use(await openHome({ modelUrl: model.url, config: world.config, seed }));
  const daemon = home.start("start");
  await daemon.line("ready");
  const kept = stack.move();
  return { model, world, home, daemon, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

async function killPostgres({ home }: Scene): Promise<void> {
  process.kill(await postmasterPid(home.dataDir), "SIGKILL");
}

test("a Postgres that is killed in traffic is started again, and the same daemon answers all once", async () => {
  await using scene = await openScene();
  const { model, world, home, daemon } = scene;
  model.respond((_, index) => text(`Answer ${index}, word by word, as it comes.`, { delayMs: 20 }));
  for (let round = 0; round < 2; round++) {
    const before = model.requests.length;
    for (let n = 0; n < 6; n++) await world.say(`room${n % 3}`, `m${round}-${n}`, `message ${n}`);
    await model.received(before + 1);
    await killPostgres(scene);
    await world.say("room0", `after${round}`, "and this?");
    await world.untilAnswered();
  }
  assert.equal(daemon.isOver, false);
  assert.equal(daemon.err.filter((line) => line.includes("database_restarted")).length, 2);
  assert.doesNotMatch(daemon.stderr, /DATABASE_URL/);
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  await world.assertAnsweredOnce();
  for (const [channel, ids] of world.said) assertWhole(await home.log(`loopback:${channel}`), ids);
});

test("where it cannot be started again, the daemon ends with a code and says why", async () => {
  await using scene = await openScene();
  const { home, daemon } = scene;
  await rm(path.join(home.dataDir, "postgres", "PG_VERSION"));
  await killPostgres(scene);
  await daemon.until("its end", () => daemon.isOver);
  assert.deepEqual(await daemon.ended, { code: 1, signal: null });
  assert.match(
    daemon.err.at(-1) ?? "",
    /cannot be started again.*so Weir ends.*is gone\. Put it back from a backup/,
  );
});

test("a daemon that is told to end does not start it again", async () => {
  await using scene = await openScene();
  const { home, daemon } = scene;
  daemon.signal("SIGSTOP");
  await killPostgres(scene);
  daemon.signal("SIGTERM");
  daemon.signal("SIGCONT");
  await daemon.ended;
  assert.doesNotMatch(daemon.stderr, /database_ended/);
  assert.equal(await findEmbeddedPostgres(home.dataDir), null);
});
