/**
 * Runs tasks in order within a lane and side by side over lanes. At most `limit` tasks are taken and unfinished:
 * past that, `add` waits, and with it whoever reads the input.
 */
export class Lanes {
  readonly #limit: number;
  readonly #tails = new Map<string, Promise<void>>();
  readonly #waiting: (() => void)[] = [];
  #unfinished = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Resolves once the task was taken, not once it is done.
   * @param task must not reject
   */
  async add(lane: string, task: () => Promise<void>): Promise<void> {
    while (this.#unfinished >= this.#limit) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    this.#unfinished += 1;
    const before = this.#tails.get(lane) ?? Promise.resolve();
    const tail = before.then(task).finally(() => {
      this.#unfinished -= 1;
      if (this.#tails.get(lane) === tail) this.#tails.delete(lane);
      this.#waiting.shift()?.();
    });
    this.#tails.set(lane, tail);
  }

  /** Resolves once every task that was taken is done. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
