import { type BenchDaemon, startBenchDaemon, untilIndexed } from "./support/daemon.ts";
import { BARE_MODEL, createBareTurn } from "./support/bare-turn.ts";
import { createTalk } from "./support/conversation.ts";
import { type Bench, type Figure, machineNow, median, quantile, type Row, sum } from "./support/figure.ts";
import { type Load, loopDelayRow, underWatch } from "./support/load.ts";
import { type ServedRequest, startBenchModel } from "./support/model.ts";
import type { Asked } from "./support/platform.ts";

/** Turns between two measurements of a bare commit and a bare turn. */
const ROUND = 200;

/**
 * The cost of a turn besides its model: one channel, closed loop, a model that answers at once. From the hand-over of a
 * message to the hand-over of its answer, minus the time between the server's first byte in and last byte out. Compared
 * in the same run with two bare durable commits, and with a turn of only these and a request.
 */
export const turn: Figure = {
  name: "turn",
  about: "our own time and processor time a turn, one channel, 0 ms model",
  run: measureTurns,
};

/** Measured in alternation. */
interface Measured {
  /** Two commits, ms. */
  readonly commits: number[];
  /** Bare turns, ms from end to end. */
  readonly bare: number[];
  readonly asked: Asked[];
  readonly loads: Load[];
  readonly bareLoads: Load[];
}

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
  const commit = await createCommit(weir);
  const served: ServedRequest[] = [];
  let bytes = (await model.served()).at(-1)?.bytes ?? 0;
  const look = async (): Promise<void> => {
    served.push(...(await model.served()));
    bytes = served.findLast((one) => one.model !== BARE_MODEL)?.bytes ?? bytes;
  };
  const bareTurn = await createBareTurn(weir.database, model.url, () => bytes);
  const measured: Measured = { commits: [], bare: [], asked: [], loads: [], bareLoads: [] };
  const rounds = async (work: () => Promise<unknown>): Promise<Load> => {
    const { load } = await underWatch(weir.dataDir, async () => {
      for (let index = 0; index < ROUND; index++) await work();
      // Each kind of turn must pay for its own index, which is written half a second later.
      await untilIndexed(weir, 100);
    });
    return load;
  };
  for (let done = 0; done < turns; done += ROUND) {
    for (let index = 0; index < ROUND; index++) measured.commits.push(await timed(commit));
    measured.bareLoads.push(await rounds(async () => measured.bare.push(await timed(bareTurn))));
    measured.loads.push(await rounds(async () => measured.asked.push(await ask())));
    await look();
    bench.progress(`${done + ROUND} of ${turns} turns`);
  }
  return rowsOf(measured, served);
}

function rowsOf({ commits, bare, asked, loads, bareLoads }: Measured, all: readonly ServedRequest[]): Row[] {
  const served = all.filter((one) => one.model === "reply-0-8");
  const servedBare = all.filter((one) => one.model === BARE_MODEL);
  const own = asked.map(
    ({ handedInAt, answeredAt }, index) => answeredAt - handedInAt - modelMs(served[index]),
  );
  const ownBare = bare.map((ms, index) => ms - modelMs(servedBare[index]));
  const toWire = asked.map(({ acceptedAt }, index) => (served[index]?.arrivedAt ?? NaN) - acceptedAt);
  const fromHandIn = asked.map(({ handedInAt }, index) => (served[index]?.arrivedAt ?? NaN) - handedInAt);
  const perTurn = (of: "daemonCpuMs" | "postgresCpuMs", spent: readonly Load[]): number =>
    sum(spent.map((load) => load[of])) / asked.length;
  const ms = (what: string, value: number, atMost?: number): Row => {
    return { what, value, unit: "ms", ...(atMost !== undefined && { bar: { atMost } }) };
  };
  const times = (what: string, value: number, atMost?: number): Row => ({
    ...ms(what, value, atMost),
    unit: "×",
  });
  return [
    ms("two bare durable commits, p50", median(commits)),
    ms("two bare durable commits, p99", quantile(commits, 0.99)),
    ms("own time a turn, p50", median(own)),
    ms("own time a turn, p99", quantile(own, 0.99)),
    times("own time a turn over two commits, p50", median(own) / median(commits)),
    times("own time a turn over two commits, p99 over p50", quantile(own, 0.99) / median(commits)),
    ms("message accepted → request on the wire, p50", median(toWire), 2),
    ms("message handed in → request on the wire, p50", median(fromHandIn)),
    ms("processor time a turn, daemon", perTurn("daemonCpuMs", loads), 1.2),
    ms("processor time a turn, Postgres", perTurn("postgresCpuMs", loads), 2),
    { what: "a request, mean", value: sum(served.map((one) => one.bytes)) / served.length, unit: "bytes" },
    ms("a bare turn's own time, p50", median(ownBare)),
    times("own time a turn over a bare turn's, p50", median(own) / median(ownBare), 2),
    ms("a bare turn's processor time, daemon", perTurn("daemonCpuMs", bareLoads)),
    ms("a bare turn's processor time, Postgres", perTurn("postgresCpuMs", bareLoads)),
    loopDelayRow(...loads),
  ];
}

/** Between the server's first byte in and last byte out. */
function modelMs(request: ServedRequest | undefined): number {
  return request === undefined ? NaN : request.endedAt - request.arrivedAt;
}

/** Milliseconds. */
async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = machineNow();
  await work();
  return machineNow() - startedAt;
}

/** Makes two inserts that are committed in sequence. */
async function createCommit({ database }: BenchDaemon): Promise<() => Promise<void>> {
  await database.script(
    "create table bench_commits (id bigint generated always as identity primary key, text text)",
  );
  const insert = "insert into bench_commits (text) values ($1)";
  return async () => {
    await database.query("bench_insert", insert, ["x".repeat(200)]);
    await database.query("bench_insert", insert, ["x".repeat(200)]);
  };
}
