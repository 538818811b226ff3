/**
 * Produces the figures of docs/measurements.md: `npm run bench [-- NAME…] [--json FILE] [--check] [--quick] [--data
 * DIR] [--split tune|report]`. Each figure runs in its own process. See README.md beside this file.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { cpus, totalmem, type } from "node:os";
import process from "node:process";
import { parseArgs } from "node:util";
import { existingFolder, readUsage, UsageError, writableFile } from "../test/support/usage.ts";
import { type Bench, type Figure, reachesBar, type Row } from "./support/figure.ts";

/** Each is loaded where it is asked for: together they are most of Weir, and of what its tests have. */
const FIGURES: Readonly<Record<string, () => Promise<Figure>>> = {
  turn: async () => (await import("./turn.ts")).turn,
  "agent-folder": async () => (await import("./agent-folder.ts")).agentFolder,
  throughput: async () => (await import("./throughput.ts")).throughput,
  listening: async () => (await import("./listening.ts")).listening,
  "reply-latency": async () => (await import("./reply-latency.ts")).replyLatency,
  "silent-summariser": async () => (await import("./silent-summariser.ts")).silentSummariser,
  storm: async () => (await import("./storm.ts")).storm,
  "noisy-neighbour": async () => (await import("./noisy-neighbour.ts")).noisyNeighbour,
  "long-log": async () => (await import("./long-log.ts")).longLog,
  "summariser-tokens": async () => (await import("./summariser-tokens.ts")).summariserTokens,
  prefix: async () => (await import("./prefix.ts")).prefix,
  cost: async () => (await import("./cost.ts")).cost,
  recall: async () => (await import("./recall.ts")).recall,
  memory: async () => (await import("./memory.ts")).memory,
  disk: async () => (await import("./disk.ts")).disk,
  start: async () => (await import("./start.ts")).start,
  digest: async () => (await import("./digest.ts")).digest,
  tokens: async () => (await import("./tokens.ts")).tokens,
  answerability: async () => (await import("./answerability.ts")).answerability,
  "recall-quality": async () => (await import("./recall-quality.ts")).recallQuality,
  replay: async () => (await import("./replay.ts")).replay,
  slack: async () => (await import("./slack.ts")).slack,
  discord: async () => (await import("./discord.ts")).discord,
  "first-piece": async () => (await import("./first-piece.ts")).firstPiece,
  takeover: async () => (await import("./takeover.ts")).takeover,
  cluster: async () => (await import("./cluster.ts")).cluster,
  peers: async () => (await import("./peers.ts")).peers,
  "peers-tokens": async () => (await import("./peers.ts")).peersTokens,
  "peers-summaries": async () => (await import("./peers.ts")).peersSummaries,
};
/** They install other programs: they run only where they are named. */
const NAMED_ONLY: ReadonlySet<string> = new Set(["peers", "peers-tokens", "peers-summaries"]);

interface Measured {
  readonly figure: string;
  readonly rows: readonly Row[];
  /** Null: it ran to its end. */
  readonly failure: string | null;
}

/** A message of a figure's process. */
type Told = { readonly progress: string } | { readonly rows: readonly Row[] };

const WITHOUT_VALUE: ReadonlySet<string> = new Set(["--quick", "--check"]);
/** Options with a value that a figure's own process needs. */
const WITH_VALUE: ReadonlySet<string | undefined> = new Set(["--data", "--split"]);

const USAGE =
  "npm run bench [-- <figure> …] [--quick] [--check] [--json <file>] [--data <folder of recorded conversations>] [--split tune|report]";

const { values, chosen } = readUsage(USAGE, readOptions);
if (values.child) await runHere(chosen);
else process.exitCode = await runAll(chosen);

/** @throws TypeError for an unknown option, UsageError for an invalid value */
function readOptions() {
  const read = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "string" },
      check: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      data: { type: "string" },
      split: { type: "string" },
      child: { type: "boolean", default: false },
    },
  });
  const { data, json, split } = read.values;
  readSplit(split);
  if (data !== undefined) existingFolder("data", data);
  if (json !== undefined) writableFile("json", json);
  return {
    values: read.values,
    chosen: read.positionals.length > 0 ? read.positionals.map(find) : unnamed(),
  };
}

function unnamed(): (() => Promise<Figure>)[] {
  return Object.entries(FIGURES).flatMap(([name, load]) => (NAMED_ONLY.has(name) ? [] : [load]));
}

