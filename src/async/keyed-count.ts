export class KeyedCount {
  readonly #counts = new Map<string, number>();
  #size = 0;

  /** Of all keys. */
  get size(): number {
    return this.#size;
  }

  /** True: `most` are counted in all, or half as many of this key, so that one key leaves room for others. */
  isFull(key: string, most: number): boolean {
    return this.#size >= most || (this.#counts.get(key) ?? 0) >= most / 2;
  }

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  add(key: string): void {
    this.#change(key, 1);
  }

  remove(key: string): void {
    this.#change(key, -1);
  }

  #change(key: string, by: 1 | -1): void {
    const count = (this.#counts.get(key) ?? 0) + by;
    this.#size += by;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
