import { createBareTurn } from "./support/bare-turn.ts";
import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon, untilIndexed } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { type Load, loopDelayRow, underWatch } from "./support/load.ts";
import { type ServedRequest, startBenchModel } from "./support/model.ts";

const STEPS: readonly Step[] = [
  { channels: 1 },
  { channels: 8 },
  { channels: 32, atLeastOfBare: 0.55, postgresMs: 1, daemonMs: 1.5 },
  { channels: 256, atLeastOfBare: 0.6 },
];

interface Step {
  readonly channels: number;
  /** Bars: a share of a bare turn's rate, and processor time per turn, ms. */
  readonly atLeastOfBare?: number;
  readonly postgresMs?: number;
  readonly daemonMs?: number;
}

/**
 * Turns a second in a closed loop: in each channel the next message follows the answer to the one before. Compared with
 * the machine's rate of bare turns, each of two commits and a request.
 */
export const throughput: Figure = {
  name: "throughput",
  about: "turns a second over 1, 8, 32 and 256 channels, 0 ms model",
  async run(bench: Bench): Promise<Row[]> {
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
    });
    let bytes = 0;
    const bareTurn = await createBareTurn(weir.database, model.url, () => bytes);
    const rows: Row[] = [];
    const [loads, bareLoads]: [Load[], Load[]] = [[], []];
    for (const { channels, atLeastOfBare, postgresMs, daemonMs } of STEPS) {
      bench.progress(`${channels} channels`);
      const rooms = Array.from({ length: channels }, (_, index) => `${channels}-${index}`);
      const loop = async (untilMs: number): Promise<number> => {
        const end = performance.now() + untilMs;
        let turns = 0;
        const one = async (room: string, seed: number): Promise<void> => {
          const talk = createTalk(seed);
          while (performance.now() < end) {
            await weir.platform.ask(room, talk(80));
            turns++;
          }
        };
        await Promise.all(rooms.map(one));
        return turns;
      };
      await loop(bench.isQuick ? 500 : 2000);
      const { result, load } = await underWatch(weir.dataDir, async () =>
        loop(bench.isQuick ? 1500 : 10_000),
      );
      loads.push(load);
      await untilIndexed(weir, 100);
      const value = result / (load.wallMs / 1000);
      bytes = meanBytes(await model.served());
      const alone = await underWatch(weir.dataDir, async () =>
        bareTurnsASecond(bareTurn, channels, bench.isQuick ? 500 : 3000),
      );
      bareLoads.push(alone.load);
      const daemon = load.daemonCpuMs / result;
      const postgres = load.postgresCpuMs / result;
      rows.push(
        { what: `turns a second, ${channels} channels`, value, unit: "/s" },
        { what: `… a request, mean`, value: bytes, unit: "bytes" },
        { what: `… bare turns of as many bytes a second`, value: alone.result, unit: "/s" },
        {
          what: `… over bare turns`,
          value: value / alone.result,
          unit: "×",
          ...(atLeastOfBare !== undefined && { bar: { atLeast: atLeastOfBare } }),
        },
        { what: `… daemon's processor time a turn`, value: daemon, unit: "ms", ...atMost(daemonMs) },
        { what: `… Postgres' processor time a turn`, value: postgres, unit: "ms", ...atMost(postgresMs) },
        { what: `… busy share of the daemon's thread`, value: load.threadBusy, unit: "×" },
      );
    }
    const { value, unit } = loopDelayRow(...bareLoads);
    return [...rows, loopDelayRow(...loads), { what: "… of bare turns", value, unit }];
  },
};

function atMost(limit: number | undefined): Pick<Row, "bar"> {
  return limit === undefined ? {} : { bar: { atMost: limit } };
}

function meanBytes(served: readonly ServedRequest[]): number {
  const own = served.filter(({ model }) => model === "reply-0-8");
  return sum(own.map((one) => one.bytes)) / Math.max(1, own.length);
}

/** Two of three seconds count: the first one opens the connections. */
async function bareTurnsASecond(
  bareTurn: () => Promise<void>,
  channels: number,
  forMs: number,
): Promise<number> {
  const startedAt = performance.now();
  const [from, end] = [startedAt + forMs / 3, startedAt + forMs];
  let turns = 0;
  const one = async (): Promise<void> => {
    while (performance.now() < end) {
      await bareTurn();
      const now = performance.now();
      turns += Number(now >= from && now < end);
    }
  };
  await Promise.all(Array.from({ length: channels }, one));
  return turns / ((end - from) / 1000);
}
