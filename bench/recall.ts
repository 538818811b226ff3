import { agentId, type ChannelId } from "../src/core/ids.ts";
import { Recall } from "../src/memory/recall.ts";
import { RecallMemories } from "../src/memory/recall-memories.ts";
import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";
import { indexAll, openChannel } from "./support/fill.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const SHORT = 1000;
const LONG = 100_000;
const TABLE = 1_000_000;

/** Duration of a turn's recall in a short and in a long channel of a large table, in alternation. */
export const recall: Figure = {
  name: "recall",
  about: "recall with 1,000 and 100,000 entries in the channel, 1,000,000 in the table",
  async run(bench: Bench): Promise<Row[]> {
    const scale = bench.isQuick ? 10 : 1;
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8" }],
    });
    const fill = async (name: string, count: number, seed: number): Promise<ChannelId> =>
      openChannel(weir, { agent: "main", name, count, textLength: 80, seed });
    const short = await fill("short", SHORT, 1);
    const long = await fill("long", LONG / scale, 2);
    const others = (TABLE - LONG) / scale / 20;
    for (let index = 1; index <= 20; index++) {
      await fill(`other-${index}`, others, index + 2);
      bench.progress(`filling the log: ${index * 5} %`);
    }
    bench.progress("indexing it");
    await indexAll(weir.database);
    const { search, memories: stored } = weir.daemon.store;
    const memories = new RecallMemories({ memories: stored, search, now: () => new Date() });
    const asker = { agent: agentId("main"), workspace: "", kind: "channel" as const, askers: [] };
    const finder = new Recall({ search, now: Date.now });
    const talk = createTalk(99);
    const times = { short: [] as number[], long: [] as number[] };
    const found = { short: 0, long: 0 };
    const ask = async (into: "short" | "long", text: string): Promise<void> => {
      const [channel, to] = into === "short" ? [short, SHORT] : [long, LONG / scale];
      const startedAt = performance.now();
      const asked = { ...asker, channel, text, limit: 6 };
      const hits = await finder.findWithMemories({ text, to, limit: 20 }, memories, asked);
      times[into].push(performance.now() - startedAt);
      found[into] += Number(hits.entries.length > 0);
    };
    const turnAbout = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) {
        const text = talk(80);
        await ask("short", text);
        await ask("long", text);
      }
    };
    await turnAbout(100);
    for (const list of Object.values(times)) list.length = 0;
    bench.progress("asking");
    const { load } = await underWatch(weir.dataDir, async () => turnAbout(bench.isQuick ? 300 : 2000));
    const [p50, p99] = [{ atMost: 2 }, { atMost: 5 }];
    return [
      { what: "1,000 entries, p50", value: median(times.short), unit: "ms", bar: p50 },
      { what: "1,000 entries, p99", value: quantile(times.short, 0.99), unit: "ms", bar: p99 },
      { what: "100,000 entries, p50", value: median(times.long), unit: "ms", bar: p50 },
      { what: "100,000 entries, p99", value: quantile(times.long, 0.99), unit: "ms", bar: p99 },
      {
        what: "100,000 over 1,000, p50",
        value: median(times.long) / median(times.short),
        unit: "×",
        bar: { atMost: 1.5 },
      },
      loopDelayRow(load),
    ];
  },
};
