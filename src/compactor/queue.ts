import PQueue from "p-queue";

/** What waits for its turn to compact. */
export interface QueuedWork {
  readonly id: string;
  /** The higher, the sooner. */
  readonly priority: number;
  /** Must not throw. */
  readonly run: () => Promise<void>;
}

/** The compactions of all channels: so many at a time, the most urgent first. */
export class CompactionQueue {
  readonly #queue: PQueue;
  readonly #waiting = new Map<string, number>();

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency });
  }

  /** Adds it, or raises the priority of what waits under the same id. */
  add({ id, priority, run }: QueuedWork): void {
    const known = this.#waiting.get(id);
    if (known !== undefined) {
      if (priority <= known) return;
      this.#waiting.set(id, priority);
      this.#queue.setPriority(id, priority);
      return;
    }
    this.#waiting.set(id, priority);
    void this.#queue.add(
      async () => {
        this.#waiting.delete(id);
        await run();
      },
      { id, priority },
    );
  }
}
