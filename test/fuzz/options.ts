import { availableParallelism } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { UsageError, wholeNumber } from "../support/usage.ts";
import { makeSchedule } from "./composer.ts";
import { MUTANTS } from "./mutants/mutants.ts";
import { mutantNamed } from "./sim/planted.ts";
import { parsePlaces } from "./step-places.ts";

export interface FuzzOptions {
  readonly seeds: number;
  /** The first one. */
  readonly seed: number;
  /** Least length of a schedule. */
  readonly steps: number;
  readonly mutants: boolean;
  /** One mutant alone. */
  readonly mutant: string | null;
  /** Places of the schedule that are performed; null: all. */
  readonly keep: readonly number[] | null;
  readonly jobs: number;
  /** In real time, as chance has it. */
  readonly isWild: boolean;
  /** How often each schedule is run: each time it has to be the same. */
  readonly times: number;
  /** Keeps what was run, so that a long run can be continued; null: nothing does. */
  readonly stateFile: string | null;
  /** All that takes time, as a failure prints it; null: as the seed says. */
  readonly delays: readonly string[] | null;
  /** Is written what the run does; null: nothing is. */
  readonly traceFile: string | null;
  /** Longest time for shrinking one failure, ms. */
  readonly shrinkMs: number;
}

/** In real time, while one waits for a timer, another one works. */
const WILD_JOBS_A_CORE = 2;
const MOST_JOBS = 16;

/** Steps of a schedule, where nothing else is said. */
export const USUAL_STEPS = 1000;

export const FUZZ_USAGE = `npm run fuzz -- --seeds <number> [--seed <first>] [--steps <number>] [--jobs <number>] [--shrink <seconds>]
npm run fuzz -- [--twice | --times <number>] [--state <file>] | --wild …   each so often, with one trace | in real time, as chance has it
npm run fuzz -- --mutants [--mutant <name>] [--seeds <number>] [--seed <first>]
npm run fuzz -- --seed <number> --keep <places> [--delays <delays>] [--trace <file>]   as a failure prints them
npm run fuzz -- --seeds <number> --keep 0-149 --twice   the beginnings of many schedules`;

/** @throws TypeError if an option is unknown, UsageError where one makes no sense */
export function parseOptions(argv: readonly string[]): FuzzOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: "string" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: `${USUAL_STEPS}` },
      mutants: { type: "boolean", default: false },
      mutant: { type: "string" },
      keep: { type: "string" },
      jobs: { type: "string" },
      wild: { type: "boolean", default: false },
      twice: { type: "boolean", default: false },
      times: { type: "string" },
      state: { type: "string" },
      delays: { type: "string" },
      trace: { type: "string" },
      shrink: { type: "string", default: "120" },
    },
  });
  const { mutant = null, keep, wild: isWild } = values;
  const times = wholeNumber("times", values.times ?? (values.twice ? "2" : "1"), 1);
  const usualJobs = Math.min(MOST_JOBS, availableParallelism() * (isWild ? WILD_JOBS_A_CORE : 1));
  if (mutant !== null && mutantNamed(mutant) === undefined) {
    throw new UsageError(
      `No mutant "${mutant}". There are:\n${MUTANTS.map(({ name }) => `  ${name}`).join("\n")}`,
    );
  }
  const isReplay = keep !== undefined;
  if (isReplay && values.mutants)
    throw new UsageError("--keep replays a part of one schedule, and --mutants runs whole ones: not both.");
  if (isWild && (times > 1 || values.delays !== undefined || values.trace !== undefined))
    throw new UsageError(
      "--wild has no second run that is the same: no --twice, --times, --delays or --trace.",
    );
  const seed = wholeNumber("seed", values.seed, 0);
  const steps = wholeNumber("steps", values.steps, 1);
  return {
    seeds: wholeNumber("seeds", values.seeds ?? (isReplay ? "1" : "10"), 1),
    seed,
    steps,
    mutants: values.mutants,
    mutant,
    keep: isReplay ? parsePlaces(keep, makeSchedule(seed, steps).length) : null,
    jobs:
      isReplay && times === 1 && values.seeds === undefined
        ? 1
        : wholeNumber("jobs", values.jobs ?? `${usualJobs}`, 1),
    isWild,
    times,
    stateFile: values.state === undefined ? null : path.resolve(values.state),
    delays: values.delays === undefined ? null : values.delays.split(";").filter((one) => one !== ""),
    traceFile: values.trace === undefined ? null : path.resolve(values.trace),
    shrinkMs: isReplay ? 0 : wholeNumber("shrink", values.shrink, 0) * 1000,
  };
}
