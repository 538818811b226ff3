import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { runCluster } from "../test/chaos/cluster/run-cluster.ts";
import { ClusterScene, type SceneOptions } from "../test/chaos/cluster/scene.ts";
import { findBroker, NO_BROKER, type TestBroker } from "../test/support/cluster/broker.ts";
import { CONNECTION_VARIABLE, startTestServer } from "../test/support/test-server.ts";
import { UsageError } from "../test/support/usage.ts";
import { type Bar, type Bench, type Figure, median, quantile, type Row } from "./support/figure.ts";

/** Like a daemon's own, with fsync; several daemons need more connections. */
const SETTINGS = { max_connections: "300" };
const CHANNELS = 32;
const SEED = 1;

/** The cost of a cluster of daemons: all are processes, and so are the model and the chat service. */
export const cluster: Figure = {
  name: "cluster",
  about:
    "own time of a turn alone, at the home and across daemons; takeover after kill -9; turns a second with 1 to 3, and what Postgres has of them",
  async run(bench: Bench): Promise<Row[]> {
    await using broker = await findBroker();
    if (broker === null) throw new UsageError(`cluster: ${NO_BROKER}`);
    await using server = await startTestServer(SETTINGS);
    process.env[CONNECTION_VARIABLE] = JSON.stringify(server.connection);
    return [
      ...(await ownTimes(bench, broker)),
      ...(await takeovers(bench, broker)),
      ...(await throughputs(bench, broker)),
    ];
  },
};

/** Alternately, in the same hour on the same machine: alone, at the home, across. */
async function ownTimes(bench: Bench, broker: TestBroker): Promise<Row[]> {
  const turns = bench.isQuick ? 40 : 600;
  await using alone = await ClusterScene.open({ ...sceneOf(broker, 1), isAlone: true });
  await using both = await ClusterScene.open(sceneOf(broker, 2));
  const homeOf = await both.homes();
  const names = both.daemons.map(({ name }) => name);
  const [single = ""] = alone.daemons.map(({ name }) => name);
  const times = { alone: [] as number[], home: [] as number[], across: [] as number[] };
  for (let index = -CHANNELS; index < turns; index++) {
    const channel = `c${(index + CHANNELS) % CHANNELS}`;
    const home = homeOf(channel);
    const other = names.find((name) => name !== home) ?? home;
    const asked = {
      alone: await alone.ask(channel, single),
      home: await both.ask(channel, home),
      across: await both.ask(channel, other),
    };
    // The first round loads the channels.
    if (index < 0) continue;
    for (const arm of ["alone", "home", "across"] as const)
      times[arm].push(asked[arm].ms - asked[arm].modelMs);
  }
  bench.progress(`${turns} turns of each kind`);
  const [first, home, across] = [median(times.alone), median(times.home), median(times.across)];
  return [
    ...spreadOf("own time, alone", times.alone, [0.5, 0.99]),
    ...spreadOf("own time, at the home", times.home, [0.5, 0.99]),
    ...spreadOf("own time, across", times.across, [0.5, 0.99]),
    { what: "at the home over alone, p50", value: home - first, unit: "ms", bar: { atMost: 0.1 } },
    { what: "across over the home, p50", value: across - home, unit: "ms", bar: { atMost: 2 } },
  ];
}

/** A row for each quantile of the sorted times, ms; 1: the longest. */
function spreadOf(
  what: string,
  times: readonly number[],
  shares: readonly number[],
  bars: ReadonlyMap<number, Bar> = new Map(),
): Row[] {
  return shares.map((share) => {
    const bar = bars.get(share);
    return {
      what: `${what}, ${share === 1 ? "max" : `p${share * 100}`}`,
      value: quantile(times, share),
      unit: "ms",
      ...(bar !== undefined && { bar }),
    };
  });
}

