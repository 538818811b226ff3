// proves: src/mcp/server-tools.ts, src/compose/reload.ts
// Which MCP servers stay connected over a reload, and which are ended, and when.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { heldText, text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { startWeir } from "../../support/weir.ts";

const SCRIPT = path.join(import.meta.dirname, "../../support/mcp/good-server.ts");
const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test("a server that is configured the same stays connected, a changed one is ended once no turn uses it", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-reload-mcp-"));
  t.after(async () => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const pids = async (name: string): Promise<number[]> => {
    const journal = await readFile(path.join(folder, `${name}.pid`), "utf8").catch(() => "");
    return Array.from(journal.matchAll(/^pid (\d+)$/gm), ([, pid]) => Number(pid));
  };
  const server = (name: string, journal: string): string =>
    `[[agents.mcp]]\nname = "${name}"\ncommand = ${JSON.stringify(process.execPath)}\n` +
    `args = ${JSON.stringify([SCRIPT, path.join(folder, journal)])}\n`;
  const config = (words: string, second: string): string =>
    `[[agents]]\nid = "main"\nmodel = "test-model"\ncontext_window = 32768\ninstructions = "${words}"\n` +
    server("first", "first") +
    second;
  await using model = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: model.url,
    config: config("one", server("second", "second")),
  });
  const tools = (): Set<string> =>
    new Set(
      model.requests
        .at(-1)
        ?.body.tools?.map(({ function: { name } }) => name.split("__"))
        .flatMap(([name = "", tool]) => (tool === undefined ? [] : name)),
    );
  await until("both run", async () => (await pids("first")).length + (await pids("second")).length === 2);
  const [first = 0] = await pids("first");
  const [second = 0] = await pids("second");
  model.respond(() => text("an answer"));
  const ask = async (room: string): Promise<void> => {
    const before = weir.platform.shown.size;
    await weir.say("what is it?", { room });
    await until("it is answered", () => weir.platform.shown.size > before);
  };
  await until("their tools are there", async () => {
    await ask("early");
    return tools().size === 2;
  });
  const gate = Promise.withResolvers<void>();
  model.reply(heldText("well", gate.promise, " said"));
  const asked = model.requests.length;
  await weir.say("one", { room: "served" });
  await until("the model is asked", () => model.requests.length > asked);
  assert.deepEqual(tools(), new Set(["first", "second"]));

  await weir.reload(config("two", server("third", "third")));
  await until("the new one runs", async () => (await pids("third")).length === 1);
  assert.ok(isAlive(second), "a turn that runs may still call it");
  gate.resolve();
  await until("nobody uses it", () => !isAlive(second));
  await until("the next turns have its tools", async () => {
    await ask("served");
    return tools().has("third");
  });
  assert.deepEqual(tools(), new Set(["first", "third"]));
  assert.deepEqual(await pids("first"), [first], "it was not started again");
  assert.ok(isAlive(first));

  await weir.reload(`[[agents]]\nid = "main"\nmodel = "test-model"\n`);
  await until("all are ended", async () => !isAlive(first) && !isAlive((await pids("third"))[0] ?? 0));
});
