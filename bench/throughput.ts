import { createBareTurn } from "./support/bare-turn.ts";
import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon, untilIndexed } from "./support/daemon.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";
import { type Load, loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const STEPS = [
  { channels: 1, atLeast: 300 },
  { channels: 8, atLeast: 380 },
  { channels: 32, atLeast: 500 },
  { channels: 256, atLeast: 550 },
] as const;

/**
 * Turns a second, closed loop: in each channel the next message follows the answer to the one before. Beside it what the
 * machine does of turns that are nothing but two commits and a request.
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
    const bareTurn = await createBareTurn(weir.database, model.url);
    const rows: Row[] = [];
    const [loads, bareLoads]: [Load[], Load[]] = [[], []];
    for (const { channels, atLeast } of STEPS) {
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
      rows.push({ what: `turns a second, ${channels} channels`, value, unit: "/s", bar: { atLeast } });
      const alone = await underWatch(weir.dataDir, async () =>
        bareTurnsASecond(bareTurn, channels, bench.isQuick ? 500 : 3000),
      );
      bareLoads.push(alone.load);
      rows.push(
        { what: `… bare turns a second`, value: alone.result, unit: "/s" },
        { what: `… daemon's processor time a turn`, value: load.daemonCpuMs / result, unit: "ms" },
        { what: `… Postgres' processor time a turn`, value: load.postgresCpuMs / result, unit: "ms" },
      );
    }
    const { value, unit } = loopDelayRow(...bareLoads);
    return [...rows, loopDelayRow(...loads), { what: "… of bare turns", value, unit }];
  },
};

/** Two seconds in three count: the first one fills the connections. */
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
