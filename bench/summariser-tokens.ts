import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

const SIZES = [100, 1000, 10_000, 100_000] as const;
/** Messages that arrive together, before the due summaries are written. */
const BATCH = 50;

/** The summarisers' input and output per message of a channel, as its log grows. */
export const summariserTokens: Figure = {
  name: "summariser-tokens",
  about: "tokens of summarisers a message, as the log grows",
  async run(bench: Bench): Promise<Row[]> {
    const sizes = bench.isQuick ? SIZES.slice(0, 3) : SIZES;
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
    });
    const { platform, daemon } = weir;
    const talk = createTalk(11);
    const rows: Row[] = [];
    const spent: number[] = [];
    const { load } = await underWatch(weir.dataDir, async () => {
      let said = 0;
      for (const size of sizes) {
        const from = said;
        for (; said < size; said += BATCH) {
          const messages = Array.from({ length: BATCH }, () => platform.message("room", talk(120), false));
          await Promise.all(messages.map(async (message) => platform.inbox.receive(message)));
          if (said % 200 === 0) await daemon.registry.compactionsIdle();
        }
        await daemon.registry.compactionsIdle();
        const served = (await model.served()).filter((one) => one.model.startsWith("summary"));
        const tokens = sum(served.map(({ bytes, completionTokens }) => bytes / 4 + completionTokens));
        const value = tokens / (size - from);
        spent.push(value);
        const range = `${from.toLocaleString("en-US")} to ${size.toLocaleString("en-US")}`;
        rows.push({ what: `tokens a message, ${range}`, value, unit: "tokens" });
        bench.progress(`${size} messages`);
      }
    });
    // The first hundred messages are never summarised, the first thousand only in part.
    const value = (spent.at(-1) ?? NaN) / (spent[2] ?? NaN);
    return [
      ...rows,
      { what: "the last over 1,000 to 10,000", value, unit: "×", bar: { atMost: 1.3 } },
      loopDelayRow(load),
    ];
  },
};
