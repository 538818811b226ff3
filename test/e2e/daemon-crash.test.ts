import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { assertWhole, type Home, openHome, openSeed } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { text } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

interface Scene extends AsyncDisposable {
  readonly model: ModelServer;
  readonly world: LoopbackWorld;
  readonly home: Home;
}

async function openScene(): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const world = stack.use(await openLoopbackWorld());
  const home = stack.use(await openHome({ modelUrl: model.url, config: world.config, seed }));
  const kept = stack.move();
  return { model, world, home, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

async function startDaemon(home: Home): Promise<TestProcess> {
  const daemon = home.start("start");
  await daemon.line("ready");
  return daemon;
}

/** Lets the daemon answer what is left, ends it in peace, and looks at what has come of it all. */
async function assertOnceAndWhole({ home, world }: Scene, daemon: TestProcess): Promise<void> {
  await world.untilAnswered();
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
  await world.assertAnsweredOnce();
  for (const [channel, ids] of world.said) assertWhole(await home.log(`loopback:${channel}`), ids);
}

// One daemon after the other: who takes up what one has left is killed in the next test.
const row = await openScene();
after(async () => row[Symbol.asyncDispose]());
const { home, model, world } = row;
let daemon = await startDaemon(home);

test("killed after the message was stored and before a word of the answer, again and again, it answers once", async () => {
  const kills = 4;
  model.reply(...Array.from({ length: kills }, () => () => undefined));
  model.respond(echo);
  await world.say("silent", "first", "are you there?");
  for (let round = 1; round <= kills; round++) {
    await model.received(round);
    await daemon.kill();
    assert.deepEqual(await world.bot("silent"), []);
    daemon = await startDaemon(home);
  }
  await world.untilAnswered();
  const [answer] = await world.bot("silent");
  assert.doesNotMatch(answer?.text ?? "", /^Sorry/);
});

test("killed while an answer is shown, it edits the same message into the final answer", async () => {
  const gate = new Gate();
  model.reply(gate.between("Half of an answer", " that never comes"));
  await world.say("half", "second", "tell me something");
  await until("half of it", async () => (await world.bot("half")).length > 0);
  await daemon.kill();
  const [half] = await world.bot("half");
  assert.equal(half?.reply?.final, false);

  model.reply(text("Something quite different."));
  daemon = await startDaemon(home);
  await world.untilAnswered();
  const [whole, ...others] = await world.bot("half");
  assert.deepEqual(others, []);
  assert.equal(whole?.id, half.id);
  assert.equal(whole.text, "Something quite different.");
});

test("killed before it heard that its message was taken, it sends it with the same key", async () => {
  model.respond(echo);
  // Each is done at the service, and its acknowledgement is lost.
  await world.fault({ operation: "send", fault: "reset_after", times: 3 });
  await world.say("lost", "third", "did this come through?");
  await world.untilCall(({ outcome }) => outcome === "reset_after");
  await daemon.kill();

  daemon = await startDaemon(home);
  await world.untilAnswered();
  assert.equal((await world.bot("lost")).length, 1);
});

test("when the last of them has ended in peace, all is answered once", async () => {
  await assertOnceAndWhole(row, daemon);
});

test("killed again and again at any moment, it answers every message of a busy hour once", async (t: TestContext) => {
  await using scene = await openScene();
  scene.model.respond((_, index) => text(`Answer ${index}, word by word, as it comes.`, { delayMs: 5 }));
  const { home: folder, world: people } = scene;
  const rounds = 3;
  let spoken = 0;
  for (let round = 0; round < rounds; round++) {
    const killed = await startDaemon(folder);
    for (const _ of Array.from({ length: 6 })) {
      spoken++;
      await people.say(`room${spoken % 3}`, `m${spoken}`, `message ${spoken}`);
    }
    const before = (await people.journal()).length;
    const calls = Math.floor(Math.random() * 8);
    t.diagnostic(`round ${round}: killed after ${calls} calls`);
    await people.untilCount(before + calls);
    await killed.kill();
  }
  await assertOnceAndWhole(scene, await startDaemon(folder));
});
