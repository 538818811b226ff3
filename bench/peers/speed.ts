import { BARE_MODEL } from "../support/bare-turn.ts";
import { type Bench, median, quantile, type Row, sum } from "../support/figure.ts";
import type { ServedRequest } from "../support/model.ts";
import type { Turn } from "./peer.ts";
import type { Peer, Scene } from "./scene.ts";

/** Turns of one peer before the next one's. */
const ROUND = 50;
const CHANNELS = 32;

/** From the hand-over of a message to that of its answer, less the model's time; the peers by turns. */
export async function ownTimeRows(bench: Bench, { model, peers }: Scene): Promise<Row[]> {
  const turns = bench.isQuick ? 100 : 300;
  const own = new Map<string, number[]>(peers.map(({ name }) => [name, []]));
  const bytes = new Map<string, number>();
  const cpu = new Map<string, number>();
  for (let done = -ROUND; done < turns; done += ROUND) {
    for (const peer of peers) {
      if (peer.name === "bare") await peer.call({ call: "setBytes", bytes: bytes.get("weir") ?? 0 });
      await model.served();
      const { turns: asked, cpuMs } = await peer.talk({ arm: "own", rooms: ["room"], count: ROUND });
      const served = (await model.served()).filter((one) => one.model === ownModel(peer));
      if (served.length !== asked.length) throw new Error(`${peer.name}: not one request a turn`);
      bytes.set(peer.name, meanBytes(served));
      // The first round makes connections, and compiles.
      if (done < 0) continue;
      cpu.set(peer.name, (cpu.get(peer.name) ?? 0) + cpuMs / turns);
      own.get(peer.name)?.push(...asked.map((turn, index) => ownMs(turn, served[index])));
    }
    bench.progress(`own time: ${Math.max(0, done + ROUND)} of ${turns} turns`);
  }
  return peers.flatMap(({ name }) => {
    const times = own.get(name) ?? [];
    const weirs = own.get("weir") ?? [];
    return [
      { what: `${name}: own time a turn, p50`, value: median(times), unit: "ms" },
      { what: `${name}: own time a turn, p99`, value: quantile(times, 0.99), unit: "ms" },
      ...overWeir(name, "own time a turn, p50", median(times), median(weirs)),
      { what: `${name}: processor time a turn, without Postgres`, value: cpu.get(name) ?? NaN, unit: "ms" },
      { what: `${name}: the last requests, mean`, value: bytes.get(name) ?? NaN, unit: "bytes" },
    ];
  });
}

/** A closed loop in 32 channels, one peer after the other. */
export async function rateRows(bench: Bench, { model, peers }: Scene): Promise<Row[]> {
  const rooms = Array.from({ length: CHANNELS }, (_, index) => `rate${index}`);
  const forMs = bench.isQuick ? 1500 : 10_000;
  const rates = new Map<string, number>();
  for (const peer of peers) {
    bench.progress(`${peer.name}: ${CHANNELS} channels`);
    await peer.talk({ arm: "own", rooms, forMs: forMs / 4 });
    const { turns } = await peer.talk({ arm: "own", rooms, forMs });
    const from = Math.min(...turns.map(({ handedInAt }) => handedInAt));
    const to = Math.max(...turns.map(({ answeredAt }) => answeredAt));
    rates.set(peer.name, turns.length / ((to - from) / 1000));
  }
  await model.served();
  return peers.flatMap(({ name }) => {
    const rate = rates.get(name) ?? NaN;
    return [
      { what: `${name}: turns a second, ${CHANNELS} channels`, value: rate, unit: "/s" },
      ...overWeir(name, `turns a second, ${CHANNELS} channels`, rate, rates.get("weir") ?? NaN),
    ];
  });
}

/** @returns nothing for Weir itself */
export function overWeir(name: string, what: string, value: number, weirs: number): Row[] {
  return name === "weir" ? [] : [{ what: `${name} over Weir: ${what}`, value: value / weirs, unit: "×" }];
}

function ownModel({ name }: Peer): string {
  return name === "bare" ? BARE_MODEL : `reply-0-8+${name}`;
}

function ownMs({ handedInAt, answeredAt }: Turn, served: ServedRequest | undefined): number {
  return served === undefined ? NaN : answeredAt - handedInAt - (served.endedAt - served.arrivedAt);
}

function meanBytes(served: readonly ServedRequest[]): number {
  return sum(served.map((one) => one.bytes)) / Math.max(1, served.length);
}
