// proves: src/channel/subagents/channel-subagents.ts, src/store/turns/subagents.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { prepareBlanking } from "../../src/store/log/deletion.ts";
import { type OpenStore, openStore } from "../store/open-store.ts";
import { createTestDatabase } from "../support/database.ts";
import { TEST_DIGESTER } from "../support/digester.ts";
import { openMainHome } from "../support/e2e-main.ts";
import { type LogEntry, openHome, openSeed } from "../support/e2e.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { type ChatRequest, startModelServer } from "../support/model-server.ts";
import {
  askedBySubagents,
  assertBlank,
  isSubagents,
  lastWords,
  results,
  scriptBoth,
  spawn,
  taskOf,
  until,
  untilClosed,
} from "../support/subagents.ts";
import { connectionUrl } from "../support/weir.ts";

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
  for (let tries = 0; tries < 1000 && !(await isOver()); tries++) await delay(20);
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

/** Holds back appends of messages with an id, from outside of the daemon, until the lock of that number is let go. */
async function holdAppends(beside: OpenStore, id: string, lock: number): Promise<void> {
  await beside.sql(`
    create function hold_${lock}() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(${lock});
      return new;
    end $$;
    create trigger hold_${lock} before insert on entries for each row when (new.message_id = '${id}') execute function hold_${lock}()`);
}

/** Resolves once a statement with these words waits for a lock. */
async function untilHeld(beside: OpenStore, words: string): Promise<void> {
  await until(async () => {
    const waiting = await beside.sql(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and strpos(query, $1) > 0",
      words,
    );
    return waiting.length > 0;
  });
}

test("killed between taking a report back and telling what is left, the agent is told what is left, once", async () => {
  await using model = await startModelServer();
  await using world = await openLoopbackWorld();
  await using database = await createTestDatabase();
  await using beside = openStore(database.connection);
  const gate = Promise.withResolvers<void>();
  scriptBoth(
    model,
    () => async (exchange) => {
      await gate.promise;
      return text("Seven zxqboats.")(exchange);
    },
    (request) => {
      if (lastWords(request).includes("is over")) return text("told");
      return results(request).length > 0 ? text("begun") : spawn("count the zxqboats");
    },
  );
  await using home = await openMainHome(
    `${world.config}[defaults.subagents]\nenabled = true\nwait_ms = 0\n`,
    {
      DATABASE_URL: connectionUrl(database.connection),
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "sk-e2e-secret",
    },
  );
  const daemon = await home.start();
  await world.say("room", "ask", "how many zxqboats?");
  await world.untilAnswered();
  await until(() => askedBySubagents(model).length === 1);
  const { id } = (await beside.store.channels.find({ platform: "loopback", name: "room" })) ?? { id: null };
  assert.ok(id !== null);
  const takeBack = await prepareBlanking(beside.db, id, ["ask"], TEST_DIGESTER);
  await holdAppends(beside, "subagent/1", 1);
  await holdAppends(beside, "subagent/1/again", 2);
  await beside.db.transaction(async (again) => {
    await again.query({ name: "", text: "select pg_advisory_xact_lock(2)" });
    // Its report is read, and what it tells of is taken back before the log has it.
    await beside.db.transaction(async (looks) => {
      await beside.db.transaction(async (first) => {
        await first.query({ name: "", text: "select pg_advisory_xact_lock(1)" });
        gate.resolve();
        await untilHeld(beside, "append_message");
        await looks.query({ name: "", text: "lock table subagents in access exclusive mode" });
      });
      await untilHeld(beside, "notes_taken_back");
      await takeBack(looks);
    });
    await untilHeld(beside, "append_message");
    const [taken] = await beside.sql<{ text: string }>(
      "select text from entries where message_id = 'subagent/1'",
    );
    assert.deepEqual(taken, { text: "" });
    await daemon.kill();
    // The server has not noticed: what waits there would be written all the same.
    await beside.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'advisory'",
    );
  });
  await beside.sql("drop trigger hold_1 on entries; drop trigger hold_2 on entries");
  await home.start();
  const isTold = async (): Promise<boolean> => (await world.bot("room")).some((one) => one.text === "told");
  await until(isTold);
  assertBlank(await untilClosed(beside, "room"));
  const due = await beside.sql<{ message_id: string; text: string }>(
    "select message_id, text from entries where message_id like 'subagent/%' order by seq",
  );
  assert.deepEqual(
    due.map((one) => one.message_id),
    ["subagent/1", "subagent/1/again"],
  );
  assert.match(due[1]?.text ?? "", /Subagent 1 was ended without a report/);
  assert.ok(!due.some((one) => one.text.includes("zxqboats")));
  assert.equal((await world.bot("room")).filter((one) => one.text === "told").length, 1);
});
