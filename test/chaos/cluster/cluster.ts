/**
 * `npm run chaos -- --cluster [--daemons 3] [--channels 200] [--seconds 60] [--seed 7] [--only kill]`: several daemons on one Postgres
 * and one RabbitMQ, and all that can go wrong between them. With `--mutants`, mistakes are built into the daemons, and each has to be found.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import { findBrokerToKill, NO_BROKER } from "../../support/cluster/broker.ts";
import { CONNECTION_VARIABLE, startTestServer } from "../../support/test-server.ts";
import { readUsage, UsageError, wholeNumber } from "../../support/usage.ts";
import { CLUSTER_FAULTS } from "./cluster-faults.ts";
import { isMutantName, MUTANT_NAMES, MUTANTS } from "./mutant-names.ts";
import type { ClusterReport } from "./cluster-report.ts";

const USAGE =
  "npm run chaos -- --cluster [--daemons <number>] [--channels <number>] [--rate <messages a second>] [--seconds <number>] [--seed <number>]\n" +
  "                 [--only <beginning of a fault's name>] [--longest-stop <seconds>] [--seeds <number>] [--mutants | --mutant <name>]";
/** Of the seeds, in which a mutant has to be found. */
const FOUND_SHARE = 0.8;
/** Of the problems of one run. */
const MOST_TOLD = 12;

const { seeds, mutants, ...options } = readUsage(USAGE, readOptions);
const { runCluster } = await import("./run-cluster.ts");
const { WAYS_IN } = await import("./ways-in.ts");
process.exitCode = await main();

/** @returns the process's exit code */
async function main(): Promise<number> {
  await using broker = await findBrokerToKill();
  if (broker === null) {
    console.log(`Skipped: ${NO_BROKER}`);
    return 0;
  }
  await using server = await startTestServer();
  process.env[CONNECTION_VARIABLE] = JSON.stringify(server.connection);
  let isWell = true;
  for (const mutant of mutants ?? [null]) {
    const shown = mutant === null ? null : MUTANTS[mutant];
    const only = options.only ?? shown?.only;
    let found = 0;
    for (let seed = options.seed; seed < options.seed + seeds; seed++) {
      console.log(
        `seed ${seed}, ${options.daemons} daemons, ${options.channels} channels${mutant === null ? "" : `, ${mutant}`}`,
      );
      const report = await runCluster({
        ...options,
        seed,
        only,
        mutant,
        broker,
        // A mistake shows on one platform as on all, and daemons that speak one start faster.
        ...(mutant === null && { ways: WAYS_IN }),
        onLine: (line) => console.log(line),
      });
      tell(report);
      if (report.problems.some(({ kind }) => shown === null || shown.by.includes(kind))) found++;
    }
    if (mutant !== null) console.log(`${mutant}: found in ${found} of ${seeds} seeds`);
    isWell &&= mutant === null ? found === 0 : found / seeds >= FOUND_SHARE;
  }
  return isWell ? 0 : 1;
}

function tell(report: ClusterReport): void {
  const { problems } = report;
  for (const { kind, what } of problems.slice(0, MOST_TOLD)) console.log(`  ${kind.toUpperCase()}: ${what}`);
  for (const line of report.lines()) console.log(line);
  console.log(`${problems.length} problems`);
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      cluster: { type: "boolean" },
      daemons: { type: "string", default: "3" },
      channels: { type: "string", default: "200" },
      rate: { type: "string", default: "20" },
      seconds: { type: "string", default: "60" },
      seed: { type: "string", default: `${Math.floor(Math.random() * 1_000_000)}` },
      "longest-stop": { type: "string", default: "20" },
      only: { type: "string" },
      mutant: { type: "string" },
      mutants: { type: "boolean", default: false },
      seeds: { type: "string", default: "1" },
    },
  });
  const { only, mutant } = values;
  if (only !== undefined && !CLUSTER_FAULTS.some(({ name }) => name.startsWith(only)))
    throw new UsageError(
      `No fault's name begins with "${only}". There are: ${CLUSTER_FAULTS.map(({ name }) => name).join(", ")}`,
    );
  if (mutant !== undefined && !isMutantName(mutant))
    throw new UsageError(`There is no mutant "${mutant}". There are: ${MUTANT_NAMES.join(", ")}`);
  return {
    daemons: wholeNumber("daemons", values.daemons, 2),
    channels: wholeNumber("channels", values.channels, 1),
    rate: wholeNumber("rate", values.rate, 1),
    seconds: wholeNumber("seconds", values.seconds, 1),
    seed: wholeNumber("seed", values.seed, 0),
    longestStopMs: 1000 * wholeNumber("longest-stop", values["longest-stop"], 1),
    only,
    seeds: wholeNumber("seeds", values.seeds, 1),
    // Null: none is built in.
    mutants: mutant !== undefined ? [mutant] : values.mutants ? MUTANT_NAMES : null,
  };
}
