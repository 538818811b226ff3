/** Only the latest acquisition of a key counts; older ones are void, however late they finish. */
export class LatestOnly<Key> {
  readonly #takers = new Map<Key, symbol>();

  has(key: Key): boolean {
    return this.#takers.has(key);
  }

  /** Voids the acquisitions of these keys. */
  drop(keys: Iterable<Key>): void {
    for (const key of keys) this.#takers.delete(key);
  }

  /**
   * Acquires keys.
   * @param take gets a function that returns the keys that are still its own; it calls that again after each wait
   * @throws what `take` throws
   */
  async run<Result>(
    keys: readonly Key[],
    take: (own: () => readonly Key[]) => Promise<Result>,
  ): Promise<Result> {
    const taker = Symbol("taker");
    const own = (): Key[] => keys.filter((key) => this.#takers.get(key) === taker);
    for (const key of keys) this.#takers.set(key, taker);
    try {
      return await take(own);
    } finally {
      this.drop(own());
    }
  }
}
