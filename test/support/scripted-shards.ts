import type { ShardHomes, ShardListener } from "../../src/platforms/shared/shard-homes.ts";

/** Hands shards out as a test says. */
export class ScriptedShards implements ShardHomes {
  listener: ShardListener = { gained: () => undefined, lost: async () => undefined };

  members(): number {
    return 2;
  }

  start(_shards: number, listener: ShardListener): void {
    this.listener = listener;
  }
}
