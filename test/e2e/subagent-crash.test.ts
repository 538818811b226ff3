// proves: src/channel/subagents/channel-subagents.ts, src/store/turns/subagents.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { type LogEntry, openHome, openSeed } from "../support/e2e.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { text, toolCalls } from "../support/model-behaviours.ts";
import { type ChatRequest, startModelServer } from "../support/model-server.ts";
import { isSubagents, lastWords, results, spawn, taskOf } from "../support/subagents.ts";

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
