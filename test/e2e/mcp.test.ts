// proves: src/cli/tools.ts, src/cli/shared/mcp-servers.ts, src/mcp/wire.ts
// MCP servers of a real process: none is left behind, however it ends; `weir tools` and `weir doctor` look at them.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isLiveProcess } from "../../src/store/database/live-process.ts";
import { createTestDatabase } from "../support/database.ts";
import { environment } from "../support/e2e.ts";
import { text } from "../support/model-behaviours.ts";
import { startModelServer } from "../support/model-server.ts";
import { type Ending, TestProcess } from "../support/process.ts";
import { connectionUrl } from "../support/weir.ts";

const MAIN = path.join(import.meta.dirname, "../../src/main.ts");
const SUPPORT = path.join(import.meta.dirname, "../support/mcp");
const SECRET = "planted-0123456789";
const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

interface Home {
  readonly journal: () => Promise<string[]>;
  readonly start: (...args: readonly string[]) => TestProcess;
}

async function openHome(t: TestContext, ...modes: readonly string[]): Promise<Home> {
  const model = await startModelServer();
  model.respond(() => text("pong"));
  const folder = await mkdtemp(path.join(tmpdir(), "weir-mcp-"));
  const processes: TestProcess[] = [];
  t.after(async () => {
    await Promise.all(processes.map(async (one) => one[Symbol.asyncDispose]()));
    await model[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  });
  const servers = modes.map((mode, index) => {
    const args =
      mode === "good"
        ? [path.join(SUPPORT, "good-server.ts")]
        : [path.join(SUPPORT, "bad-server.ts"), mode, "journal"];
    return `[[agents.mcp]]\nname = "s${index}"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ${JSON.stringify(args)}\nenv = ["KEY"]\n`;
  });
  await writeFile(
    path.join(folder, "config.toml"),
    `[log]\nlevel = "debug"\n[[agents]]\nid = "main"\nmodel = "test-model"\n${servers.join("")}`,
  );
  const env = environment({
    DATABASE_URL: connectionUrl(database.connection),
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "key",
    KEY: SECRET,
  });
  return {
    journal: async () => (await readFile(path.join(folder, "journal"), "utf8").catch(() => "")).split("\n"),
    start(...args) {
      const started = new TestProcess(process.execPath, [MAIN, ...args], { cwd: folder, env });
      processes.push(started);
      return started;
    },
  };
}

/** Process ids that servers have noted. */
async function pids({ journal }: Home): Promise<number[]> {
  return (await journal()).flatMap((line) => (line.startsWith("pid ") ? [Number(line.slice(4))] : []));
}

async function untilGone(home: Home): Promise<void> {
  for (const pid of await pids(home)) while (isLiveProcess(pid)) await delay(20);
}

test("kill -9 leaves no server behind", async (t) => {
  const home = await openHome(t, "well");
  const daemon = home.start("start");
  await daemon.line("ready");
  await daemon.errorLine("mcp_server_open");
  assert.equal((await pids(home)).filter(isLiveProcess).length, 1);
  await daemon.kill();
  await untilGone(home);
});

test("neither does an end in peace, however stubborn the server, and one that hangs delays no start", async (t) => {
  const home = await openHome(t, "stubborn", "hangs");
  const daemon = home.start("start");
  await daemon.line("ready");
  await daemon.errorLine("mcp_server_open");
  while ((await pids(home)).length < 2) await delay(20);
  daemon.signal("SIGTERM");
  assert.deepEqual(await daemon.ended, { code: 0, signal: null } satisfies Ending);
  await untilGone(home);
  assert.equal((await pids(home)).length, 2);
});

test("weir tools and weir doctor tell of each server, end it, and show no secret", async (t) => {
  const home = await openHome(t, "good", "lies", "crashes at once");
  const tools = home.start("tools");
  assert.equal((await tools.finish()).code, 0, tools.stderr);
  const listed = tools.out.join("\n");
  assert.match(listed, /^agent main: 16 tools, about [\d,]+ tokens in each request\n/);
  assert.match(listed, / s0__echo +server s0 +does not ask: read-only, it says +\d+ tokens\n/);
  assert.match(listed, / s0__sleep +server s0 +asks +\d+ tokens\n/);
  assert.match(listed, / skip +built in +does not ask /);
  assert.match(listed, /\? server s1: left out: "loop": the schema of its arguments refers to itself/);
  assert.match(listed, /✗ server s2 cannot be reached: Connection closed; it last said: .*no such thing/);
  const doctor = home.start("doctor");
  assert.equal((await doctor.finish()).code, 1);
  const found = doctor.out.join("\n");
  assert.match(found, /✓ MCP server s0 of main: 5 tools \(\d+ ms\)/);
  assert.match(found, /\? MCP server s1 of main: 4 tools .*left out: /);
  assert.match(found, /✗ MCP server s2 of main: Connection closed.*\n +→ run .* by hand with its args in /);
  assert.ok(!`${listed}${found}${tools.stderr}${doctor.stderr}`.includes(SECRET));
  await untilGone(home);
});
