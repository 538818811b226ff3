/**
 * What is being taken, each thing by whoever began last: what is dropped meanwhile, or begun anew, is no more of whoever began before,
 * however late that ends.
 */
export class Takings<Key> {
  readonly #takers = new Map<Key, symbol>();

  /** Somebody is about to take it. */
  has(key: Key): boolean {
    return this.#takers.has(key);
  }

  /** Whoever is taking these does so no more. */
  drop(keys: Iterable<Key>): void {
    for (const key of keys) this.#takers.delete(key);
  }

  /**
   * @param take is handed what says which of them are still its own: to be asked again behind each wait
   * @throws what it throws
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
