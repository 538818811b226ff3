// proves: src/compose/cluster.ts
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const ROOT = path.join(import.meta.dirname, "../..");

/** What a process that runs this has loaded that only a cluster needs. */
async function loaded(code: string): Promise<string[]> {
  const watched = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        if (/amqplib|\\/src\\/cluster\\/|home-keeper/.test(found.url)) seen.push(found.url);
        return found;
      },
    });
    ${code}
    console.log(JSON.stringify(seen));
    process.exit(0);`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", watched], {
    cwd: ROOT,
  });
  return JSON.parse(stdout);
}

const OPENED = `
  await import("./src/cli/session.ts");
  const { openCluster } = await import("./src/compose/cluster.ts");
  const { pino } = await import("pino");
  const log = pino({ level: "silent" });`;

test("a daemon that is alone loads nothing of a cluster", async () => {
  const alone = await loaded(
    `${OPENED} if (await openCluster({ cluster: null, daemon: {} }, log) !== undefined) process.exit(1);`,
  );
  assert.deepEqual(alone, []);
  const member = await loaded(
    `${OPENED} await openCluster({ cluster: { url: "amqp://127.0.0.1:1", name: "a", prefix: "none" }, daemon: { drainDeadlineMs: 1 } }, log);`,
  );
  assert.ok(
    member.some((url) => url.includes("amqplib")),
    "the look sees it",
  );
});
