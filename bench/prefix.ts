import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

/** From here on it counts: before, there is little to share. */
const FROM_TURN = 100;
/** Words of an answer: a paragraph. */
const MODEL = "reply-0-120+prefix";

/** How much of each prompt a provider's prefix cache has already, and what keeping it short costs. */
export const prefix: Figure = {
  name: "prefix",
  about: "share of prompt bytes that the request before had, 128k window, one conversation",
  async run(bench: Bench): Promise<Row[]> {
    const turns = bench.isQuick ? 250 : 1000;
    await using model = await startBenchModel();
    await using weir = await startBenchDaemon({
      modelUrl: model.url,
      agents: [{ id: "main", model: MODEL, summariser: "summary-0" }],
    });
    let emergencies = 0;
    let commits = 0;
    weir.daemon.events.on((event) => {
      if (event.type === "emergency") emergencies++;
      if (event.type === "compaction" && event.phase === "committed") commits++;
    });
    const talk = createTalk(5);
    const afterCommit = new Set<number>();
    const { load } = await underWatch(weir.dataDir, async () => {
      for (let index = 0; index < turns; index++) {
        const before = commits;
        await weir.platform.ask("room", talk(80 + (index % 7) * 60));
        await weir.daemon.registry.compactionsIdle();
        // The next request is the first without what was covered now.
        if (commits > before) afterCommit.add(index + 1);
        if (index % 100 === 99) bench.progress(`${index + 1} of ${turns} turns, ${commits} compactions`);
      }
    });
    const served = await model.served();
    const replies = served.filter((one) => one.model === MODEL);
    const counted = replies.flatMap((one, index) =>
      index >= FROM_TURN && !afterCommit.has(index) && one.prefix !== null ? [one.prefix] : [],
    );
    const summaries = served.filter((one) => one.model.startsWith("summary"));
    const perMessage = (tokens: number): number => tokens / (2 * turns);
    const share = sum(counted.map(({ shared }) => shared)) / sum(counted.map(({ total }) => total));
    return [
      { what: "turns that count", value: counted.length, unit: "" },
      { what: "compactions", value: commits, unit: "" },
      { what: "prompt, mean", value: sum(counted.map(({ total }) => total)) / counted.length, unit: "bytes" },
      { what: "prompt bytes that the request before had", value: share, unit: "", bar: { atLeast: 0.95 } },
      {
        what: "summariser's input a message",
        value: perMessage(sum(summaries.map(({ bytes }) => bytes / 4))),
        unit: "tokens",
      },
      {
        what: "summariser's output a message",
        value: perMessage(sum(summaries.map(({ completionTokens }) => completionTokens))),
        unit: "tokens",
      },
      { what: "emergencies", value: emergencies, unit: "", bar: { atMost: 0 } },
      loopDelayRow(load),
    ];
  },
};
