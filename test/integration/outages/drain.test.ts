// proves: src/channel/registry.ts, src/daemon/daemon.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

/** Its intake stops only when a command has been answered, which takes a while. */
class SlowToStop extends TestPlatform {
  readonly #ms: number;

  constructor(ms: number) {
    super();
    this.#ms = ms;
  }

  override async stopIntake(): Promise<void> {
    await delay(this.#ms);
  }
}

test("turns go on while the intake stops, and the shutdown has one deadline for both", async () => {
  await using server = await startModelServer();
  const platform = new SlowToStop(1500);
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: `[daemon]\ndrain_deadline_ms = 3000\n[[agents]]\nid = "main"\nmodel = "test-model"\n`,
    platform,
  });
  server.reply(text("in time", { firstDelayMs: 2000 }), stalledStream());
  await weir.say("hello", { room: "quick" });
  await server.received(1);
  await weir.say("hello", { room: "stalled" });
  await server.received(2);
  const from = performance.now();
  await weir[Symbol.asyncDispose]();
  const ms = performance.now() - from;
  assert.deepEqual(platform.texts("quick"), ["in time"]);
  assert.deepEqual(platform.texts("stalled"), []);
  assert.ok(ms < 4200, `${ms} ms`);
});
