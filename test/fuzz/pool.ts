import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Outcome } from "./run-seed.ts";

/** One run: a schedule, or a part of it, on the right Weir or on a mutant. */
export interface Task {
  readonly seed: number;
  readonly steps: number;
  /** Null: all places. */
  readonly keep: readonly number[] | null;
  readonly mutant: string | null;
}

/** Runs tasks in processes of their own, so many at a time. */
export class WorkerPool implements AsyncDisposable {
  readonly #workers: readonly ChildProcess[];
  readonly #free: ChildProcess[];
  readonly #waiting: ((worker: ChildProcess) => void)[] = [];

  constructor(size: number) {
    const program = new URL("worker.ts", import.meta.url).pathname;
    this.#workers = Array.from({ length: size }, () => fork(program, { serialization: "advanced" }));
    this.#free = [...this.#workers];
  }

  /** @throws Error where its process ends */
  async run(task: Task): Promise<Outcome> {
    const worker = this.#free.pop() ?? (await new Promise<ChildProcess>((give) => this.#waiting.push(give)));
    try {
      worker.send(task);
      const [outcome] = await Promise.race([once(worker, "message"), ended(worker)]);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own worker wrote it
      return outcome as Outcome;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(worker);
      else next(worker);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) worker.kill();
  }
}

async function ended(worker: ChildProcess): Promise<never> {
  const [code] = await once(worker, "exit");
  throw new Error(`a worker of the fuzz has ended with ${String(code)}`);
}
