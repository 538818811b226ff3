/**
 * A map with a limit: the value that was set longest ago is evicted first. Not `lru-cache`, which reserves the room for all
 * values at creation: forty empty ones of 10,000 take 9 MB, and Weir has as many maps of this kind.
 */
export class BoundedMap<Value> {
  readonly #limit: number;
  readonly #values = new Map<string, Value>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#limit) return;
      this.#values.delete(oldest);
    }
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  delete(key: string): void {
    this.#values.delete(key);
  }

  clear(): void {
    this.#values.clear();
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#values.entries();
  }

  get size(): number {
    return this.#values.size;
  }
}
