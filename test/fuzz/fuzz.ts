/**
 * The fuzz of the compaction protocol: random schedules with crashes, on the real parts and a real Postgres.
 *
 *   npm run fuzz -- --seeds 100            that many seeds, from --seed on
 *   npm run fuzz -- --mutants --seeds 10   wrong Weirs: each must be found out
 *   npm run fuzz -- --seed 7 --keep 0-4,9  a part of the schedule of seed 7, as a failure prints it
 */
import { CONNECTION_VARIABLE, startTestServer } from "../support/test-server.ts";
import { MUTANTS } from "./mutants/mutants.ts";
import { type FuzzOptions, parseOptions } from "./options.ts";
import { WorkerPool } from "./pool.ts";
import type { Outcome } from "./run-seed.ts";
import { formatPlaces } from "./places.ts";
import { makeSchedule, tellStep } from "./schedule.ts";
import { shrink } from "./shrink.ts";
import { lacking } from "./tally.ts";

/** Share of the seeds that has to find out a mutant. */
const CAUGHT_SHARE = 0.8;
/** Steps of a failing schedule that are printed. */
const MOST_SHOWN = 60;

async function main(options: FuzzOptions): Promise<boolean> {
  await using server = await startTestServer();
  process.env[CONNECTION_VARIABLE] = JSON.stringify(server.connection);
  await using pool = new WorkerPool(Math.max(1, options.jobs));
  return await (options.mutants ? fuzzMutants(pool, options) : fuzz(pool, options));
}

function seedsOf({ seed, seeds }: FuzzOptions): number[] {
  return Array.from({ length: seeds }, (_, index) => seed + index);
}

/** @returns true: all invariants held, and each seed has reached enough */
async function fuzz(pool: WorkerPool, options: FuzzOptions): Promise<boolean> {
  const { steps, keep, mutant } = options;
  let isGood = true;
  await Promise.all(
    seedsOf(options).map(async (seed) => {
      const outcome = await pool.run({ seed, steps, keep, mutant });
      const missing = keep === null && outcome.at === null ? lacking(outcome.tally) : [];
      tell(seed, outcome, missing);
      if (outcome.at === null && missing.length === 0) return;
      isGood = false;
      if (outcome.at !== null) await tellShrunk(pool, seed, outcome.at, options);
    }),
  );
  return isGood;
}

function tell(seed: number, outcome: Outcome, missing: readonly string[]): void {
  const { violations, at, tally, ms, trail } = outcome;
  const counts = Object.entries(tally).map(([name, count]) => `${count} ${name}`);
  console.log(`seed ${seed}: ${(ms / 1000).toFixed(1)} s, ${counts.join(", ")}`);
  if (missing.length > 0) console.log(`  proves too little: ${missing.join(", ")}`);
  for (const { invariant, what } of violations) console.log(`  ${invariant}, at step ${at}: ${what}`);
  if (violations.length > 0) for (const line of trail) console.log(`      ${line}`);
}

async function tellShrunk(pool: WorkerPool, seed: number, at: number, options: FuzzOptions): Promise<void> {
  const { steps, mutant, keep, shrinkMs } = options;
  const schedule = makeSchedule(seed, steps);
  const places = (keep ?? schedule.keys().toArray()).slice(0, at + 1);
  const fails = async (kept: readonly number[]): Promise<number | null> =>
    (await pool.run({ seed, steps, keep: kept, mutant })).at;
  const left = await shrink(places, fails, shrinkMs);
  const shown = left.slice(-MOST_SHOWN);
  if (shown.length < left.length) console.log(`    … ${left.length - shown.length} steps before`);
  for (const place of shown) {
    const step = schedule[place];
    if (step !== undefined) console.log(`    ${place}: ${tellStep(step)}`);
  }
  const named = mutant === null ? "" : ` --mutant "${mutant}"`;
  const length = steps === parseOptions([]).steps ? "" : ` --steps ${steps}`;
  console.log(`  npm run fuzz -- --seed ${seed}${length}${named} --keep ${formatPlaces(left)}`);
}

/** @returns true: each mutant was found out by enough seeds */
async function fuzzMutants(pool: WorkerPool, options: FuzzOptions): Promise<boolean> {
  const { steps, mutant } = options;
  const seeds = seedsOf(options);
  let isGood = true;
  for (const { name } of MUTANTS.filter((one) => mutant === null || one.name === mutant)) {
    const outcomes = await Promise.all(
      seeds.map(async (seed) => pool.run({ seed, steps, keep: null, mutant: name })),
    );
    const caught = outcomes.filter(({ at }) => at !== null);
    const by = new Map<string, number>();
    for (const { violations } of caught) {
      const first = violations[0]?.invariant ?? "?";
      by.set(first, (by.get(first) ?? 0) + 1);
    }
    const isCaught = caught.length >= seeds.length * CAUGHT_SHARE;
    isGood &&= isCaught;
    const told = [...by].map(([invariant, count]) => `${invariant} ${count}`).join(", ");
    console.log(`${isCaught ? "caught " : "MISSED "} ${name}: ${caught.length} of ${seeds.length} (${told})`);
  }
  return isGood;
}

const isGood = await main(parseOptions(process.argv.slice(2)));
process.exitCode = isGood ? 0 : 1;
