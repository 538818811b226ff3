import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import process from "node:process";
import type { Connection } from "../../src/store/database/queryable.ts";
import { CONNECTION_VARIABLE, startTestServer, type TestServer } from "../support/test-server.ts";
import { onEachCore } from "./core-pinning.ts";
import type { Outcome } from "./run-seed.ts";

/** One run: a schedule, or a part of it, on the right Weir or on a mutant. */
export interface Task {
  readonly seed: number;
  readonly steps: number;
  /** Null: all places. */
  readonly keep: readonly number[] | null;
  readonly mutant: string | null;
  /** In real time: what falls together is chance. */
  readonly isWild: boolean;
  /** All that takes time in a simulation; null: as the seed says. */
  readonly delays?: readonly string[] | null;
  /** Is written what a simulation does; null: nothing is. */
  readonly traceFile?: string | null;
}

/** A process that runs tasks, one after the other, on the Postgres of its core. */
class Worker {
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;

  constructor(connection: Connection) {
    const program = new URL("worker.ts", import.meta.url).pathname;
    const env = { ...process.env, [CONNECTION_VARIABLE]: JSON.stringify(connection) };
    this.#child = fork(program, { serialization: "advanced", env });
    // Told by its end as well.
    this.#child.on("error", () => undefined);
    this.#ended = once(this.#child, "exit").then(([code, signal]) => String(signal ?? code));
  }

  /** @throws Error if it ends */
  async run(task: Task): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#child.once("message", (outcome: Outcome) => resolve(outcome));
    this.#child.send(task, () => undefined);
    const ended = this.#ended.then((how) => {
      throw new Error(`the worker of seed ${task.seed} has ended with ${how}`);
    });
    return Promise.race([promise, ended]);
  }

  end(): void {
    this.#child.kill();
  }
}

/** A place for one worker at a time. */
interface Seat {
  readonly connection: Connection;
  worker: Worker;
}

/** Runs tasks in processes of their own, so many at a time. */
export class WorkerPool implements AsyncDisposable {
  readonly #resources: AsyncDisposableStack;
  readonly #free: Seat[];
  readonly #waiting: ((seat: Seat) => void)[] = [];

  private constructor(resources: AsyncDisposableStack, seats: readonly Seat[]) {
    this.#resources = resources;
    this.#free = [...seats];
  }

  /**
   * Starts a Postgres on each core, and the workers round them.
   * @param isShared several workers of a core have one Postgres: what one does moves what another one's transactions see
   */
  static async open(size: number, isShared: boolean): Promise<WorkerPool> {
    await using resources = new AsyncDisposableStack();
    const seats: Seat[] = [];
    const cores = Math.min(size, availableParallelism());
    await onEachCore(cores, async (core) => {
      let server: TestServer | undefined;
      for (let index = core; index < size; index += cores) {
        if (server === undefined || !isShared) server = resources.use(await startTestServer());
        const { connection } = server;
        seats.push(resources.adopt({ connection, worker: new Worker(connection) }, endSeat));
      }
    });
    return new WorkerPool(resources.move(), seats);
  }

  /**
   * @param isUrgent comes before all that waits already
   * @throws Error if two processes, one after the other, end over it
   */
  async run(task: Task, isUrgent = false): Promise<Outcome> {
    const seat = this.#free.pop() ?? (await this.#wait(isUrgent));
    try {
      return await seat.worker.run(task).catch(async (error: Error) => {
        // A long run shall not end because somebody has killed one process of it.
        console.error(`  ${error.message}: once more`);
        seat.worker = new Worker(seat.connection);
        return seat.worker.run(task);
      });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(seat);
      else next(seat);
    }
  }

  async #wait(isUrgent: boolean): Promise<Seat> {
    return new Promise((give) => {
      if (isUrgent) this.#waiting.unshift(give);
      else this.#waiting.push(give);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

function endSeat({ worker }: Seat): void {
  worker.end();
}
