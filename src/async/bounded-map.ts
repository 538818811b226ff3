/**
 * A map with a limit: the value that was set longest ago is evicted first. Not `lru-cache`, which reserves the room for all
 * values at creation: forty empty ones of 10,000 take 9 MB, and Weir has as many maps of this kind.
 */
export class BoundedMap<Value> extends Map<string, Value> {
  readonly #limit: number;

  constructor(limit: number) {
    super();
    this.#limit = limit;
  }

  override set(key: string, value: Value): this {
    this.delete(key);
    super.set(key, value);
    for (const oldest of this.keys()) {
      if (this.size <= this.#limit) break;
      this.delete(oldest);
    }
    return this;
  }
}
