import type { ShardHomes, ShardListener } from "../../src/platforms/shared/shard-homes.ts";

/** Assigns shards as a test says. */
export class ScriptedShards implements ShardHomes {
  #listener: ShardListener | null = null;
  #count = 0;

  async start(wanted: number, listener: ShardListener): Promise<number> {
    this.#listener = listener;
    this.#count = wanted;
    return wanted;
  }

  members(): number {
    return 2;
  }

  async takeLogin(): Promise<number> {
    return 0;
  }

  async leave(): Promise<void> {
    // The test assigns the shards.
  }

  gain(...shards: number[]): void {
    this.#listener?.gained(
      shards.map((shard) => ({ shard, epoch: null })),
      this.#count,
    );
  }

  async lose(...shards: number[]): Promise<void> {
    await this.#listener?.lost(shards, AbortSignal.abort());
  }
}
