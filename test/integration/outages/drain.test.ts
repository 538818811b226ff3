// proves: src/channel/registry.ts, src/daemon/daemon.ts
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { heldText, stalledStream } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const DEADLINE_MS = 3000;

function configOf(deadlineMs: number): string {
  return `[daemon]\ndrain_deadline_ms = ${deadlineMs}\n[[agents]]\nid = "main"\nmodel = "test-model"\n`;
}

/** Its intake stops when the test lets it, as one does that waits for the answer to a command. */
class SlowToStop extends TestPlatform {
  readonly #isStopped: (deadline: AbortSignal) => Promise<unknown>;

  constructor(isStopped: (deadline: AbortSignal) => Promise<unknown>) {
    super();
    this.#isStopped = isStopped;
  }

  override async stopIntake(deadline: AbortSignal): Promise<void> {
    await this.#isStopped(deadline);
  }
}

test("turns go on while the intake stops", async () => {
  await using server = await startModelServer();
  const gate = Promise.withResolvers<void>();
  const platform = new SlowToStop(async () => {
    gate.resolve();
    await platform.until(() => platform.texts("quick").length > 0);
  });
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: configOf(100_000),
    platform,
  });
  server.reply(heldText("", gate.promise, "in time"));
  await weir.say("hello", { room: "quick" });
  await server.received(1);
  await weir[Symbol.asyncDispose]();
  assert.deepEqual(platform.texts("quick"), ["in time"]);
});

test("the shutdown has one deadline for the intake and the turns", async () => {
  await using server = await startModelServer();
  let endedAt = -Infinity;
  const platform = new SlowToStop(async (deadline) => {
    await once(deadline, "abort");
    endedAt = performance.now();
  });
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: configOf(DEADLINE_MS),
    platform,
  });
  server.reply(stalledStream());
  await weir.say("hello", { room: "stalled" });
  await server.received(1);
  await weir[Symbol.asyncDispose]();
  const ms = performance.now() - endedAt;
  assert.deepEqual(platform.texts("stalled"), []);
  assert.ok(ms < DEADLINE_MS, `the turns had ${ms} ms more`);
});
