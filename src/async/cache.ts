import { BoundedMap } from "./bounded-map.ts";

interface Kept<Value> {
  readonly value: Promise<Value>;
  until: number;
}

/** A loaded value, and how long it is valid, ms. */
export interface Loaded<Value> {
  readonly value: Value;
  readonly forMs: number;
}

/** Loads values once and keeps them for a while, up to a limit: the least recently requested value is evicted first. */
export class Cache<Value> {
  readonly #kept: BoundedMap<Kept<Value>>;

  constructor(limit: number) {
    this.#kept = new BoundedMap(limit);
  }

  /**
   * The value of a key. Concurrent callers share one load.
   * @throws the error of `load`, which is not kept
   */
  async get(key: string, load: () => Promise<Loaded<Value>>): Promise<Value> {
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    if (found !== undefined && performance.now() < found.until) {
      this.#kept.set(key, found);
      return await found.value;
    }
    const kept: Kept<Value> = {
      value: load().then(({ value, forMs }) => {
        kept.until = performance.now() + forMs;
        return value;
      }),
      until: Number.POSITIVE_INFINITY,
    };
    this.#kept.set(key, kept);
    try {
      return await kept.value;
    } catch (error) {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
      throw error;
    }
  }

  set(key: string, { value, forMs }: Loaded<Value>): void {
    this.#kept.set(key, { value: Promise.resolve(value), until: performance.now() + forMs });
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }
}
