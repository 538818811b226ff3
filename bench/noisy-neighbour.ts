import { setTimeout as delay } from "node:timers/promises";
import { createMixedTalk, createTalk } from "./support/conversation.ts";
import { type BenchDaemon, startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";
import { coverLog, indexAll, openChannel } from "./support/fill.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const PASTES = 300;
const PASTE_LENGTH = 30_000;
/** Ten megabytes of messages of a usual length. */
const MESSAGES = 5000;
const MESSAGE_LENGTH = 2000;
/** Interval of questions in each noisy channel, ms. */
const ASKED_EACH_MS = 500;
/** Channels with usual conversations. */
const QUIET = 4;
const ROUNDS = 3;

/**
 * The cost of a channel full of pastes for the others: it has two questions a second, and its model makes sixteen
 * searches for each answer. Their replies are measured with it, and alternately while it is quiet.
 */
export const noisyNeighbour: Figure = {
  name: "noisy-neighbour",
  about: "replies beside two channels of 10 MB that are asked twice a second, 16 searches each; 100 ms model",
  async run(bench: Bench): Promise<Row[]> {
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [
        { id: "quiet", model: "reply-100-8", compaction: "enabled = false" },
        { id: "noisy", model: "search-100-16", compaction: "enabled = false" },
      ],
    });
    bench.progress("filling the log");
    const scale = bench.isQuick ? 5 : 1;
    await fillNoisy(weir, "pastes", PASTES / scale, PASTE_LENGTH);
    await fillNoisy(weir, "messages", MESSAGES / scale, MESSAGE_LENGTH);
    await indexAll(weir.database);
    const [calm, beside]: [number[], number[]] = [[], []];
    const phaseMs = bench.isQuick ? 5000 : 15_000;
    await talkFor(weir, 2000, []);
    let answered = 0;
    const { load } = await underWatch(weir.dataDir, async () => {
      for (let round = 1; round <= ROUNDS; round++) {
        await talkFor(weir, phaseMs, calm);
        const end = performance.now() + phaseMs;
        const noise = ["pastes", "messages"].map(async (room, seed) => askOften(weir, room, seed, end));
        await talkFor(weir, phaseMs, beside);
        for (const count of await Promise.all(noise)) answered += count;
        bench.progress(`round ${round} of ${ROUNDS}`);
      }
    });
    const ratio = (share: number): number => quantile(beside, share) / quantile(calm, share);
    return [
      { what: "replies while it is calm", value: calm.length, unit: "" },
      { what: "… p50", value: median(calm), unit: "ms" },
      { what: "… p99", value: quantile(calm, 0.99), unit: "ms" },
      { what: "replies beside the noise", value: beside.length, unit: "" },
      { what: "… p50", value: median(beside), unit: "ms" },
      { what: "… p99", value: quantile(beside, 0.99), unit: "ms" },
      { what: "beside the noise over calm, p50", value: ratio(0.5), unit: "×" },
      { what: "beside the noise over calm, p99", value: ratio(0.99), unit: "×", bar: { atMost: 1.5 } },
      { what: "answers in the noisy channels", value: answered, unit: "", bar: { atLeast: 1 } },
      { what: "… daemon's processor time for all of it", value: load.daemonCpuMs, unit: "ms" },
      { what: "… Postgres' processor time", value: load.postgresCpuMs, unit: "ms" },
      loopDelayRow(load),
    ];
  },
};

async function fillNoisy(weir: BenchDaemon, name: string, count: number, textLength: number): Promise<void> {
  const talk = createMixedTalk(count);
  const id = await openChannel(weir, { agent: "noisy", name, count, textLength, seed: 1, talk });
  await coverLog(weir.database, id, count);
}

/** People in a few channels; each message follows some time after the answer to the one before. */
async function talkFor(weir: BenchDaemon, forMs: number, latencies: number[]): Promise<void> {
  const end = performance.now() + forMs;
  const talkOn = async (seed: number): Promise<void> => {
    const talk = createTalk(seed);
    await delay(seed * 20);
    while (performance.now() < end) {
      const { handedInAt, answeredAt } = await platformOf(weir, "quiet").ask(`quiet-${seed}`, talk(80));
      latencies.push(answeredAt - handedInAt);
      await delay(30);
    }
  };
  await Promise.all(Array.from({ length: QUIET }, async (_, seed) => talkOn(seed)));
}

/** Asks continually, without waiting for answers. @returns the number of answers in the end */
async function askOften(weir: BenchDaemon, room: string, seed: number, end: number): Promise<number> {
  const talk = createMixedTalk(seed + 50);
  const asked: Promise<unknown>[] = [];
  while (performance.now() < end) {
    asked.push(platformOf(weir, "noisy").ask(room, talk(120)));
    await delay(ASKED_EACH_MS);
  }
  await Promise.all(asked);
  return asked.length;
}

function platformOf(weir: BenchDaemon, agent: string) {
  const platform = weir.platforms.get(agent);
  if (platform === undefined) throw new Error(`no agent ${agent}`);
  return platform;
}
