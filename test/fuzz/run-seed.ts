import { setTimeout as delay } from "node:timers/promises";
import type { Findings, Violation } from "./ledger.ts";
import { findsOut, type Mutant, STUCK } from "./mutants/mutant.ts";
import { Performer } from "./perform.ts";
import type { Step } from "./schedule.ts";
import type { Tally } from "./tally.ts";
import { World } from "./world.ts";
import { createTestDatabase } from "../support/database.ts";

export interface Outcome {
  readonly violations: readonly Violation[];
  /** Place in the schedule behind which the first was found. */
  readonly at: number | null;
  readonly tally: Tally;
  /** The last events before that. */
  readonly trail: readonly string[];
  readonly ms: number;
  /** Null: real time passed, and no other run is like it. */
  readonly simulation: SimulationOutcome | null;
}

/** What is the same whenever the same is run. */
export interface SimulationOutcome {
  /** A hash of all that the run did. */
  readonly trace: string;
  /** All that was on its way for a time. */
  readonly delays: readonly string[];
  readonly statements: number;
}

/**
 * What takes longer than this hangs, ms: quiescence on a slow machine takes a minute and a half, and each wait for rest in it or
 * in a thaw half a minute, which has a word of its own where it is over.
 */
const LONGEST_STEP_MS = 240_000;

/** A run: what is done in it, and by what Weir. */
export interface Run {
  readonly seed: number;
  readonly steps: readonly Step[];
  readonly mutant: Mutant | null;
}

/** Performs a schedule in real time, on a database of its own. */
export async function runSchedule(
  seed: number,
  steps: readonly Step[],
  mutant: Mutant | null = null,
): Promise<Outcome> {
  const startedAt = performance.now();
  await using database = await createTestDatabase();
  await using world = new World(database.connection, seed, mutant);
  const outcome = await perform(world, { seed, steps, mutant });
  return { ...outcome, ms: performance.now() - startedAt, simulation: null };
}

/**
 * Performs a schedule up to the first violation; of a mutant up to one that finds it out, or a step that hangs: whatever else it breaks may
 * only be what comes first.
 * @param onPlace told of each step before it
 */
export async function perform(
  world: World,
  { steps, mutant }: Run,
  onPlace: (place: number) => void = () => undefined,
): Promise<Omit<Outcome, "ms" | "simulation">> {
  await world.open();
  const performer = new Performer(world);
  const { findings, tally } = world;
  let at: number | null = null;
  for (const [place, step] of steps.entries()) {
    onPlace(place);
    await performed(performer.step(step), findings, `the step "${step.do}"`);
    if (findings.violations.length === 0) continue;
    at ??= place;
    if (findings.violations.some(({ invariant }) => isEnd(invariant, mutant))) break;
  }
  return { violations: [...findings.violations], at, tally: { ...tally }, trail: findings.trail };
}

function isEnd(invariant: string, mutant: Mutant | null): boolean {
  return mutant === null || invariant === STUCK || findsOut(mutant, invariant);
}

/** Whatever goes wrong in it is a violation, and so is no end. */
async function performed(work: Promise<void>, findings: Findings, what: string): Promise<void> {
  const limit = new AbortController();
  const isOver = delay(LONGEST_STEP_MS, "over", { signal: limit.signal }).catch(() => "in time");
  const failed = work.catch((error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    findings.violate("error", why);
  });
  if ((await Promise.race([failed, isOver])) === "over")
    findings.violate(STUCK, `${what} has not ended in ${LONGEST_STEP_MS / 1000} s`);
  limit.abort();
}
