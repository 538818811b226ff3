/**
 * The fuzz of the compaction protocol: random schedules with crashes, on the real parts and a real Postgres.
 *
 *   npm run fuzz -- --seeds 100            that many seeds, from --seed on
 *   npm run fuzz -- --mutants --seeds 10   mutants: each must be caught
 *   npm run fuzz -- --seed 7 --keep 0-4,9  a part of the schedule of seed 7, as a failure prints it
 *
 * The same seed gives the same run, whatever else the machine does (sim/simulation.ts); with --wild real time passes.
 */
import { readUsage } from "../support/usage.ts";
import { findsOut, type Mutant } from "./mutants/mutant.ts";
import { INVARIANTS, MUTANTS } from "./mutants/mutants.ts";
import { mutantNamed } from "./sim/planted.ts";
import { FUZZ_USAGE, type FuzzOptions, parseOptions, USUAL_STEPS } from "./options.ts";
import { type Task, WorkerPool } from "./worker-pool.ts";
import { Progress } from "./progress.ts";
import { RunState } from "./run-state.ts";
import type { Outcome } from "./run-seed.ts";
import { formatPlaces } from "./step-places.ts";
import { makeSchedule } from "./composer.ts";
import { tellStep } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { addTally, lacking, newTally, tellReached, tellTally } from "./tally.ts";

/** Share of the seeds that has to find out a mutant, by an invariant that it is there to break. */
const CAUGHT_SHARE = 0.8;
/** Steps by which a schedule that proves too little gets longer, and by how many in all. */
const MORE_STEPS = 300;
const MOST_MORE_STEPS = 900;
/** Steps of a failing schedule that are printed. */
const MOST_SHOWN = 60;

async function main(options: FuzzOptions): Promise<boolean> {
  await using pool = await WorkerPool.open(options.jobs, options.isWild);
  return await (options.mutants ? fuzzMutants(pool, options) : fuzz(pool, options));
}

function seedsOf({ seed, seeds }: FuzzOptions): number[] {
  return Array.from({ length: seeds }, (_, index) => seed + index);
}

/** @returns true: all invariants held, and each seed has reached enough */
async function fuzz(pool: WorkerPool, options: FuzzOptions): Promise<boolean> {
  const seeds = seedsOf(options);
  const progress = new Progress(seeds.length * options.times);
  const sum = newTally();
  const state = new RunState(options);
  let [violated, poor] = [0, 0];
  const runs = {
    state,
    onRun: () => progress.done(() => `${tellReached(sum)}, ${violated} with a violation`),
  };
  await Promise.all(
    seeds.map(async (seed) => {
      const { outcome, steps, missing } = await runUntilEnough(pool, seed, options, runs);
      tell(seed, outcome, missing);
      addTally(sum, outcome.tally);
      violated += Number(outcome.at !== null);
      poor += Number(missing.length > 0);
      if (outcome.at !== null) await tellShrunk(pool, seed, outcome.at, { ...options, steps });
    }),
  );
  const counts = `${seeds.length} seeds, ${progress.secondsEach} s each, ${tellTally(sum)}`;
  console.log(`total: ${counts}, ${violated} with a violation, ${poor} that prove too little`);
  return violated === 0 && poor === 0;
}

/** A schedule whose chance was against it, and which proves too little, is performed again with more steps behind it. */
async function runUntilEnough(
  pool: WorkerPool,
  seed: number,
  options: FuzzOptions,
  runs: Runs,
): Promise<{ readonly outcome: Outcome; readonly steps: number; readonly missing: readonly string[] }> {
  const { steps: length, keep, mutant } = options;
  for (let steps = length; ; steps += MORE_STEPS) {
    const outcome = await runOnce(pool, { seed, steps, keep, mutant }, options, runs);
    const missing = keep === null && outcome.at === null ? lacking(outcome.tally) : [];
    if (missing.length === 0 || steps >= length + MOST_MORE_STEPS) return { outcome, steps, missing };
    console.log(`seed ${seed}: ${missing.join(", ")} in ${steps} steps; again, with ${MORE_STEPS} more`);
  }
}

/** What is kept of runs, and who is told of each. */
interface Runs {
  readonly state: RunState;
  readonly onRun: () => void;
}

/** @returns a violation as well where two runs differ */
async function runOnce(
  pool: WorkerPool,
  task: Pick<Task, "seed" | "steps" | "keep" | "mutant">,
  { isWild, times, delays, traceFile }: FuzzOptions,
  { state, onRun }: Runs,
): Promise<Outcome> {
  const outcomes = await Promise.all(
    Array.from({ length: times }, async (_, time) => {
      const name = { seed: task.seed, steps: task.steps, time };
      const before = state.before(name);
      const file = traceFile && (time === 0 ? traceFile : `${traceFile}.${time}`);
      const outcome = before ?? (await pool.run({ ...task, isWild, delays, traceFile: file }));
      if (before === undefined) state.add(name, outcome);
      onRun();
      return outcome;
    }),
  );
  const [first] = outcomes;
  if (first === undefined) throw new Error("it was not run");
  const traces = Map.groupBy(outcomes, ({ simulation }) => simulation?.trace);
  if (traces.size === 1) return first;
  const counts = traces.entries().map(([trace, { length }]) => `${trace} ${length} times`);
  const what = `runs of seed ${task.seed} differ: ${[...counts].join(", ")}`;
  return {
    ...first,
    violations: [...first.violations, { invariant: "trace", what }],
    at: first.at ?? task.steps,
  };
}

