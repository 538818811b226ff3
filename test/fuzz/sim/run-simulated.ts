import { real } from "./builtins.ts";
import { perform, type Outcome, type Run } from "../run-seed.ts";
import { World } from "../world.ts";
import { Latencies } from "./latencies.ts";
import { createSimDatabase } from "./sim-database.ts";
import { simulate } from "./simulation.ts";
import { Trace } from "./trace.ts";

export interface SimulatedRun extends Run {
  /** By places in the whole schedule: those of the steps. */
  readonly places: readonly number[];
  /** All that takes time, by keys; null: as the seed says. */
  readonly delays: ReadonlySet<string> | null;
  /** A file that is written the trace; null: none. */
  readonly traceFile: string | null;
}

/** Performs a schedule so that it can be had again. */
export async function runSimulated(run: SimulatedRun): Promise<Outcome> {
  const startedAt = real.now();
  const { seed, mutant, places, delays } = run;
  // Read from the disk at the first request, in a time that no simulation knows.
  await import("../../../src/llm/http/openai-client.ts");
  // What a mutant replaces in a function it has to find there as it was.
  await using database = await createSimDatabase(mutant?.install === undefined);
  const trace = new Trace(run.traceFile);
  const latencies = new Latencies(seed, (key) => delays?.has(key) !== false);
  const { outcome, statements } = await simulate(
    seed,
    database.connection,
    { trace, latencies },
    async () => {
      await using world = new World(database.connection, seed, mutant, { latencies, trace });
      return await perform(world, run, (index) => latencies.at(places[index] ?? index));
    },
  );
  const simulation = { trace: trace.sum, delays: latencies.made, statements };
  return { ...outcome, simulation, ms: real.now() - startedAt };
}
