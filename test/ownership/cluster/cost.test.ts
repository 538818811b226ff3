// proves: src/daemon/cluster.ts
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { loadedBy } from "../../support/hooked.ts";

/** What a process that runs this has loaded that only a cluster needs. */
const loaded = async (code: string): Promise<string[]> =>
  loadedBy(code, /amqplib|\/src\/cluster\/|home-keeper/);

const OPENED = `
  await import("./src/cli/start.ts");
  const { openCluster } = await import("./src/daemon/cluster.ts");
  const { pino } = await import("pino");
  const log = pino({ level: "silent" });`;

test("a daemon that is alone loads nothing of a cluster", async () => {
  const alone = await loaded(
    `${OPENED} if (await openCluster({ cluster: null, daemon: {} }, log) !== undefined) process.exit(1);`,
  );
  assert.deepEqual(alone, []);
  const member = await loaded(
    `${OPENED} const database = { dataDir: ${JSON.stringify(tmpdir())} };
     const cluster = { url: "amqp://127.0.0.1:1", name: "a", prefix: "none" };
     await openCluster({ cluster, daemon: { drainDeadlineMs: 1 }, database }, log);`,
  );
  assert.ok(
    member.some((url) => url.includes("amqplib")),
    "the look sees it",
  );
});
