import { randomUUID } from "node:crypto";
import PQueue from "p-queue";

interface QueuedWork {
  /** The compactor that queued it. A channel that was closed and loaded again has a new one; both may wait. */
  readonly owner: object;
  readonly priority: number;
  /** Must not throw. */
  readonly run: () => Promise<void>;
}

/** The compactions of all channels: a bounded number at a time, highest priority first. */
export class CompactionQueue {
  readonly #queue: PQueue;
  readonly #waiting = new Map<object, { readonly id: string; priority: number }>();

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency });
  }

  /** Adds work, or raises the priority of the owner's waiting work. */
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
