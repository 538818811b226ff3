import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import process from "node:process";
import type { Connection } from "../../src/store/pool.ts";
import { CONNECTION_VARIABLE, startTestServer } from "../support/test-server.ts";
import { onEachCore } from "./cores.ts";
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
  readonly #resources: AsyncDisposableStack;
  readonly #free: Worker[];
  readonly #waiting: ((worker: Worker) => void)[] = [];

  private constructor(resources: AsyncDisposableStack, workers: readonly Worker[]) {
    this.#resources = resources;
    this.#free = [...workers];
  }

  /** Starts a Postgres on each core, and the workers round them. */
  static async open(size: number): Promise<WorkerPool> {
    await using resources = new AsyncDisposableStack();
    const workers: Worker[] = [];
    const cores = Math.min(size, availableParallelism());
    await onEachCore(cores, async (core) => {
      const { connection } = resources.use(await startTestServer());
      for (let index = core; index < size; index += cores)
        workers.push(resources.adopt(startWorker(connection), endWorker));
    });
    return new WorkerPool(resources.move(), workers);
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
    await this.#resources.disposeAsync();
  }
}

function startWorker(connection: Connection): Worker {
  const program = new URL("worker.ts", import.meta.url).pathname;
  const env = { ...process.env, [CONNECTION_VARIABLE]: JSON.stringify(connection) };
  const worker = fork(program, { serialization: "advanced", env });
  const end = ended(worker);
  end.catch(() => undefined);
  return { process: worker, end };
}

async function ended(worker: ChildProcess): Promise<never> {
  const [code] = await once(worker, "exit");
  throw new Error(`a worker of the fuzz has ended with ${String(code)}`);
}

function endWorker({ process: child }: Worker): void {
  child.kill();
}
