// proves: src/ownership/channel-homes.ts, src/channel/waker.ts
// People who sit before a daemon's process can be reached by no other: it answers them, whoever is home of what.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { TestCluster } from "../../support/cluster/test-cluster.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const OPTIONS = { timeout: 300_000 };

test(
  "what is said before a daemon is answered there, also where it is home of nothing",
  OPTIONS,
  async () => {
    await using server = await startModelServer();
    server.respond(() => text("noted"));
    const cluster = new TestCluster();
    const platforms = { a: new TestPlatform({ isHere: true }), b: new TestPlatform({ isHere: true }) };
    const start = async (name: "a" | "b"): Promise<TestWeir> =>
      startWeir({
        connection: database.connection,
        modelUrl: server.url,
        platform: platforms[name],
        cluster: cluster.join(name),
      });
    {
      await using a = await start("a");
      await using _b = await start("b");
      await cluster.give("b");
      await a.say("hello", { room: "seat" });
      await platforms.a.until(() => platforms.a.texts("seat").length === 1);
      cluster.lose("a");
      await a.say("still there?", { room: "seat" });
      await platforms.a.until(() => platforms.a.texts("seat").length === 2);
      assert.deepEqual(platforms.b.texts("seat"), []);
      assert.deepEqual(cluster.wakes, []);
      // What is due there when it ends.
      server.reply(() => undefined);
      await a.say("and now?", { room: "seat" });
      await server.received(3);
    }
    await using _again = await start("a");
    await platforms.a.until(() => platforms.a.texts("seat").length === 3);
  },
);