/** From kill -9 to the first model call for each channel with due work. */
async function takeovers(bench: Bench, broker: TestBroker): Promise<Row[]> {
  const { delays: _none, ...options } = { ...sceneOf(broker, 3), channels: 200 };
  const seconds = bench.isQuick ? 5 : 90;
  const report = await runCluster({
    ...options,
    seconds,
    only: "kill",
    longestStopMs: 1000,
    onLine: (line) => bench.progress(line),
  });
  for (const { what } of report.broken) throw new Error(what);
  const shares = [0.5, 0.99, 1];
  const bars = new Map([[0.99, { atMost: 1000 }]]);
  return [
    ...spreadOf("kill to partition taken", report.partitionMs, shares),
    ...spreadOf("kill to first call of a due channel", report.takeoverMs, shares, bars),
    { what: "due channels that others took up", value: report.takeoverMs.length, unit: "" },
  ];
}

/** Closed loop: each channel asks again once it is answered, and any daemon receives it. Then an idle period of the same length. */
async function throughputs(bench: Bench, broker: TestBroker): Promise<Row[]> {
  const seconds = bench.isQuick ? 2 : 15;
  const rows: Row[] = [];
  for (const daemons of [0, 1, 2, 3]) {
    const isAlone = daemons === 0;
    await using scene = await ClusterScene.open({ ...sceneOf(broker, Math.max(1, daemons)), isAlone });
    const names = scene.daemons.map(({ name }) => name);
    let answered = 0;
    const loop = async (channel: string, end: number): Promise<void> => {
      while (performance.now() < end) {
        await scene.ask(channel, scene.random.pick(names));
        answered++;
      }
    };
    const all = async (ms: number): Promise<void> => {
      const end = performance.now() + ms;
      await Promise.all(Array.from({ length: CHANNELS }, async (_, index) => loop(`c${index}`, end)));
    };
    await all(2000);
    answered = 0;
    const before = await workOf(scene);
    const beganAt = performance.now();
    await all(seconds * 1000);
    const value = answered / ((performance.now() - beganAt) / 1000);
    const busy = await workOf(scene);
    await delay(seconds * 1000);
    const idle = await workOf(scene);
    const what = isAlone ? "a daemon alone" : `${daemons} of a cluster`;
    bench.progress(`${what}: ${Math.round(value)} turns a second`);
    rows.push(
      { what: `turns a second, ${CHANNELS} channels, ${what}`, value, unit: "" },
      ...rowsOf(`a turn, ${what}`, before, busy, answered),
      ...rowsOf(
        `a second of an idle daemon, ${what}`,
        busy,
        idle,
        (idle.atS - busy.atS) * Math.max(1, daemons),
      ),
    );
  }
  return rows;
}

/** The work of Postgres for a cluster's database so far. */
interface Work {
  /** Seconds. */
  readonly atS: number;
  readonly transactions: number;
  readonly walBytes: number;
}

/** Connections report their transactions a second late. */
const LATE_MS = 1500;

async function workOf({ audit }: ClusterScene): Promise<Work> {
  await delay(LATE_MS);
  const [work] = await audit.rows<Omit<Work, "atS">>(
    `select xact_commit + xact_rollback as transactions, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as "walBytes"
       from pg_stat_database where datname = current_database()`,
  );
  if (work === undefined) throw new Error("Postgres knows nothing of its database");
  return { ...work, atS: performance.now() / 1000 };
}

function rowsOf(what: string, from: Work, to: Work, count: number): Row[] {
  return [
    { what: `transactions, ${what}`, value: (to.transactions - from.transactions) / count, unit: "" },
    { what: `write-ahead log, ${what}`, value: (to.walBytes - from.walBytes) / count / 1024, unit: "kB" },
  ];
}

function sceneOf(broker: TestBroker, daemons: number): SceneOptions {
  const delays = { fastest: 0, slowest: 0 };
  return { seed: SEED, daemons, channels: CHANNELS, rate: 20, broker, mutant: null, delays };
}
