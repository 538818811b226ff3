// proves: src/channel/delivery/draft.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
`;

/** Counts answers that have an update put aside for their final text, as Slack's adapter does. */
class SharingPlatform extends TestPlatform {
  readonly putAside: Set<string>;

  constructor() {
    const putAside = new Set<string>();
    const mayShow = (key: string): boolean => {
      putAside.add(key);
      return true;
    };
    super({ streaming: { intervalMs: 1, mayShow, ended: (key) => void putAside.delete(key) } });
    this.putAside = putAside;
  }

  override async send(...args: Parameters<TestPlatform["send"]>): Promise<string> {
    const id = await super.send(...args);
    if (args[0].final) this.putAside.delete(args[0].idempotencyKey);
    return id;
  }

  override async edit(...args: Parameters<TestPlatform["edit"]>): Promise<void> {
    if (args[1].final) this.putAside.delete(args[1].idempotencyKey);
    await super.edit(...args);
  }

  override async remove(...args: Parameters<TestPlatform["remove"]>): Promise<void> {
    const key = this.shown.get(args[1])?.idempotencyKey;
    if (key !== undefined) this.putAside.delete(key);
    await super.remove(...args);
  }
}

async function forgetMessage(weir: TestWeir, id: string): Promise<void> {
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id, at: new Date() });
}

test("of an answer that is begun again and again nothing stays put aside once it is there", async () => {
  await using server = await startModelServer();
  const platform = new SharingPlatform();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    platform,
  });
  await weir.say("one secret", { room: "redone", id: "r1", addressed: false });
  await weir.say("another secret", { room: "redone", id: "r2", addressed: false });
  for (const id of ["r1", "r2"]) {
    server.respond(() => stalledStream(`About ${id}`));
    if (id === "r1") await weir.say("what was said?", { room: "redone", id: "r3" });
    await platform.until(() => [...platform.shown.values()].some((shown) => shown.text === `About ${id}`));
    if (id === "r2") server.respond(() => text("Nothing."));
    else server.respond(() => stalledStream("About r2"));
    await forgetMessage(weir, id);
  }
  await weir.event("reply_delivered", ({ channel }) => channel === "test:redone");
  assert.deepEqual(platform.texts("redone"), ["Nothing."]);
  assert.equal(platform.putAside.size, 0);
});

test("nor of one whose first piece the platform did not take, and that never came", async () => {
  await using server = await startModelServer();
  const platform = new SharingPlatform();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    platform,
  });
  const { promise: isRefused, resolve } = Promise.withResolvers<void>();
  platform.fail = () => {
    resolve();
    throw new PlatformError("test", "unavailable", "reset");
  };
  server.respond(() => stalledStream("About"));
  await weir.say("tell me", { room: "refused", id: "f1" });
  await isRefused;
  await forgetMessage(weir, "f1");
  await weir.event("turn_settled", ({ channel }) => channel === "test:refused");
  assert.equal(platform.putAside.size, 0);
});
