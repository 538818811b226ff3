/** What goes wrong beside kills: each does its harm to a running process, and mends it. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";
import { postmasterPid, startQuietly } from "../support/embedded-folder.ts";
import { unspaced } from "./answers.ts";
import { finalTexts } from "./delivery-checks.ts";
import { CHANNELS } from "./people.ts";
import type { Scene } from "./scene.ts";

export interface Trouble {
  readonly name: string;
  /** The process has ended by it. */
  readonly ends: boolean;
  /** Nobody takes anything back meanwhile: that would void the turn that reads it, and with it the answer. */
  readonly keepsWords?: boolean;
  run(scene: Scene): Promise<void>;
}

const replyLine = z.looseObject({ type: z.string(), text: z.string().optional() });

const POLL_MS = 10;
const AT_ONCE_MS = 3000;
/** The longest that a client waits for a first token, with time for a busy machine. */
const SILENCE_MS = 15_000;
/** The deadline of the drain, and some time to close. */
const DRAIN_MS = 10_000;
/** A look, what a dead server still holds, recovery, and time for a busy machine. */
const BACK_MS = 20_000;
const HOUR_MS = 3_600_000;

export const TROUBLES: readonly Trouble[] = [
  { name: "database.stop", ends: false, run: async (scene) => restartDatabase(scene, "SIGINT") },
  { name: "database.crash", ends: false, run: async (scene) => restartDatabase(scene, "SIGQUIT") },
  { name: "database.kill", ends: false, run: killDatabase },
  { name: "database.cut", ends: false, run: cutConnections },
  { name: "disk.full", ends: false, run: fillDisk },
  { name: "model.gone", ends: false, run: loseModel },
  { name: "clock.jump", ends: false, run: jumpClock },
  { name: "term", ends: true, keepsWords: true, run: terminate },
  { name: "term.twice", ends: true, run: terminateTwice },
];

async function restartDatabase({ home, random, sql }: Scene, signal: "SIGINT" | "SIGQUIT"): Promise<void> {
  await sql.close();
  process.kill(await postmasterPid(home.dataDir), signal);
  const deadline = performance.now() + 10_000;
  while (
    await postmasterPid(home.dataDir).then(
      () => true,
      () => false,
    )
  ) {
    assert.ok(performance.now() < deadline, "the Postgres does not stop");
    await delay(POLL_MS);
  }
  await delay(random.int(50, 1500));
  await startQuietly(home.dataDir);
}

/** kill -9 of the postmaster, once or twice: the daemon that uses it starts it again, and lives on. */
async function killDatabase({ home, process: running, random, sql }: Scene): Promise<void> {
  for (let times = random.int(1, 2); times > 0; times--) {
    await sql.close();
    const killed = await postmasterPid(home.dataDir);
    process.kill(killed, "SIGKILL");
    const isBack = async (): Promise<boolean> =>
      (await findEmbeddedPostgres(home.dataDir)) !== null && (await postmasterPid(home.dataDir)) !== killed;
    const deadline = performance.now() + BACK_MS;
    while (!(await isBack())) {
      assert.ok(!running.isOver, "the daemon ended with its Postgres");
      assert.ok(performance.now() < deadline, "the Postgres is not started again");
      await delay(POLL_MS);
    }
    await delay(random.int(50, 800));
  }
}

/** Those of the daemon, a few times in a row. */
export async function cutConnections({ random, sql }: Pick<Scene, "random" | "sql">): Promise<void> {
  for (let times = random.int(1, 6); times > 0; times--) {
    await sql.rows("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'weir'");
    await delay(random.int(5, 200));
  }
}

/**
 * Every table of the log refuses to grow for a while. Each by a statement of its own: a transaction that locks them one after
 * the other would be in a deadlock with the daemon's, which lock them in another order.
 */
async function fillDisk({ random, sql }: Scene): Promise<void> {
  const tables = ["entries", "jobs", "summaries", "deliveries", "turns"];
  for (const table of tables)
    await sql.rows(`create trigger a_disk_full before insert on ${table} execute function chaos.disk_full()`);
  await delay(random.int(300, 1200));
  for (const table of tables) await sql.rows(`drop trigger a_disk_full on ${table}`);
}

/** It refuses; or nobody listens at its address; or it takes what it is asked and says nothing, until the client gives up. */
async function loseModel({ model, people, random }: Scene): Promise<void> {
  const how = random.pick(["refusing", "away", "silent"] as const);
  if (how === "away") {
    await model.leave();
    await delay(random.int(300, 2000));
    await model.comeBack();
    return;
  }
  model.absence = how;
  if (how === "refusing") await delay(random.int(300, 2000));
  else {
    const before = model.hungUp;
    const deadline = performance.now() + SILENCE_MS;
    await people.say(3, "short", { listen: 0 });
    while (model.hungUp === before && performance.now() < deadline) await delay(POLL_MS);
    assert.ok(model.hungUp > before, "a model that says nothing is waited for without an end");
  }
  model.absence = "none";
}

/** Hours back or on; it stays there, also for the processes to come. */
async function jumpClock({ clockFile, process: running, random }: Scene): Promise<void> {
  await writeFile(clockFile, String(random.int(-30, 30) * HOUR_MS));
  running.signal("SIGUSR2");
  await delay(random.int(200, 600));
}

/** In the middle of an answer: it is finished, delivered whole, and the process ends in peace. */
async function terminate(scene: Scene): Promise<void> {
  const { model, people, process: running, random } = scene;
  const hold = model.holds["turn.stream"];
  hold.arm();
  await people.say(3, "short", { listen: 0 });
  await hold.reached;
  running.signal("SIGTERM");
  await delay(random.int(20, 200));
  hold.release();
  const timer = new AbortController();
  const ending = await Promise.race([running.ended, delay(DRAIN_MS, null, { signal: timer.signal })]);
  timer.abort();
  assert.deepEqual(
    ending,
    { code: 0, signal: null },
    `SIGTERM in mid-turn\n${running.err.slice(-12).join("\n")}`,
  );
  assert.ok(
    await isDelivered(scene, model.halfGiven),
    `the process ended at SIGTERM before all of its half-given answer was there: ${model.halfGiven}`,
  );
}

/** Somebody was shown all of it: in the terminal as one message, on the service in as many as it takes. */
async function isDelivered({ process: running, service }: Scene, answer: string): Promise<boolean> {
  const heard = running.out.map((line) => replyLine.parse(JSON.parse(line)));
  if (heard.some(({ type, text }) => type === "reply" && text === answer)) return true;
  for (const channel of CHANNELS) {
    const texts = await finalTexts(service.url, channel);
    if (unspaced(texts.join("")).includes(unspaced(answer))) return true;
  }
  return false;
}

/** The second one ends it at once, whatever it waits for. */
async function terminateTwice({ model, people, process: running, random }: Scene): Promise<void> {
  const hold = model.holds["turn.model"];
  hold.arm();
  await people.say(3, "short", { listen: 0 });
  await hold.reached;
  const pauseMs = random.int(170, 400);
  const end = performance.now() + AT_ONCE_MS;
  // Until it is heard twice: two that come together count as one, and a busy process hears late.
  while (!running.isOver && performance.now() < end) {
    running.signal("SIGTERM");
    await Promise.race([running.ended, delay(pauseMs)]);
  }
  hold.release();
  const ending = running.isOver ? await running.ended : null;
  assert.deepEqual(ending, { code: 143, signal: null }, "a second SIGTERM");
}
