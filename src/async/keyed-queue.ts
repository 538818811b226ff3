/** Runs the tasks of one key in order, and those of different keys side by side. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();
  /** How many tasks of a key wait or run. */
  readonly #counts = new Map<string, number>();
  #size = 0;

  /** True: `size` tasks wait or run in all, or half as many of this key, so that one key leaves room for others. */
  isFull(key: string, size: number): boolean {
    return this.#size >= size || (this.#counts.get(key) ?? 0) >= size / 2;
  }

  /** Resolves or rejects as the task does. The task runs after the earlier tasks of its key, even if they failed. */
  async add<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const run = before.then(task);
    const tail = run.catch(() => undefined);
    this.#tails.set(key, tail);
    this.#count(key, 1);
    try {
      return await run;
    } finally {
      this.#count(key, -1);
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** Resolves once the tasks that wait or run now are over. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values());
  }

  #count(key: string, by: 1 | -1): void {
    const count = (this.#counts.get(key) ?? 0) + by;
    this.#size += by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
