interface Kept<Value> {
  readonly value: Promise<Value>;
  until: number;
}

/** What was loaded, and how long it holds, ms. */
export interface Loaded<Value> {
  readonly value: Value;
  readonly forMs: number;
}

/** Values that are loaded once and kept for a while, at most so many: the one that was asked for longest ago goes first. */
export class Cache<Value> {
  readonly #limit: number;
  readonly #kept = new Map<string, Kept<Value>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The value of a key; whoever asks while it is being loaded gets the same. Throws as `load` does, and forgets that. */
  async get(key: string, load: () => Promise<Loaded<Value>>): Promise<Value> {
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    if (found !== undefined && performance.now() < found.until) {
      this.#kept.set(key, found);
      return await found.value;
    }
    const loading = load();
    const kept: Kept<Value> = {
      value: loading.then(({ value }) => value),
      until: Number.POSITIVE_INFINITY,
    };
    this.#kept.set(key, kept);
    this.#trim();
    try {
      kept.until = performance.now() + (await loading).forMs;
    } catch {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    }
    return await kept.value;
  }

  delete(key: string): void {
    this.#kept.delete(key);
  }

  #trim(): void {
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= this.#limit) return;
      this.#kept.delete(key);
    }
  }
}

/** Sets a value in a map that keeps the newest so many. */
export function setBounded<Value>(map: Map<string, Value>, key: string, value: Value, limit: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= limit) return;
    map.delete(oldest);
  }
}
