import { setTimeout as delay } from "node:timers/promises";
import { PARTITIONS } from "../../../src/ownership/homes.ts";
import type { TestBroker } from "../../support/cluster/broker.ts";
import type { PrivateBroker } from "../../support/cluster/private-broker.ts";
import type { ChaosDaemon } from "./daemons.ts";
import type { ClusterReport } from "./cluster-report.ts";
import type { ClusterScene } from "./scene.ts";

export interface FaultLimits {
  /** A daemon stands still for so long at most, ms. */
  readonly longestStopMs: number;
  /** Daemons that run at the same time at most. */
  readonly mostDaemons: number;
}

/** What goes wrong in a cluster. Each does its harm, and mends it. */
export interface ClusterFault {
  readonly name: string;
  /** Wants a broker of its own. */
  readonly ofBroker?: boolean;
  run(scene: ClusterScene, report: ClusterReport, limits: FaultLimits): Promise<void>;
}

/** What is due when a daemon is killed. */
const BURST = 30;
/** What was under way when a daemon was well again may still fail, ms. */
const AFTER_MS = 1500;
/** Share of the isolations that may end before others are home. */
const SHORT = 0.25;
/** A daemon that is home of nothing takes nothing, ms. */
const TAKING_MS = 3000;
/** So many daemons are always there. */
const LEAST_DAEMONS = 2;

export const CLUSTER_FAULTS: readonly ClusterFault[] = [
  { name: "kill", run: kill },
  { name: "kill", run: kill },
  { name: "kill", run: kill },
  { name: "stop", run: freeze },
  { name: "stop", run: freeze },
  { name: "term", run: terminate },
  { name: "rolling", run: roll },
  { name: "join", run: join },
  { name: "leave", run: leave },
  { name: "broker.cut", run: async (scene) => disturb(scene, "broker", "cut", [50, 1500]) },
  { name: "broker.silence", run: async (scene) => disturb(scene, "broker", "silence", [500, 8000]) },
  { name: "broker.slow", run: async (scene) => disturb(scene, "broker", "slow", [1000, 3000]) },
  { name: "postgres.cut", run: async (scene) => disturb(scene, "postgres", "cut", [50, 1500]) },
  { name: "postgres.silence", run: async (scene) => disturb(scene, "postgres", "silence", [500, 4000]) },
  { name: "postgres.slow", run: async (scene) => disturb(scene, "postgres", "slow", [1000, 3000]) },
  { name: "postgres.lost", run: loseDatabase },
  { name: "network.silence", run: async (...args) => isolate("silence", ...args) },
  { name: "network.vanish", run: async (...args) => isolate("vanish", ...args) },
  { name: "broker.kill", ofBroker: true, run: killBroker },
];

/** kill -9, with much that is due; another process of it comes later. */
async function kill(scene: ClusterScene): Promise<void> {
  const { random } = scene;
  const victim = random.pick(scene.running);
  await scene.say(BURST);
  await delay(random.int(20, 300));
  const end = scene.begin("kill", victim.name);
  const at = victim.signal("SIGKILL");
  await scene.noteKill(victim.name, at);
  await victim.ended();
  end();
  await delay(random.int(200, 2500));
  victim.start();
  await victim.untilReady();
}

/** It stands still, and goes on as if nothing had been: longer than the broker waits for it, or not. */
async function freeze(
  scene: ClusterScene,
  _report: ClusterReport,
  { longestStopMs }: FaultLimits,
): Promise<void> {
  const { random } = scene;
  const victim = random.pick(scene.running);
  await scene.say(BURST);
  await delay(random.int(0, 200));
  const end = scene.begin("stop", victim.name);
  victim.signal("SIGSTOP");
  await delay(random.int(1000, longestStopMs));
  victim.signal("SIGCONT");
  await delay(AFTER_MS);
  end();
}

async function terminate(scene: ClusterScene, report: ClusterReport): Promise<void> {
  const victim = scene.random.pick(scene.running);
  await endInPeace(victim, report);
  victim.start();
  await victim.untilReady();
}

/** All daemons are started anew, one after the other, as where a new version comes. */
async function roll(scene: ClusterScene, report: ClusterReport): Promise<void> {
  for (const victim of scene.running) {
    await endInPeace(victim, report);
    victim.start();
    await victim.untilReady();
    await scene.untilEven(10_000);
  }
}

async function join(scene: ClusterScene, report: ClusterReport, limits: FaultLimits): Promise<void> {
  if (scene.running.length >= limits.mostDaemons) return leave(scene, report, limits);
  const joining = scene.daemons.find(({ isRunning }) => !isRunning) ?? (await scene.add());
  joining.start();
  await joining.untilReady();
  report.evenMs.push((await scene.untilEven(20_000)) ?? Infinity);
}

async function leave(scene: ClusterScene, report: ClusterReport, limits: FaultLimits): Promise<void> {
  if (scene.running.length <= LEAST_DAEMONS) return join(scene, report, limits);
  await endInPeace(scene.random.pick(scene.running), report);
}

