import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, median, type Row } from "./support/figure.ts";
import { coverLog, indexAll, openChannel } from "./support/fill.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const SIZES = [100, 1000, 10_000, 100_000] as const;
/** Entries without a summary when the measurement begins. */
const RAW = 50;

/** A turn's own time in channels with logs of different lengths, in alternation. */
export const longLog: Figure = {
  name: "long-log",
  about: "a turn's own time as its channel's log grows",
  async run(bench: Bench): Promise<Row[]> {
    const sizes = bench.isQuick ? SIZES.slice(0, 3) : SIZES;
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
    });
    for (const size of sizes) {
      bench.progress(`filling a log of ${size}`);
      const filling = { agent: "main", name: `log-${size}`, count: size, textLength: 80, seed: size };
      await coverLog(weir.database, await openChannel(weir, filling), size - RAW);
    }
    await indexAll(weir.database);
    const talk = createTalk(9);
    const times = new Map(sizes.map((size) => [size, [] as number[]]));
    const turnAbout = async (turns: number): Promise<void> => {
      for (let index = 0; index < turns; index++) {
        const text = talk(80);
        for (const size of sizes) {
          const { handedInAt, answeredAt } = await weir.platform.ask(`log-${size}`, text);
          const served = (await model.served()).find((one) => one.model.startsWith("reply"));
          const modelMs = served === undefined ? NaN : served.endedAt - served.arrivedAt;
          times.get(size)?.push(answeredAt - handedInAt - modelMs);
        }
      }
    };
    await turnAbout(20);
    for (const list of times.values()) list.length = 0;
    bench.progress("turn about");
    const { load } = await underWatch(weir.dataDir, async () => turnAbout(bench.isQuick ? 100 : 400));
    const medians = sizes.map((size) => median(times.get(size) ?? []));
    const rows = sizes.map((size, index) => ({
      what: `own time a turn, ${size.toLocaleString("en-US")} entries, p50`,
      value: medians[index] ?? NaN,
      unit: "ms",
    }));
    const value = (medians.at(-1) ?? NaN) / (medians[0] ?? NaN);
    return [
      ...rows,
      { what: "the longest over the shortest", value, unit: "×", bar: { atMost: 1.3 } },
      loopDelayRow(load),
    ];
  },
};
