// proves: src/channel/delivery/draft.ts, src/store/turns/deliveries.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `
[daemon]
drain_deadline_ms = 300
[[agents]]
id = "main"
model = "test-model"
`;

async function start(server: ModelServer, platform: TestPlatform): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG, platform });
}

async function forgetMessage(weir: TestWeir, id: string): Promise<void> {
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id, at: new Date() });
}

async function runCommand(weir: TestWeir, room: string, name: string): Promise<void> {
  const asker = { id: "u-ann", name: "Ann", roles: [], isOwner: true };
  await weir.daemon.inbox.command({
    channel: { platform: "test", name: room },
    name,
    argument: "",
    asker,
  });
}

/** What was asked in a room is being answered, and half of the answer is shown. */
async function showHalf(
  weir: TestWeir,
  server: ModelServer,
  platform: TestPlatform,
  room: string,
): Promise<void> {
  server.respond(() => stalledStream("Your password hunter2 is"));
  await weir.say("is hunter2 a good password?", { room, id: `${room}-1` });
  await platform.until(() => platform.shown.size > 0);
}

test("half an answer to a message that is deleted meanwhile goes with it", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  await using weir = await start(server, platform);
  await showHalf(weir, server, platform, "deleted");
  await forgetMessage(weir, "deleted-1");
  await platform.until(() => platform.shown.size === 0);
  const settled = await weir.event("turn_settled", ({ channel }) => channel === "test:deleted");
  assert.equal(settled.outcome, "skipped");
});

test("what a daemon had shown of an answer is taken back after the next start, until the platform has done so", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  {
    await using weir = await start(server, platform);
    await showHalf(weir, server, platform, "left");
  }
  let refusals = 0;
  platform.failRemoval = () => {
    refusals++;
    throw new PlatformError("test", "unavailable", "reset", { retryAfterMs: 1 });
  };
  {
    // It ends the turn that was left behind, and does not get rid of what that had shown.
    server.respond(() => stalledStream(""));
    await using weir = await start(server, platform);
    await forgetMessage(weir, "left-1");
    await weir.event("turn_settled", ({ channel }) => channel === "test:left");
    await weir.event("delivery_failed", ({ channel }) => channel === "test:left" && refusals > 1);
  }
  assert.equal(platform.shown.size, 1);
  platform.failRemoval = () => undefined;
  await using weir = await start(server, platform);
  await platform.until(() => platform.shown.size === 0);
  assert.equal(platform.removed.length, 1);
  // Nothing is left to be delivered; the test's time limit ends this where it is.
  while ((await weir.daemon.store.channels.withWork(["test"], 300)).length > 0) await delay(20);
});

test("a reset takes back what the turn that it ends had shown before a restart", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  {
    await using weir = await start(server, platform);
    await showHalf(weir, server, platform, "reset");
  }
  server.respond(() => stalledStream(""));
  await using weir = await start(server, platform);
  await runCommand(weir, "reset", "reset");
  await platform.until(() => platform.shown.size === 0);
});
