import { setTimeout as delay } from "node:timers/promises";
import { createTalk } from "./conversation.ts";
import { type BenchAgent, type BenchDaemon, startBenchDaemon } from "./daemon.ts";
import { type Bench, median, quantile, type Row } from "./figure.ts";
import { openChannel } from "./fill.ts";
import { loopDelayRow, underWatch } from "./load.ts";
import { startBenchModel } from "./model.ts";

/** Concurrent channels in each arm. */
const CHANNELS = 8;
const MODEL = "reply-200-8";

export interface Comparison {
  /** The arm with compaction; the other one has it switched off, and a window that never fills. */
  readonly compacting: Pick<BenchAgent, "summariser" | "window">;
  /** Messages of each channel before the round. */
  readonly filledTo: number;
  /** Duration of a round, ms. */
  readonly roundMs: number;
  /** `compaction`: only turns that began during one. */
  readonly countFrom: "start" | "compaction";
  readonly bars: { readonly p50: number; readonly p99: number };
}

interface Tally {
  readonly latencies: number[];
  /** Notices of failure instead of an answer. */
  failed: number;
}

/**
 * Two agents in one daemon, with the same conversations in the same number of channels, all at the same time, so that a
 * disturbance affects both arms.
 */
export async function measureArms(bench: Bench, comparison: Comparison): Promise<Row[]> {
  await using model = await startBenchModel();
  await using weir = await startBenchDaemon({
    modelUrl: model.url,
    // All of them at once: none waits for an earlier round's slot.
    daemon: `max_compactions = ${CHANNELS * 8}`,
    agents: [
      { id: "compacting", model: MODEL, ...comparison.compacting },
      { id: "plain", model: MODEL, compaction: "enabled = false" },
    ],
  });
  const arms = {
    compacting: { latencies: [], failed: 0 } as Tally,
    plain: { latencies: [], failed: 0 } as Tally,
  };
  const underWay = new Set<string>();
  let emergencies = 0;
  let committed = 0;
  weir.daemon.events.on((event) => {
    if (event.type === "emergency") emergencies++;
    if (event.type !== "compaction") return;
    if (event.phase === "started") underWay.add(event.channel);
    else underWay.delete(event.channel);
    if (event.phase === "committed") committed++;
  });
  const isCounted = (room: string): boolean =>
    comparison.countFrom === "start" || underWay.has(`compacting:${room}`);
  const rounds = bench.isQuick ? 1 : 3;
  await talkInRooms(weir, rooms("warm", comparison), 2000, arms, () => false);
  const { load } = await underWatch(weir.dataDir, async () => {
    for (let round = 1; round <= rounds; round++) {
      await talkInRooms(weir, rooms(`round${round}`, comparison), comparison.roundMs, arms, isCounted);
      bench.progress(`round ${round} of ${rounds}, ${arms.compacting.latencies.length} turns an arm`);
    }
  });
  const { compacting, plain } = arms;
  const ratio = (share: number): number =>
    quantile(compacting.latencies, share) / quantile(plain.latencies, share);
  const fewest = Math.min(compacting.latencies.length, plain.latencies.length);
  return [
    { what: "turns an arm", value: fewest, unit: "", bar: { atLeast: bench.isQuick ? 100 : 1000 } },
    { what: "without compaction, p50", value: median(plain.latencies), unit: "ms" },
    { what: "without compaction, p99", value: quantile(plain.latencies, 0.99), unit: "ms" },
    { what: "with, p50", value: median(compacting.latencies), unit: "ms" },
    { what: "with, p99", value: quantile(compacting.latencies, 0.99), unit: "ms" },
    { what: "with over without, p50", value: ratio(0.5), unit: "×", bar: { atMost: comparison.bars.p50 } },
    { what: "with over without, p99", value: ratio(0.99), unit: "×", bar: { atMost: comparison.bars.p99 } },
    {
      what: "turns without an answer",
      value: compacting.failed + plain.failed,
      unit: "",
      bar: { atMost: 0 },
    },
    {
      what: "emergencies",
      value: emergencies,
      unit: "",
      ...(comparison.countFrom === "start" && { bar: { atLeast: CHANNELS } }),
    },
    {
      what: "compactions committed meanwhile",
      value: committed,
      unit: "",
      ...(comparison.countFrom === "compaction" && { bar: { atLeast: CHANNELS * rounds } }),
    },
    loopDelayRow(load),
  ];
}

interface Rooms {
  readonly names: readonly string[];
  readonly filledTo: number;
}

function rooms(name: string, { filledTo }: Comparison): Rooms {
  return { names: Array.from({ length: CHANNELS }, (_, index) => `${name}-${index}`), filledTo };
}

/** One round: the channels are filled, then everybody talks until the time is over. */
async function talkInRooms(
  weir: BenchDaemon,
  { names, filledTo }: Rooms,
  forMs: number,
  arms: Readonly<Record<"compacting" | "plain", Tally>>,
  isCounted: (room: string) => boolean,
): Promise<void> {
  for (const arm of ["plain", "compacting"] as const) {
    for (const [seed, name] of names.entries()) {
      await openChannel(weir, { agent: arm, name, count: filledTo, textLength: 120, seed });
    }
  }
  const end = performance.now() + forMs;
  const talkOn = async (arm: "compacting" | "plain", name: string, seed: number): Promise<void> => {
    const platform = weir.platforms.get(arm);
    if (platform === undefined) return;
    const talk = createTalk(seed + 100);
    // Not all at the same moment.
    await delay(seed * 25);
    while (performance.now() < end) {
      const counts = isCounted(name);
      const { handedInAt, answeredAt, isAnswer } = await platform.ask(name, talk(80));
      if (!isAnswer) arms[arm].failed++;
      if (counts) arms[arm].latencies.push(answeredAt - handedInAt);
    }
  };
  await Promise.all(
    names.flatMap((name, seed) => [talkOn("compacting", name, seed), talkOn("plain", name, seed)]),
  );
}
