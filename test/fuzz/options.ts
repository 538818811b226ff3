import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { parsePlaces } from "./places.ts";

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
  /** Longest time for shrinking one failure, ms. */
  readonly shrinkMs: number;
}

/** While one waits for a timer, another one works. */
const JOBS_A_CORE = 2;
const MOST_JOBS = 16;

/** @throws TypeError where an option is unknown or no number */
export function parseOptions(argv: readonly string[]): FuzzOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: "string", default: "10" },
      seed: { type: "string", default: "1" },
      steps: { type: "string", default: "1000" },
      mutants: { type: "boolean", default: false },
      mutant: { type: "string" },
      keep: { type: "string" },
      jobs: { type: "string", default: `${Math.min(MOST_JOBS, availableParallelism() * JOBS_A_CORE)}` },
      shrink: { type: "string", default: "120" },
    },
  });
  const isReplay = values.keep !== undefined;
  return {
    seeds: isReplay ? 1 : whole(values.seeds),
    seed: whole(values.seed),
    steps: whole(values.steps),
    mutants: values.mutants,
    mutant: values.mutant ?? null,
    keep: values.keep === undefined ? null : parsePlaces(values.keep),
    jobs: isReplay ? 1 : whole(values.jobs),
    shrinkMs: isReplay ? 0 : whole(values.shrink) * 1000,
  };
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new TypeError(`${text} is no whole number`);
  return value;
}
