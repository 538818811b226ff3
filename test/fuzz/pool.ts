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

interface Worker {
  readonly process: ChildProcess;
  /** Rejects when it ends. */
  readonly end: Promise<never>;
}

/** Runs tasks in processes of their own, so many at a time. */
export class WorkerPool implements AsyncDisposable {
  readonly #workers: readonly Worker[];
  readonly #free: Worker[];
  readonly #waiting: ((worker: Worker) => void)[] = [];

  constructor(size: number) {
    const program = new URL("worker.ts", import.meta.url).pathname;
    this.#workers = Array.from({ length: size }, () => {
      const worker = fork(program, { serialization: "advanced" });
      const end = ended(worker);
      end.catch(() => undefined);
      return { process: worker, end };
    });
    this.#free = [...this.#workers];
  }

  /** @throws Error where its process ends */
  async run(task: Task): Promise<Outcome> {
    const worker = this.#free.pop() ?? (await new Promise<Worker>((give) => this.#waiting.push(give)));
    try {
      const { promise, resolve } = Promise.withResolvers<Outcome>();
      worker.process.once("message", (outcome: Outcome) => resolve(outcome));
      worker.process.send(task);
      return await Promise.race([promise, worker.end]);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(worker);
      else next(worker);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) worker.process.kill();
  }
}

async function ended(worker: ChildProcess): Promise<never> {
  const [code] = await once(worker, "exit");
  throw new Error(`a worker of the fuzz has ended with ${String(code)}`);
}
