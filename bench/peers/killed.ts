import { setTimeout as delay } from "node:timers/promises";
import { type Bench, machineNow, type Row } from "../support/figure.ts";
import type { BenchModel } from "../support/model.ts";
import type { Said } from "./peer.ts";
import type { Peer, Scene } from "./scene.ts";

/** Ten times the conversation: a question with its answer, and one in whose answer the process is killed. */
const ROOMS = Array.from({ length: 10 }, (_, index) => `killed${index}`);
const ARM = "killed";
/** The model takes 5 s: a process that answers by itself has done so by then. */
const WAIT_MS = 20_000;

/** What is left of conversations after `kill -9` in the middle of an answer, and a restart. */
export async function killedRows(bench: Bench, { model, peers }: Scene): Promise<Row[]> {
  bench.progress("kill -9");
  const rows: Row[] = [];
  for (const peer of peers.filter(({ name }) => name !== "bare"))
    rows.push(...(await killedRowsOf(peer, model)));
  return rows;
}

async function killedRowsOf(peer: Peer, model: BenchModel): Promise<Row[]> {
  await peer.talk({ arm: ARM, rooms: ROOMS, count: 1 });
  await model.served();
  const second = peer.talk({ arm: ARM, rooms: ROOMS, count: 1, characters: 81 }).catch(() => null);
  await untilAsked(peer, model);
  // Half of the answer's time: what is written behind the request has landed.
  await delay(2500);
  await peer.kill();
  await second;
  const restartedAt = machineNow();
  await peer.start();
  const restartMs = machineNow() - restartedAt;
  const left = await histories(peer);
  await delay(WAIT_MS);
  const later = await histories(peer);
  await Promise.all(ROOMS.map(async (room) => peer.call({ call: "resume", arm: ARM, room })));
  const resumed = await histories(peer);
  const row = (what: string, value: number, unit = ""): Row => ({
    what: `${peer.name}, kill -9: ${what}`,
    value,
    unit,
  });
  return [
    row("restart until ready", restartMs, "ms"),
    row("conversations that have their earlier turn, of ten", left.filter(hasFirst).length),
    row("… the message that was being answered", left.filter(hasSecond).length),
    row("… its answer, 20 s after the restart", later.filter(hasAnswer).length),
    row("… its answer, once the application continues them", resumed.filter(hasAnswer).length),
  ];
}

async function untilAsked({ name }: Peer, model: BenchModel): Promise<void> {
  const deadline = machineNow() + 30_000;
  for (let asked = 0; asked < ROOMS.length; await delay(50)) {
    if (machineNow() > deadline) throw new Error(`${name}: only ${asked} requests arrived`);
    asked += (await model.served()).filter((one) => one.model === `reply-5000-8+${name}`).length;
  }
}

async function histories(peer: Peer): Promise<(readonly Said[])[]> {
  return Promise.all(ROOMS.map(async (room) => peer.call<Said[]>({ call: "history", arm: ARM, room })));
}

function hasFirst(said: readonly Said[]): boolean {
  return said[0]?.role === "user" && said[1]?.role === "assistant";
}

function hasSecond(said: readonly Said[]): boolean {
  return said.filter(({ role }) => role === "user").length === 2;
}

function hasAnswer(said: readonly Said[]): boolean {
  return hasSecond(said) && said.at(-1)?.role === "assistant";
}
