/** Runs the tasks of one key in order, and those of different keys side by side. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as the task does. The task runs after the earlier tasks of its key, even if they failed. */
  async add<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const run = before.then(task);
    const tail = run.catch(() => undefined);
    this.#tails.set(key, tail);
    try {
      return await run;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** Resolves once the tasks that wait or run now are over. */
  async settled(): Promise<void> {
    await Promise.all(this.#tails.values());
  }
}
