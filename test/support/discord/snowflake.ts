/** Discord's epoch, 2015-01-01T00:00:00Z, in ms. */
const DISCORD_EPOCH_MS = 1_420_070_400_000;
/** The lower bits of an id: worker, process and counter. */
const COUNTER_BITS = 22n;

/** Makes ids like Discord's: unique and ascending. */
export class Snowflakes {
  #last = 0n;

  next(): string {
    const earliest = BigInt(Date.now() - DISCORD_EPOCH_MS) << COUNTER_BITS;
    this.#last = earliest > this.#last ? earliest : this.#last + 1n;
    return String(this.#last);
  }

  /** The next id that Discord's formula assigns to this shard. */
  nextOf(shard: number, shards: number): string {
    this.next();
    const behind = (this.#last >> COUNTER_BITS) % BigInt(shards);
    const ahead = (BigInt(shard) - behind + BigInt(shards)) % BigInt(shards);
    this.#last += ahead << COUNTER_BITS;
    return String(this.#last);
  }
}

/** Negative if `a` is older than `b`. */
export function compareIds(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  if (difference === 0n) return 0;
  return difference < 0n ? -1 : 1;
}