/** What runs is finished, the rest is handed on. */
async function endInPeace(victim: ChaosDaemon, report: ClusterReport): Promise<void> {
  victim.signal("SIGTERM");
  const { code, signal } = await victim.ended();
  if (code === 0) return;
  report.add(
    "wrong",
    `SIGTERM ended ${victim.name} with ${code ?? signal}:\n${victim.log.slice(-8).join("\n")}`,
  );
}

/** A daemon's way to the broker or to Postgres is cut, silent or slow for a while. */
async function disturb(
  scene: ClusterScene,
  where: "broker" | "postgres",
  how: "cut" | "silence" | "slow",
  [from, to]: readonly [number, number],
): Promise<void> {
  const { random } = scene;
  const victim = random.pick(scene.running);
  await scene.say(BURST / 2);
  const end = scene.begin(`${where}.${how}`, victim.name);
  const way = victim.ways[where];
  if (how === "slow") way.slow(random.int(20, 200));
  else way[how]();
  await delay(random.int(from, to));
  way.open();
  await delay(AFTER_MS);
  end();
}

/** Others that have reached Postgres for a while take over from who does not, ms; this long at most where some have just started. */
const GIVEN_UP_MS = 30_000;

/** A daemon does not reach Postgres, alone, until others have taken over all that it had. */
async function loseDatabase(scene: ClusterScene, report: ClusterReport): Promise<void> {
  const { random } = scene;
  const victim = random.pick(scene.running);
  await scene.say(BURST / 2);
  const end = scene.begin("postgres.lost", victim.name);
  const way = victim.ways.postgres;
  way[random.pick(["cut", "silence"] as const)]();
  if (!(await untilTaken(scene, victim)))
    report.add("wrong", `${victim.name} did not reach Postgres for ${GIVEN_UP_MS} ms, and nobody took over`);
  way.open();
  await delay(AFTER_MS);
  end();
}

/**
 * The broker and Postgres hear nothing of a daemon, or it hears nothing of them either, and no connection ends, until others are home; then
 * all that was said comes through. No namespace of the network: a daemon takes a platform's address on its own machine alone, and what
 * stands in between would be this proxy again.
 */
async function isolate(
  how: "silence" | "vanish",
  scene: ClusterScene,
  _report: ClusterReport,
  { longestStopMs }: FaultLimits,
): Promise<void> {
  const { random } = scene;
  const victim = random.pick(scene.running);
  const ways = [victim.ways.postgres, victim.ways.broker];
  const saying = await sayUntilTaking(scene, victim);
  const end = scene.begin(`network.${how}`, victim.name);
  for (const way of ways) way[how]();
  await saying.done;
  await (random.chance(SHORT) ? delay(random.int(1000, longestStopMs)) : untilTaken(scene, victim));
  for (const way of ways) way.open();
  await delay(AFTER_MS);
  end();
}

/** People speak in new channels. Resolves as a daemon begins to take some of them: it is about to take more. */
async function sayUntilTaking(scene: ClusterScene, { name }: ChaosDaemon): Promise<{ done: Promise<void> }> {
  const takes = async (): Promise<number> => {
    const [row] = await scene.audit.rows<{ last: number }>(
      "select coalesce(max(n), 0) as last from chaos.channel_takes where daemon = $1",
      [name],
    );
    return row?.last ?? 0;
  };
  const last = await takes();
  const done = scene.say(2 * BURST, "new channels");
  const beganAt = performance.now();
  while ((await takes()) === last && performance.now() - beganAt < TAKING_MS) await delay(1);
  return { done };
}

/** Resolves when others are home of all that a daemon had, or not in time. @returns whether they are */
async function untilTaken(scene: ClusterScene, { name }: ChaosDaemon): Promise<boolean> {
  const beganAt = performance.now();
  while (performance.now() - beganAt < GIVEN_UP_MS) {
    if (!(await scene.shares()).has(name)) return true;
    await delay(100);
  }
  return false;
}

/** kill -9 of the broker, which comes back with what it has kept. */
async function killBroker(scene: ClusterScene, report: ClusterReport): Promise<void> {
  if (!isPrivate(scene.broker)) return;
  const end = scene.begin("broker.kill", null);
  const [{ last } = { last: 0 }] = await scene.audit.rows<{ last: number }>(
    "select coalesce(max(n), 0) as last from chaos.partition_takes",
  );
  await scene.broker.kill();
  await delay(scene.random.int(0, 3000));
  await scene.broker.start();
  const backAt = performance.now();
  const isWell = async (): Promise<boolean> => {
    const [row] = await scene.audit.rows<{ count: number }>(
      "select count(distinct id) as count from chaos.partition_takes where n > $1",
      [last],
    );
    return row?.count === PARTITIONS;
  };
  while (!(await isWell()) && performance.now() - backAt < 30_000) await delay(25);
  report.brokerBackMs.push((await isWell()) ? performance.now() - backAt : Infinity);
  await delay(AFTER_MS);
  end();
}

/** It is of the run's own, which may kill it. */
export function isPrivate(broker: TestBroker): broker is PrivateBroker {
  return "kill" in broker;
}
