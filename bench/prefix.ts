import { createTalk } from "./support/conversation.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { type Bench, type Figure, type Row, sum } from "./support/figure.ts";
import { loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";

/** First measured turn: before, there is little to share. */
const FROM_TURN = 100;

interface Talk {
  readonly name: string;
  readonly turns: number;
  /** Length of the next message, in characters. */
  readonly said: (index: number) => number;
  /** Its name sets the words of an answer. */
  readonly model: string;
  /** Smallest share of a prompt that its predecessor must have. */
  readonly atLeast: number;
}

const TALKS: readonly Talk[] = [
  {
    name: "short turns",
    turns: 1000,
    said: (index) => 80 + (index % 7) * 60,
    model: "reply-0-120+prefix",
    atLeast: 0.95,
  },
  // A turn has 510 tokens, and a prompt about 12,000.
  { name: "long turns", turns: 400, said: () => 1020, model: "reply-0-170+prefix", atLeast: 0.93 },
];

/** The share of each prompt that a provider's prefix cache has already, and the cost of keeping it short. */
export const prefix: Figure = {
  name: "prefix",
  about:
    "share of prompt bytes that the request before had, 128k window, one conversation of short turns, one of long",
  async run(bench: Bench): Promise<Row[]> {
    const rows: Row[] = [];
    for (const talk of TALKS) rows.push(...(await hold(bench, talk)));
    return rows;
  },
};

async function hold(bench: Bench, { name, turns: all, said, model: replies, atLeast }: Talk): Promise<Row[]> {
  const turns = bench.isQuick ? 250 : all;
  await using model = await startBenchModel();
  await using weir = await startBenchDaemon({
    modelUrl: model.url,
    agents: [{ id: "main", model: replies, summariser: "summary-0" }],
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
      await weir.platform.ask("room", talk(said(index)));
      await weir.daemon.registry.compactionsIdle();
      // The next request is the first without the newly covered messages.
      if (commits > before) afterCommit.add(index + 1);
      if (index % 100 === 99) bench.progress(`${name}: ${index + 1} of ${turns}, ${commits} compactions`);
    }
  });
  const served = await model.served();
  const answered = served.filter((one) => one.model === replies);
  const counted = answered.flatMap((one, index) =>
    index >= FROM_TURN && !afterCommit.has(index) && one.prefix !== null ? [one.prefix] : [],
  );
  const summaries = served.filter((one) => one.model.startsWith("summary"));
  const perMessage = (tokens: number): number => tokens / (2 * turns);
  const share = sum(counted.map(({ shared }) => shared)) / sum(counted.map(({ total }) => total));
  const row = (what: string, value: number, unit = ""): Row => ({ what: `${name}: ${what}`, value, unit });
  return [
    row("turns that count", counted.length),
    row("compactions", commits),
    row("prompt, mean", sum(counted.map(({ total }) => total)) / counted.length, "bytes"),
    { ...row("prompt bytes that the request before had", share), bar: { atLeast } },
    row("summariser's input a message", perMessage(sum(summaries.map(({ bytes }) => bytes / 4))), "tokens"),
    row(
      "summariser's output a message",
      perMessage(sum(summaries.map(({ completionTokens }) => completionTokens))),
      "tokens",
    ),
    { ...row("emergencies", emergencies), bar: { atMost: 0 } },
    loopDelayRow(load),
  ];
}
