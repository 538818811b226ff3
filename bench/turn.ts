/**
 * What a turn costs beside its model: `node bench/turn.ts [--turns 1000]`.
 *
 * One channel, closed loop: a message is handed to the inbox, the model (a scripted server in a process of its own, which
 * answers at once) streams its answer, and the clock stops when the answer is handed to the platform. Embedded Postgres
 * with fsync on. Beside it, in the same run: two bare durable commits.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../src/store/embedded/embedded-postgres.ts";
import { Database } from "../src/store/pool.ts";
import { startWeir, type TestWeir } from "../test/support/weir.ts";

const { values } = parseArgs({ options: { turns: { type: "string", default: "1000" } } });
const turns = Number(values.turns);
const log = pino({ level: "warn" });
/** Of each turn: from the request to the end of its stream, by the daemon's clock; whole milliseconds. */
const modelMs: number[] = [];

const dataDir = await mkdtemp(path.join(tmpdir(), "weir-bench-"));
const server = spawn(process.execPath, [path.join(import.meta.dirname, "model-process.ts")], {
  stdio: ["pipe", "pipe", "inherit"],
});
try {
  const [modelUrl] = await once(createInterface({ input: server.stdout }), "line");
  await using postgres = await startEmbeddedPostgres({ dataDir, log });
  const commits = await measureCommits(postgres.connection);
  await using weir = await startWeir({ connection: postgres.connection, modelUrl: String(modelUrl) });
  await measureTurns(weir, Math.min(100, turns));
  const own = await measureTurns(weir, turns);
  console.log(
    `${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}; ${turns} turns in one channel`,
  );
  print("two bare commits", commits);
  print("a turn, all in", own);
  print(
    "… in its model",
    modelMs.toSorted((a, b) => a - b),
  );
  console.log(
    `ratio              p50 ${(at(own, 0.5) / at(commits, 0.5)).toFixed(1)}   p99 ${(at(own, 0.99) / at(commits, 0.99)).toFixed(1)}`,
  );
} finally {
  server.kill();
  await rm(dataDir, { recursive: true, force: true });
}

async function measureCommits(connection: ConstructorParameters<typeof Database>[0]): Promise<number[]> {
  await using database = new Database(connection, log);
  await database.script(
    "create table bench_commits (id bigint generated always as identity primary key, text text)",
  );
  const insert = { name: "bench_insert", text: "insert into bench_commits (text) values ($1)" };
  return await measure(turns, async () => {
    await database.query(insert, ["x".repeat(200)]);
    await database.query(insert, ["x".repeat(200)]);
  });
}

async function measureTurns(weir: TestWeir, count: number): Promise<number[]> {
  const { platform } = weir;
  modelMs.length = 0;
  return measure(count, async (index) => {
    const before = platform.calls.length;
    await weir.say(`message ${index}: where did we leave the blue bicycle?`, { room: "bench" });
    await platform.until(() => platform.calls.length > before);
    const model = platform.calls.at(-1)?.message.timing?.modelMs ?? 0;
    modelMs.push(model);
  });
}

/** Milliseconds of each round, sorted. */
async function measure(count: number, round: (index: number) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const startedAt = performance.now();
    await round(index);
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

function print(name: string, sorted: readonly number[]): void {
  console.log(
    `${name.padEnd(18)} p50 ${at(sorted, 0.5).toFixed(2)} ms   p99 ${at(sorted, 0.99).toFixed(2)} ms`,
  );
}
