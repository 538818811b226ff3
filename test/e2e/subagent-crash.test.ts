// proves: src/features/subagents/channel-subagents.ts, src/features/subagents/subagent-store.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { CARRIERS } from "../../src/store/deletion/carriers/carriers.ts";
import { DeletionEngine } from "../../src/store/deletion/deletion-engine.ts";
import { prepareDeletion } from "../../src/store/deletion/deletions.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";
import { TEST_DIGESTER } from "../support/digester.ts";
import { envOf, type MainHome, openMainHome } from "../support/e2e-main.ts";
import { type LogEntry, openHome, openSeed } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { type ChatRequest, type ModelServer, startModelServer } from "../support/model-server.ts";
import { gateRows } from "../support/row-gate.ts";
import { until } from "../support/patience.ts";
import {
  askedBySubagents,
  assertBlank,
  isSubagents,
  lastWords,
  results,
  scriptBoth,
  spawn,
  taskOf,
  untilClosed,
} from "../support/subagents.ts";

const ENGINE = new DeletionEngine(CARRIERS);

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
[agents.subagents]
enabled = true
wait_ms = 150
`;

/** One of two tasks is done while the turn waits, the other behind it. */
function behave(request: ChatRequest): ReturnType<typeof text> {
  if (isSubagents(request)) {
    const task = /(?:slow|quick) task \w+/.exec(taskOf(request))?.[0] ?? "";
    if (results(request).length === 0)
      return toolCalls([{ name: "search_history", arguments: { query: "task" } }]);
    return text(`Report of the ${task}.`, { firstDelayMs: task.startsWith("slow") ? 400 : 10 });
  }
  const words = lastWords(request);
  const name = /please do (\w+)/.exec(words)?.[1] ?? "";
  if (/\[Weir: subagents? [^\]]*\] [^]*$/.test(words)) return text("told");
  return results(request).length > 0 ? text("begun") : spawn(`quick task ${name}`, `slow task ${name}`);
}

/** How often something is said where the agent reads it: in results of its calls, and in messages of Weir's own. */
function timesTold(log: readonly LogEntry[], report: string): number {
  return log
    .filter(({ kind, messageId = "" }) => kind === "tool_result" || messageId.startsWith("subagent/"))
    .reduce((sum, entry) => sum + entry.text.split(report).length - 1, 0);
}

test("killed twice while subagents are at work, each is begun once, and its report told once", async (t) => {
  await using model = await startModelServer();
  model.respond(behave);
  await using world = await openLoopbackWorld();
  await using home = await openHome({ modelUrl: model.url, config: world.config + CONFIG, seed });
  const start = async () => {
    const daemon = home.start("start");
    await daemon.line("ready");
    return daemon;
  };
  // Twice: what was begun three times and never got further would have failed.
  const rooms = ["east", "west"];
  for (const room of rooms) {
    const daemon = await start();
    await world.say(room, `ask-${room}`, `please do ${room}`);
    const calls = 1 + Math.floor(Math.random() * 7);
    t.diagnostic(`${room}: killed after ${calls} calls`);
    await model.received(model.requests.length + calls);
    await daemon.kill();
  }
  const last = await start();
  await world.untilAnswered();
  const isOver = async (): Promise<boolean> => {
    const told = await Promise.all(rooms.map(async (room) => world.bot(room)));
    return told.every((messages) => messages.some((one) => one.text === "told"));
  };
  await until("word of the end in each room", isOver);
  last.signal("SIGTERM");
  assert.deepEqual(await last.ended, { code: 0, signal: null });
  for (const room of rooms) {
    const log = await home.log(`loopback:${room}`);
    for (const kind of ["quick", "slow"])
      assert.equal(timesTold(log, `Report of the ${kind} task ${room}.`), 1, `${kind} ${room}`);
    const named = log.flatMap((entry) => [...entry.text.matchAll(/Subagent (\d+) /g)]);
    assert.deepEqual(new Set(named.map(([, number]) => number)), new Set(["1", "2"]), room);
  }
});

interface BesideScene extends AsyncDisposable {
  readonly model: ModelServer;
  readonly world: LoopbackWorld;
  readonly beside: OpenStore;
  readonly home: MainHome;
}

/** A daemon whose database can be looked into, and whose agent begins a subagent that reports once `report` says so. */
async function openBeside(report: Promise<void>): Promise<BesideScene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  scriptBoth(
    model,
    () => async (exchange) => {
      await report;
      return text("Seven zxqboats.")(exchange);
    },
    (request) => {
      if (lastWords(request).includes("is over")) return text("told");
      return results(request).length > 0 ? text("begun") : spawn("count the zxqboats");
    },
  );
  const world = stack.use(await openLoopbackWorld());
  const { connection } = stack.use(await createTestDatabase());
  const beside = stack.use(openStore(connection));
  const config = `${world.config}[defaults.subagents]\nenabled = true\nwait_ms = 0\n`;
  const home = stack.use(await openMainHome(config, envOf(connection, model.url)));
  const kept = stack.move();
  return { model, world, beside, home, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

test("killed between taking a report back and telling what is left, the agent is told what is left, once", async () => {
  const report = Promise.withResolvers<void>();
  await using scene = await openBeside(report.promise);
  const { model, world, beside, home } = scene;
  const daemon = await home.start();
  await world.say("room", "ask", "how many zxqboats?");
  await world.untilAnswered();
  await until("call of the subagent", () => askedBySubagents(model).length === 1);
  const channel = await beside.store.channels.find({ platform: "loopback", name: "room" });
  assert.ok(channel !== undefined);
  const takeBack = await prepareDeletion(ENGINE, beside.db, channel.id, ["ask"], TEST_DIGESTER);
  await using first = await gateRows(beside, "insert on entries", "new.message_id = 'subagent/1'");
  await using again = await gateRows(beside, "insert on entries", "new.message_id = 'subagent/1/again'");
  report.resolve();
  await first.reached();
  // Its report is read, and what it tells of is taken back before anybody looks whether it is.
  await beside.db.transaction(async (client) => {
    await client.query("", "lock table subagents in access exclusive mode");
    await first.open();
    await until("look that waits", async () => {
      const looks = "wait_event_type = 'Lock' and query like '%notes_taken_back%'";
      return (
        (await beside.sql(`select from pg_stat_activity where datname = current_database() and ${looks}`))
          .length > 0
      );
    });
    await takeBack(client);
  });
  await again.reached();
  await daemon.kill();
  await again.cut();
  const due = async (): Promise<{ messageId: string; text: string }[]> =>
    beside.sql("select message_id, text from entries where message_id like 'subagent/%' order by seq");
  assert.deepEqual(await due(), [{ messageId: "subagent/1", text: "" }]);
  await home.start();
  const told = async (): Promise<number> =>
    (await world.bot("room")).filter((one) => one.text === "told").length;
  await until("word of it", async () => (await told()) > 0);
  assertBlank(await untilClosed(beside, "room"));
  const [, left, ...more] = await due();
  assert.equal(left?.messageId, "subagent/1/again");
  assert.match(left.text, /Subagent 1 was ended without a report/);
  assert.deepEqual([more, await told()], [[], 1]);
});
