/** A process that runs tasks of the fuzz, one after the other, until its parent ends it. */
// Before all others: what they have of time and chance is what this leaves them.
// oxlint-disable-next-line import/no-unassigned-import
import "./sim/builtins.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Task } from "./worker-pool.ts";
import { type Outcome, runSchedule } from "./run-seed.ts";
import { mutantNamed } from "./sim/planted.ts";
import { runSimulated } from "./sim/run-simulated.ts";
import { makeSchedule } from "./composer.ts";
import type { Step } from "./schedule.ts";

// What is named by a path in a simulation has the same one in each process.
const folder = mkdtempSync(join(tmpdir(), "weir-fuzz-"));
process.chdir(folder);
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
process.on("disconnect", () => process.exit());

process.on("message", (task: Task) => {
  void run(task);
});

async function run({
  seed,
  steps,
  keep,
  mutant,
  isWild,
  delays = null,
  traceFile = null,
}: Task): Promise<void> {
  const schedule = makeSchedule(seed, steps);
  const places = keep ?? schedule.keys().toArray();
  const kept = places.flatMap((place): Step[] => {
    const step = schedule[place];
    return step === undefined ? [] : [step];
  });
  const found = mutant === null ? null : (mutantNamed(mutant) ?? null);
  if (mutant !== null && found === null) throw new Error(`there is no mutant "${mutant}"`);
  const parts = { seed, steps: kept, mutant: found };
  const outcome: Outcome = isWild
    ? await runSchedule(seed, kept, found)
    : await runSimulated({ ...parts, places, delays: delays && new Set(delays), traceFile });
  process.send?.(outcome);
}
