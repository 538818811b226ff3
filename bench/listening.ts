import { createTalk } from "./support/conversation.ts";
import { type BenchDaemon, startBenchDaemon, untilIndexed } from "./support/daemon.ts";
import type { Bench, Figure, Row } from "./support/figure.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const CHANNELS = 32;
/** Messages of one channel that arrive together: a page of a backfill, a burst. */
const BATCH = 50;

/** Messages a second that are appended without an answer, until recall can find the last of them. */
export const listening: Figure = {
  name: "listening",
  about: `messages a second without a reply, indexing included, ${CHANNELS} channels`,
  async run(bench: Bench): Promise<Row[]> {
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
    });
    const count = bench.isQuick ? 150 : 600;
    await appendAll(weir, "warm-one", 50, 1);
    await appendAll(weir, "warm-batch", 50, BATCH);
    bench.progress("one by one");
    const single = await underWatch(weir.dataDir, async () => appendAll(weir, "one", count, 1));
    bench.progress("batched");
    const batched = await underWatch(weir.dataDir, async () => appendAll(weir, "batch", count, BATCH));
    const rate = ({ wallMs }: { wallMs: number }): number => (count * CHANNELS * 1000) / wallMs;
    const perMessage = (ms: number): number => (ms * 1000) / (count * CHANNELS);
    return [
      { what: "messages a second, one by one", value: rate(single.load), unit: "/s", bar: { atLeast: 3000 } },
      { what: "… daemon's processor time a message", value: perMessage(single.load.daemonCpuMs), unit: "µs" },
      {
        what: "… Postgres' processor time a message",
        value: perMessage(single.load.postgresCpuMs),
        unit: "µs",
      },
      { what: "messages a second, batched", value: rate(batched.load), unit: "/s", bar: { atLeast: 7000 } },
      {
        what: "… daemon's processor time a message",
        value: perMessage(batched.load.daemonCpuMs),
        unit: "µs",
      },
      {
        what: "… Postgres' processor time a message",
        value: perMessage(batched.load.postgresCpuMs),
        unit: "µs",
      },
      loopDelayRow(single.load, batched.load),
    ];
  },
};

/** Passes the next message (or batch) of each channel once the one before is durable. */
async function appendAll(weir: BenchDaemon, name: string, count: number, batch: number): Promise<void> {
  const { platform } = weir;
  const talkInto = async (room: string, seed: number): Promise<void> => {
    const talk = createTalk(seed);
    for (let from = 0; from < count; from += batch) {
      const messages = Array.from({ length: Math.min(batch, count - from) }, () =>
        platform.message(room, talk(80), false),
      );
      await Promise.all(messages.map(async (message) => platform.inbox.receive(message)));
    }
  };
  await Promise.all(Array.from({ length: CHANNELS }, async (_, seed) => talkInto(`${name}-${seed}`, seed)));
  await untilIndexed(weir, 5);
}