function tell(seed: number, outcome: Outcome, missing: readonly string[]): void {
  const { violations, at, tally, ms, trail, simulation } = outcome;
  const traced = simulation === null ? "" : ` trace ${simulation.trace},`;
  console.log(
    `seed ${seed}:${traced} ${(ms / 1000).toFixed(1)} s, ${tellTally(tally)}, ${violations.length} violations`,
  );
  if (missing.length > 0) console.log(`  proves too little: ${missing.join(", ")}`);
  for (const { invariant, what } of violations) console.log(`  ${invariant}, at step ${at}: ${what}`);
  if (violations.length > 0) for (const line of trail) console.log(`      ${line}`);
}

async function tellShrunk(pool: WorkerPool, seed: number, at: number, options: FuzzOptions): Promise<void> {
  const { steps, mutant, keep, shrinkMs, isWild } = options;
  const schedule = makeSchedule(seed, steps);
  const places = (keep ?? schedule.keys().toArray()).slice(0, at + 1);
  const run = async (kept: readonly number[], delays: readonly string[] | null): Promise<Outcome> =>
    pool.run({ seed, steps, keep: kept, mutant, isWild, delays }, true);
  const left = await shrink(places, async (kept) => (await run(kept, options.delays)).at, shrinkMs);
  const shown = left.slice(-MOST_SHOWN);
  if (shown.length < left.length) console.log(`    … ${left.length - shown.length} steps before`);
  for (const place of shown) {
    const step = schedule[place];
    if (step !== undefined) console.log(`    ${place}: ${tellStep(step)}`);
  }
  const fewer = isWild
    ? null
    : await fewerDelays((kept) => run(left, kept), await run(left, options.delays), shrinkMs);
  // Of more than a person reads, the seed's own do as well.
  const delays = fewer !== null && fewer.length > MOST_SHOWN ? options.delays : fewer;
  for (const delay of delays ?? []) console.log(`    later than others: ${delay}`);
  const named = mutant === null ? "" : ` --mutant "${mutant}"`;
  const length = steps === USUAL_STEPS ? "" : ` --steps ${steps}`;
  const how = delays === null ? (isWild ? " --wild" : "") : ` --delays "${delays.join(";")}"`;
  console.log(`  npm run fuzz -- --seed ${seed}${length}${named} --keep ${formatPlaces(left)}${how}`);
}

/** The fewest delays with which a run still fails: whatever else is asked is done at once, in the order of asking. */
async function fewerDelays(
  run: (delays: readonly string[]) => Promise<Outcome>,
  { at, simulation }: Outcome,
  shrinkMs: number,
): Promise<readonly string[] | null> {
  if (at === null || simulation === null) return null;
  const { delays } = simulation;
  const kept = (places: readonly number[]): string[] => places.flatMap((place) => delays[place] ?? []);
  if ((await run([])).at !== null) return [];
  const fails = async (places: readonly number[]): Promise<number | null> =>
    (await run(kept(places))).at === null ? null : places.length - 1;
  return kept(await shrink(delays.keys().toArray(), fails, shrinkMs));
}

/** @returns true: each mutant was found out by enough seeds, and each invariant failed by one */
async function fuzzMutants(pool: WorkerPool, options: FuzzOptions): Promise<boolean> {
  const named = options.mutant === null ? undefined : mutantNamed(options.mutant);
  const chosen = named === undefined ? MUTANTS : [named];
  const progress = new Progress(chosen.length * options.seeds);
  const failed = new Set<string>();
  let missed = 0;
  for (const mutant of chosen) {
    const found = await fuzzMutant(pool, mutant, options, progress);
    for (const invariant of found.invariants) failed.add(invariant);
    missed += Number(!found.isCaught);
  }
  if (options.mutant !== null) return missed === 0;
  const left = INVARIANTS.filter((invariant) => !failed.has(invariant));
  console.log(`${chosen.length - missed} of ${chosen.length} mutants caught`);
  console.log(`invariants that no mutant failed: ${left.length === 0 ? "none" : left.join(", ")}`);
  return missed === 0 && left.length === 0;
}

async function fuzzMutant(
  pool: WorkerPool,
  mutant: Mutant,
  options: FuzzOptions,
  progress: Progress,
): Promise<{ readonly isCaught: boolean; readonly invariants: ReadonlySet<string> }> {
  const { name } = mutant;
  const seeds = seedsOf(options);
  const outcomes = await Promise.all(
    seeds.map(async (seed) => {
      const { steps, isWild } = options;
      const outcome = await pool.run({ seed, steps, keep: null, mutant: name, isWild });
      progress.done(() => name);
      return outcome;
    }),
  );
  const by = new Map<string, number>();
  for (const { violations } of outcomes)
    for (const invariant of new Set(violations.map((one) => one.invariant)))
      by.set(invariant, (by.get(invariant) ?? 0) + 1);
  const caught = outcomes.filter(({ violations }) =>
    violations.some(({ invariant }) => findsOut(mutant, invariant)),
  );
  const isCaught = caught.length >= seeds.length * CAUGHT_SHARE;
  const share = Math.round((caught.length / seeds.length) * 100);
  const told = [...by].toSorted(([, a], [, b]) => b - a).map(([invariant, count]) => `${invariant} ${count}`);
  const verdict = isCaught ? "caught" : "MISSED";
  console.log(
    `${verdict}  ${name}: ${caught.length} of ${seeds.length} seeds, ${share} % (${told.join(", ")})`,
  );
  for (const [index, { violations }] of outcomes.entries()) {
    const other = violations.find(({ invariant }) => !findsOut(mutant, invariant));
    if (other !== undefined)
      console.log(`    seed ${seeds[index]} beside: ${other.invariant}, ${other.what}`);
  }
  return { isCaught, invariants: new Set(by.keys()) };
}

const isGood = await main(readUsage(FUZZ_USAGE, () => parseOptions(process.argv.slice(2))));
process.exitCode = isGood ? 0 : 1;
