import type { BenchDaemon } from "./support/daemon.ts";
import { startBenchDaemon } from "./support/daemon.ts";
import { createTalk } from "./support/conversation.ts";
import { type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";
import { type Load, loopDelayRow, underWatch } from "./support/load.ts";
import { startBenchModel } from "./support/model.ts";
import type { Asked } from "./support/platform.ts";

/** Turns between two looks at what a bare commit takes. */
const ROUND = 50;

/**
 * What a turn costs beside its model: one channel, closed loop, a model that answers at once. From the hand-over of a
 * message to the hand-over of its answer, less the time between the server's first byte in and last byte out. Beside it,
 * in the same run, two bare durable commits.
 */
export const turn: Figure = {
  name: "turn",
  about: "our own time and processor time a turn, one channel, 0 ms model",
  run: measureTurns,
};

async function measureTurns(bench: Bench): Promise<Row[]> {
  const turns = bench.isQuick ? 200 : 2000;
  await using model = await startBenchModel();
  await using weir = await startBenchDaemon({
    modelUrl: model.url,
    agents: [{ id: "main", model: "reply-0-8", summariser: "summary-0" }],
  });
  const talk = createTalk(1);
  const ask = async (): Promise<Asked> => weir.platform.ask("room", talk(80));
  for (let index = 0; index < 200; index++) await ask();
  await model.served();
  const commit = await createCommit(weir);
  const commits: number[] = [];
  const asked: Asked[] = [];
  const loads: Load[] = [];
  for (let done = 0; done < turns; done += ROUND) {
    for (let index = 0; index < ROUND; index++) commits.push(await commit());
    const { load } = await underWatch(weir.dataDir, async () => {
      for (let index = 0; index < ROUND; index++) asked.push(await ask());
    });
    loads.push(load);
    bench.progress(`${done + ROUND} of ${turns} turns`);
  }
  const served = (await model.served()).filter((one) => one.model.startsWith("reply"));
  const own = asked.map(({ handedInAt, answeredAt }, index) => {
    const { arrivedAt = 0, endedAt = 0 } = served[index] ?? {};
    return answeredAt - handedInAt - (endedAt - arrivedAt);
  });
  const toWire = asked.map(({ acceptedAt }, index) => (served[index]?.arrivedAt ?? NaN) - acceptedAt);
  const fromHandIn = asked.map(({ handedInAt }, index) => (served[index]?.arrivedAt ?? NaN) - handedInAt);
  const perTurn = (of: "daemonCpuMs" | "postgresCpuMs"): number =>
    loads.reduce((total, load) => total + load[of], 0) / asked.length;
  return [
    { what: "two bare durable commits, p50", value: median(commits), unit: "ms" },
    { what: "two bare durable commits, p99", value: quantile(commits, 0.99), unit: "ms" },
    { what: "own time a turn, p50", value: median(own), unit: "ms" },
    { what: "own time a turn, p99", value: quantile(own, 0.99), unit: "ms" },
    {
      what: "own time a turn over two commits, p50",
      value: median(own) / median(commits),
      unit: "×",
      bar: { atMost: 6 },
    },
    {
      what: "own time a turn over two commits, p99 over p50",
      value: quantile(own, 0.99) / median(commits),
      unit: "×",
      bar: { atMost: 30 },
    },
    {
      what: "message accepted → request on the wire, p50",
      value: median(toWire),
      unit: "ms",
      bar: { atMost: 2 },
    },
    { what: "message handed in → request on the wire, p50", value: median(fromHandIn), unit: "ms" },
    { what: "processor time a turn, daemon", value: perTurn("daemonCpuMs"), unit: "ms", bar: { atMost: 2 } },
    {
      what: "processor time a turn, Postgres",
      value: perTurn("postgresCpuMs"),
      unit: "ms",
      bar: { atMost: 2.5 },
    },
    loopDelayRow(...loads),
  ];
}

/** @returns what two inserts take that are committed one after the other, ms */
async function createCommit({ database }: BenchDaemon): Promise<() => Promise<number>> {
  await database.script(
    "create table bench_commits (id bigint generated always as identity primary key, text text)",
  );
  const insert = { name: "bench_insert", text: "insert into bench_commits (text) values ($1)" };
  return async () => {
    const startedAt = performance.now();
    await database.query(insert, ["x".repeat(200)]);
    await database.query(insert, ["x".repeat(200)]);
    return performance.now() - startedAt;
  };
}
