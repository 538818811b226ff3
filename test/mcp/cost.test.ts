// proves: src/mcp/server-tools.ts, src/mcp/wire.ts
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const ROOT = path.join(import.meta.dirname, "../..");

/** What a process that runs this has loaded of the SDK. */
async function loaded(code: string): Promise<string[]> {
  const watched = `
    import { registerHooks } from "node:module";
    const seen = [];
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        if (found.url.includes("modelcontextprotocol")) seen.push(found.url);
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

test("without servers, a daemon loads nothing of the SDK", async () => {
  assert.deepEqual(await loaded('await import("./src/daemon.ts");'), []);
  const opens = `
    const { openWire } = await import("./src/mcp/wire.ts");
    await openWire(
      { name: "none", reach: { kind: "command", command: "/no/such/program", args: [], env: {}, folder: "/" } },
      {},
      { signal: new AbortController().signal, timeout: 1 },
    ).catch(() => undefined);`;
  assert.notDeepEqual(await loaded(opens), [], "the look sees it");
});
