// proves: src/daemon/daemon.ts, src/main.ts, src/daemon/base-services.ts, src/daemon/channels.ts, src/daemon/ingress.ts, src/store/database/embedded/embedded-postgres.ts
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { after, test } from "node:test";
import { type Home, openHome, openSeed } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";
import { ask, postmasterPid } from "../support/embedded-folder.ts";
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
  const ready = await daemon.line("ready");
  assert.match(ready, /^Weir is ready: agent main; /);
  const kept = stack.move();
  return { model, world, home, daemon, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} in the middle of an answer lets it be finished and delivered, and ends with 0`, async () => {
    await using scene = await openScene();
    const { daemon, home, model, world } = scene;
    const gate = new Gate();
    model.reply(gate.between("This is the beginning", " and this is the end."));
    await world.say("room", "asked", "tell me something");
    await world.untilCall(({ operation }) => operation === "send");
    daemon.signal(signal);
    await daemon.errorLine("draining");
    gate.open();
    assert.deepEqual(await daemon.ended, { code: 0, signal: null });
    const answers = await world.bot("room");
    assert.deepEqual(
      answers.map((answer) => answer.text),
      ["This is the beginning and this is the end."],
    );
    await world.assertAnsweredOnce();
    await assert.rejects(postmasterPid(home.dataDir), /ENOENT/);
    assert.equal(daemon.out.length, 1, daemon.out.join("\n"));
  });
}

/** Signals that come within this time are one request; the daemon waits for 150 ms. */
const ONE_REQUEST_MS = 140;

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`a ${signal} that arrives twice, from a whole group being stopped and from npm, drains as one`, async (t) => {
    await using scene = await openScene();
    const { daemon, model, world } = scene;
    const gate = new Gate();
    model.reply(gate.between("This is the beginning", " and this is the end."));
    await world.say("room", "asked", "tell me something");
    await world.untilCall(({ operation }) => operation === "send");
    const sentAt = performance.now();
    daemon.signal(signal);
    // Not at once: two of a kind that wait together are one to the kernel.
    await delay(20);
    daemon.signal(signal);
    const apartMs = performance.now() - sentAt;
    // On a machine that has made so much of it, they rightly count as two.
    if (apartMs > ONE_REQUEST_MS) return t.skip(`${Math.round(apartMs)} ms passed between the two`);
    await daemon.errorLine("draining");
    gate.open();
    assert.deepEqual(await daemon.ended, { code: 0, signal: null });
    assert.match(daemon.stderr, /"database_stopped"/);
    await world.assertAnsweredOnce();
  });
}

for (const [signal, code] of [
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const) {
  test(`a second ${signal} ends at once, and the next daemon goes on from there`, async () => {
    await using scene = await openScene();
    const { daemon, home, model, world } = scene;
    model.reply(() => undefined);
    await world.say("room", "asked", "tell me something");
    await model.received(1);
    // Two signals of a kind that come together are one to the kernel, and Ctrl-C reaches a child of npm twice.
    while (!daemon.isOver) {
      daemon.signal(signal);
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, 50);
      await Promise.race([daemon.ended, promise]);
      clearTimeout(timer);
    }
    // A daemon that has drained, or has given that up, ends with another code.
    assert.deepEqual(await daemon.ended, { code, signal: null });

    model.respond(echo);
    const heir = home.start("start");
    await heir.line("ready");
    await world.untilAnswered();
    await world.assertAnsweredOnce();
  });
}

test("a second daemon on the same data folder waits, says for whom, and serves when that ends; a third is stopped while it waits", async () => {
  await using scene = await openScene();
  const { daemon, home } = scene;
  const [second, third] = [home.start("start"), home.start("start")];
  for (const one of [second, third])
    assert.match(await one.errorLine("data_folder_waited_for"), new RegExp(`"process ${daemon.pid}"`));
  third.signal("SIGTERM");
  assert.deepEqual(await third.ended, { code: 0, signal: null });
  assert.deepEqual([...second.out, ...third.out], []);
  assert.equal(daemon.isOver, false);
  daemon.signal("SIGTERM");
  await second.line("ready");
});

test("of two daemons that pm2 has started as one app the older one makes way, and says for which process", async () => {
  await using home = await openHome({ modelUrl: "http://127.0.0.1:9/v1", seed });
  const older = home.startWith({ pm_id: "0" }, "start");
  await older.line("ready");
  const younger = home.startWith({ pm_id: "0" }, "start");
  assert.match(await older.errorLine("makes_way"), new RegExp(`"process":${younger.pid},`));
  assert.deepEqual(await older.ended, { code: 0, signal: null });
  await younger.line("ready");
  assert.equal(younger.isOver, false);
});

test("log and context read beside the running daemon, and without it", async () => {
  await using scene = await openScene();
  const { daemon, home, model, world } = scene;
  model.respond(echo);
  await world.say("room", "asked", "where is the key?");
  await world.untilAnswered();
  const look = async (): Promise<unknown[]> => {
    const log = await home.run("log", "loopback:room");
    assert.equal(log.code, 0, log.stderr);
    assert.equal(log.out.length, 2, log.out.join("\n"));
    assert.match(log.out[0] ?? "", /Ann: where is the key\?$/);
    const context = await home.run("context", "loopback:room", "--json");
    assert.equal(context.code, 0, context.stderr);
    const report: unknown = JSON.parse(context.out.join("\n"));
    const plain = await home.run("context", "loopback:room");
    assert.match(plain.out[0] ?? "", /^loopback:room · agent main · model test-model$/);
    assert.equal(log.stderr + context.stderr + plain.stderr, "");
    return [log.out, report];
  };
  const beside = await look();
  daemon.signal("SIGTERM");
  assert.equal((await daemon.ended).code, 0);
  assert.deepEqual(await look(), beside);
  const none = await home.run("log", "loopback:nowhere");
  assert.equal(none.code, 1);
  assert.match(none.stderr, /no channel loopback:nowhere\. The newest channels are: loopback:room\.$/);
});

test("a daemon to which nobody speaks lives on when its last idle connection is closed", async () => {
  await using home = await openHome({ modelUrl: "http://127.0.0.1:9/v1", seed });
  const daemon = home.start("start");
  await daemon.line("ready");
  const connection = await findEmbeddedPostgres(home.dataDir);
  assert(connection !== null);
  // What the pool does by itself after some seconds.
  const others = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()";
  await ask(connection, `${others} AND backend_type = 'client backend'`);
  // As long as another command takes, nothing is open in it.
  assert.equal((await home.runAlone("config", "check")).code, 0);
  assert.equal(daemon.isOver, false, daemon.stderr);
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
});
