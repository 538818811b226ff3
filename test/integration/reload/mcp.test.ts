// proves: src/mcp/server-tools.ts, src/daemon/reload.ts
// Which MCP servers stay connected over a reload, and which are ended, and when.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, type TestContext, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { heldText, text, toolCalls } from "../../support/model-behaviours.ts";
import {
  type Behaviour,
  type ChatRequest,
  type ModelServer,
  startModelServer,
} from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { isSubagents, spawn } from "../../support/subagents.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

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

interface Journal {
  /** Ids of all processes that were ever started under this name. */
  readonly pids: (name: string) => Promise<number[]>;
  /** A server in the configuration. */
  readonly server: (name: string) => string;
  readonly config: (words: string, more: string) => string;
}

async function journalOf(t: TestContext): Promise<Journal> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-reload-mcp-"));
  t.after(async () => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return {
    async pids(name) {
      const journal = await readFile(path.join(folder, `${name}.pid`), "utf8").catch(() => "");
      return Array.from(journal.matchAll(/^pid (\d+)$/gm), ([, pid]) => Number(pid));
    },
    server: (name) =>
      `[[agents.mcp]]\nname = "${name}"\ncommand = ${JSON.stringify(process.execPath)}\n` +
      `args = ${JSON.stringify([SCRIPT, path.join(folder, name)])}\n`,
    config: (words, more) =>
      `[[agents]]\nid = "main"\nmodel = "test-model"\ncontext_window = 32768\ninstructions = "${words}"\n${more}`,
  };
}

test("a server that is configured the same stays connected, a changed one is ended once no turn uses it", async (t) => {
  const { pids, server, config } = await journalOf(t);
  const first = server("first");
  await using model = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: model.url,
    config: config("one", first + server("second")),
  });
  const tools = (): Set<string> =>
    new Set(
      model.requests
        .at(-1)
        ?.body.tools?.map(({ function: { name } }) => name.split("__"))
        .flatMap(([name = "", tool]) => (tool === undefined ? [] : name)),
    );
  await until("both run", async () => (await pids("first")).length + (await pids("second")).length === 2);
  const [kept = 0] = await pids("first");
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

  await weir.reload(config("two", first + server("third")));
  await until("the new one runs", async () => (await pids("third")).length === 1);
  assert.ok(isAlive(second), "a turn that runs may still call it");
  gate.resolve();
  await until("nobody uses it", () => !isAlive(second));
  await until("the next turns have its tools", async () => {
    await ask("served");
    return tools().has("third");
  });
  assert.deepEqual(tools(), new Set(["first", "third"]));
  assert.deepEqual(await pids("first"), [kept], "it was not started again");
  assert.ok(isAlive(kept));

  await weir.reload(`[[agents]]\nid = "main"\nmodel = "test-model"\n`);
  await until("all are ended", async () => !isAlive(kept) && !isAlive((await pids("third"))[0] ?? 0));
});

/** A daemon whose server is in its first and second configuration, and in the third no more. */
async function openTwoReloads(t: TestContext, model: ModelServer): Promise<TwoReloads> {
  const { pids, server, config } = await journalOf(t);
  const enabled = "[agents.subagents]\nenabled = true\nwait_ms = 0\n";
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: model.url,
    config: config("one", enabled + server("used")),
  });
  t.after(async () => weir[Symbol.asyncDispose]());
  const ask = async (room: string): Promise<ChatRequest | undefined> => {
    const { shown } = weir.platform;
    const before = shown.size;
    await weir.say("what is it?", { room });
    await until("it is answered", () => shown.size > before);
    return model.requests.at(-1)?.body;
  };
  model.respond(() => text("an answer"));
  await until("its tools are there", async () => {
    const { tools = [] } = (await ask("early")) ?? {};
    return tools.some(({ function: { name } }) => name === ECHO);
  });
  return {
    weir,
    async reloadTwice() {
      await weir.reload(config("two", enabled + server("used")));
      await weir.reload(config("three", enabled));
      // Whole turns: what a reload does behind itself is done by then, if it waits for nobody.
      for (const room of ["x", "y", "z"]) await ask(room);
    },
    async untilEnded() {
      const [pid = 0] = await pids("used");
      await until("nobody uses it", () => !isAlive(pid));
    },
  };
}

interface TwoReloads {
  readonly weir: TestWeir;
  readonly reloadTwice: () => Promise<void>;
  readonly untilEnded: () => Promise<void>;
}

const ECHO = "used__echo";

/** Calls the server, once the gate is open. */
function callBehind(gate: Promise<unknown>): Behaviour {
  return async (exchange) => {
    await gate;
    await toolCalls([{ name: ECHO, arguments: { text: "still here" } }])(exchange);
  };
}

function isToldBack({ messages }: ChatRequest): boolean {
  return messages.some(({ role, content }) => role === "tool" && content?.includes("You said: still here"));
}

test("a server is ended under no turn that began before, however many reloads came since", async (t) => {
  await using model = await startModelServer();
  const { weir, reloadTwice, untilEnded } = await openTwoReloads(t, model);
  const gate = Promise.withResolvers<void>();
  const [asked, before] = [model.requests.length, weir.platform.shown.size];
  model.reply(callBehind(gate.promise));
  await weir.say("hold on", { room: "turn" });
  await until("the turn runs", () => model.requests.length > asked);
  await reloadTwice();
  gate.resolve();
  await until("it is answered", () => weir.platform.shown.size === before + 4);
  assert.ok(
    model.requests.some(({ body }) => isToldBack(body)),
    "the call was answered",
  );
  await untilEnded();
});

test("a server is ended under no subagent that began before", async (t) => {
  await using model = await startModelServer();
  const { weir, reloadTwice, untilEnded } = await openTwoReloads(t, model);
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  model.respond((request) => {
    if (isSubagents(request))
      return request.messages.length > 2 ? text("I found it.") : callBehind(gate.promise);
    const isAsked = request.messages.some(({ content }) => content?.includes("look into it") === true);
    return isAsked && begun++ === 0 ? spawn("look") : text("an answer");
  });
  await weir.say("look into it", { room: "spawning" });
  await weir.event("turn_settled", ({ channel }) => channel === "test:spawning");
  await until("a subagent is at work", () => model.requests.some(({ body }) => isSubagents(body)));
  await reloadTwice();
  gate.resolve();
  await until("it has its answer", () =>
    model.requests.some(({ body }) => isSubagents(body) && body.messages.length > 2),
  );
  assert.ok(
    model.requests.some(({ body }) => isSubagents(body) && isToldBack(body)),
    "the call was answered",
  );
  await untilEnded();
});
