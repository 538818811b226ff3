import { randomUUID } from "node:crypto";
import PQueue from "p-queue";

/** What waits for its turn to compact. */
export interface QueuedWork {
  /** Whose work it is: another owner of the same channel has its own, also while what a closed one left still waits. */
  readonly owner: object;
  /** The higher, the sooner. */
  readonly priority: number;
  /** Must not throw. */
  readonly run: () => Promise<void>;
}

/** The compactions of all channels: so many at a time, the most urgent first. */
export class CompactionQueue {
  readonly #queue: PQueue;
  readonly #waiting = new Map<object, { readonly id: string; priority: number }>();

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency });
  }

  /** Adds it, or raises the priority of what waits of the same owner. */
  add({ owner, priority, run }: QueuedWork): void {
    const known = this.#waiting.get(owner);
    if (known !== undefined) {
      if (priority <= known.priority) return;
      known.priority = priority;
      this.#queue.setPriority(known.id, priority);
      return;
    }
    const id = randomUUID();
    this.#waiting.set(owner, { id, priority });
    void this.#queue.add(
      async () => {
        this.#waiting.delete(owner);
        await run();
      },
      { id, priority },
    );
  }
}
