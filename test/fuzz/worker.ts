/** A process that runs tasks of the fuzz, one after the other, until its parent ends it. */
import { MUTANTS } from "./mutants/mutants.ts";
import type { Task } from "./worker-pool.ts";
import { runSchedule } from "./run-seed.ts";
import { makeSchedule } from "./composer.ts";
import type { Step } from "./schedule.ts";

process.on("message", (task: Task) => {
  void run(task);
});

async function run({ seed, steps, keep, mutant }: Task): Promise<void> {
  const schedule = makeSchedule(seed, steps);
  const kept = (keep ?? schedule.keys().toArray()).flatMap((place): Step[] => {
    const step = schedule[place];
    return step === undefined ? [] : [step];
  });
  const found = MUTANTS.find(({ name }) => name === mutant) ?? null;
  if (mutant !== null && found === null) throw new Error(`there is no mutant "${mutant}"`);
  process.send?.(await runSchedule(seed, kept, found));
}
