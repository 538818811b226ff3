import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import type { FuzzOptions } from "./options.ts";

const Line = z.object({
  run: z.string(),
  seed: z.number(),
  trace: z.string(),
  violated: z.boolean(),
});
type Line = z.infer<typeof Line>;

/** What a long run has done so far, a line for each seed in a file: begun again it goes on where it was. */
export class RunState {
  readonly #file: string | null;
  readonly #run: string;
  readonly #known: ReadonlyMap<number, Line>;

  constructor({ stateFile, steps, mutant, times, isWild }: FuzzOptions) {
    this.#file = stateFile;
    this.#run = JSON.stringify({ steps, mutant, times, isWild });
    const lines =
      stateFile !== null && existsSync(stateFile) ? readFileSync(stateFile, "utf8").split("\n") : [];
    const known = lines.flatMap((line) => (line === "" ? [] : Line.parse(JSON.parse(line))));
    this.#known = new Map(known.filter(({ run }) => run === this.#run).map((line) => [line.seed, line]));
  }

  /** What came of a seed that was run before, in the same way; undefined: it was not. */
  before(seed: number): Line | undefined {
    return this.#known.get(seed);
  }

  add(line: Omit<Line, "run">): void {
    if (this.#file !== null) appendFileSync(this.#file, `${JSON.stringify({ run: this.#run, ...line })}\n`);
  }
}
