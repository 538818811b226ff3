import { steadyNow } from "../async/clock.ts";
import type { ChannelRegistry } from "./registry.ts";

/** Interval between searches for unused actors, ms. */
const SWEEP_MS = 30_000;
/** Wait before unused actors are evicted once there are too many, ms. */
const EVICT_AFTER_MS = 1000;

export interface EvictionLimits {
  /** Actors in memory above which the longest unused ones are evicted. */
  readonly maxLoadedChannels: number;
  /** Time unused after which an actor is evicted, ms. */
  readonly idleEvictMs: number;
}

/** Evicts unused actors from memory. Their state is in the log. */
export class Eviction {
  readonly #registry: Pick<ChannelRegistry, "size" | "all" | "forget">;
  readonly #limits: EvictionLimits;
  readonly #sweep: NodeJS.Timeout;
  #soon: NodeJS.Timeout | undefined;

  constructor(registry: Pick<ChannelRegistry, "size" | "all" | "forget">, limits: EvictionLimits) {
    this.#registry = registry;
    this.#limits = limits;
    this.#sweep = setInterval(() => {
      this.evictIdle();
    }, SWEEP_MS).unref();
  }

  /** Evicts actors that were unused for long, and the longest unused ones above the bound. */
  evictIdle(): void {
    const now = steadyNow();
    const idle = this.#registry
      .all()
      .filter(([, actor]) => actor.isIdle && !actor.isLeaving)
      .toSorted(([, a], [, b]) => a.lastUsedAt - b.lastUsedAt);
    let excess = this.#registry.size - this.#limits.maxLoadedChannels;
    for (const [id, actor] of idle) {
      if (excess <= 0 && now - actor.lastUsedAt < this.#limits.idleEvictMs) break;
      excess--;
      this.#registry.forget(id);
      void actor.close();
    }
  }

  /** An actor was loaded. If there are too many now, it evicts soon: after a burst of channels, once for many of them. */
  loaded(): void {
    if (this.#registry.size <= this.#limits.maxLoadedChannels) return;
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.evictIdle();
    }, EVICT_AFTER_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweep);
    clearTimeout(this.#soon);
  }
}
