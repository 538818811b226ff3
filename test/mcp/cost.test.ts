// proves: src/mcp/server-tools.ts, src/mcp/wire.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadedBy } from "../support/hooked.ts";

/** What a process that runs this has loaded of the SDK. */
const loaded = async (code: string): Promise<string[]> => loadedBy(code, /modelcontextprotocol/);

test("without servers, a daemon loads nothing of the SDK", async () => {
  assert.deepEqual(await loaded('await import("./src/daemon/daemon.ts");'), []);
  const opens = `
    const { openWire } = await import("./src/mcp/wire.ts");
    await openWire(
      { name: "none", reach: { kind: "command", command: "/no/such/program", args: [], env: {}, folder: "/" } },
      {},
      { signal: new AbortController().signal, timeout: 1 },
    ).catch(() => undefined);`;
  assert.notDeepEqual(await loaded(opens), [], "the look sees it");
});
