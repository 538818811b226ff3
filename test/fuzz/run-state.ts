import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import type { FuzzOptions } from "./options.ts";
import type { Outcome } from "./run-seed.ts";

const Line = z.object({ run: z.string(), outcome: z.custom<Outcome>() });

/** A run among those of one call. */
interface RunName {
  readonly seed: number;
  readonly steps: number;
  /** Which one of those that have to be the same, from 0. */
  readonly time: number;
}

/** What a long call has done so far, a line for each run in a file: made again, it goes on where it was. */
export class RunState {
  readonly #file: string | null;
  readonly #how: Pick<FuzzOptions, "mutant" | "isWild" | "keep">;
  readonly #known: ReadonlyMap<string, Outcome>;

  constructor({ stateFile, mutant, isWild, keep }: FuzzOptions) {
    this.#file = stateFile;
    this.#how = { mutant, isWild, keep };
    const text = stateFile !== null && existsSync(stateFile) ? readFileSync(stateFile, "utf8") : "";
    // The last line may be half a line: its process was killed.
    const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
    const known = lines.flatMap((line) => (line === "" ? [] : Line.parse(JSON.parse(line))));
    this.#known = new Map(known.map(({ run, outcome }) => [run, outcome]));
  }

  /** What came of a run that was made before; undefined: it was not. */
  before(name: RunName): Outcome | undefined {
    return this.#known.get(this.#keyOf(name));
  }

  add(name: RunName, outcome: Outcome): void {
    if (this.#file === null) return;
    const { simulation, violations, trail } = outcome;
    // Delays are many, and found again when a failure is shrunk.
    const kept = {
      ...outcome,
      trail: violations.length === 0 ? [] : trail,
      simulation: simulation && { ...simulation, delays: [] },
    };
    appendFileSync(this.#file, `${JSON.stringify({ run: this.#keyOf(name), outcome: kept })}\n`);
  }

  #keyOf({ seed, steps, time }: RunName): string {
    return JSON.stringify({ seed, steps, time, ...this.#how });
  }
}