/** @throws UsageError if it is neither */
function readSplit(text: string | undefined): Bench["split"] {
  if (text === undefined) return null;
  if (text === "tune" || text === "report") return text;
  throw new UsageError(`--split: "${text}" is neither tune nor report.`);
}

/** Runs one figure in this process, which was started for it. */
async function runHere([load]: readonly (() => Promise<Figure>)[]): Promise<void> {
  const tell = (told: Told): void => void process.send?.(told);
  try {
    const figure = await load?.();
    const rows = await figure?.run({
      isQuick: values.quick,
      isCheck: values.check,
      recordings: values.data ?? null,
      split: readSplit(values.split),
      progress: (text) => tell({ progress: text }),
    });
    tell({ rows: rows ?? [] });
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
  process.disconnect?.();
}

async function runAll(figures: readonly (() => Promise<Figure>)[]): Promise<number> {
  const machine = describeMachine();
  console.log(machine);
  const measured: Measured[] = [];
  for (const load of figures) {
    const figure = await load();
    if (figure.needsRecordings === true && values.data === undefined) {
      console.log(`\n${figure.name}: left out, it needs --data DIR`);
      continue;
    }
    const one = await runInProcess(figure);
    measured.push(one);
    printFigure(one);
  }
  if (values.json !== undefined) {
    const at = new Date().toISOString();
    writeFileSync(
      values.json,
      `${JSON.stringify({ machine, at, quick: values.quick, measured }, null, 2)}\n`,
    );
  }
  if (measured.length > 1) printTable(machine, measured);
  const missed = measured.flatMap(({ figure, rows, failure }) => [
    ...(failure === null ? [] : [`${figure}: ${failure}`]),
    ...rows.filter((row) => !reachesBar(row)).map((row) => `${figure}: ${format(row)}`),
  ]);
  if (missed.length === 0) return 0;
  console.log(`\nMissed:\n${missed.map((line) => `  ${line}`).join("\n")}`);
  // An incomplete figure is a failure, even without a check of its bars.
  return values.check || measured.some(({ failure }) => failure !== null) ? 1 : 0;
}

function find(name: string): () => Promise<Figure> {
  const found = FIGURES[name];
  if (found !== undefined) return found;
  throw new UsageError(`No figure "${name}". There are ${Object.keys(FIGURES).join(", ")}.`);
}

async function runInProcess(figure: Figure): Promise<Measured> {
  console.log(`\n${figure.name}: ${figure.about}`);
  const child = fork(
    import.meta.filename,
    [...process.argv.slice(2).filter(isOption), "--child", "--", figure.name],
    {
      execArgv: ["--expose-gc", ...process.execArgv],
    },
  );
  let rows: readonly Row[] = [];
  child.on("message", (told: Told) => {
    if ("rows" in told) rows = told.rows;
    else console.error(`  … ${told.progress}`);
  });
  const [code] = await once(child, "exit");
  return { figure: figure.name, rows, failure: code === 0 ? null : `ended with ${String(code)}` };
}

/** Whether a figure's own process needs this argument. */
function isOption(argument: string, index: number, all: readonly string[]): boolean {
  return WITHOUT_VALUE.has(argument) || WITH_VALUE.has(argument) || WITH_VALUE.has(all[index - 1]);
}

function describeMachine(): string {
  const [cpu] = cpus();
  const memoryGb = Math.round(totalmem() / 2 ** 30);
  return `${cpu?.model ?? "unknown processor"}, ${cpus().length} cores, ${memoryGb} GB, ${type()}, Node ${process.version}`;
}

function printFigure({ rows, failure }: Measured): void {
  for (const row of rows) console.log(`  ${format(row)}`);
  if (failure !== null) console.log(`  FAILED: ${failure}`);
}

function printTable(machine: string, measured: readonly Measured[]): void {
  console.log(`\n${machine}\n\n| figure | | measured | to reach |\n| --- | --- | --- | --- |`);
  for (const { figure, rows } of measured)
    for (const row of rows)
      console.log(`| ${figure} | ${row.what} | ${number(row.value)} ${row.unit} | ${goal(row)} |`);
}

function format(row: Row): string {
  return `${row.what.padEnd(58)} ${number(row.value).padStart(9)} ${row.unit.padEnd(7)} ${goal(row)}`.trimEnd();
}

function goal(row: Row): string {
  if (row.bar === undefined) return "";
  const bar = "atMost" in row.bar ? `≤ ${row.bar.atMost}` : `≥ ${row.bar.atLeast}`;
  return reachesBar(row) ? bar : `${bar}  MISSED`;
}

function number(value: number): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}
