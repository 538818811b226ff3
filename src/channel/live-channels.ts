import { ActorLoader, type ActorLoaderParts } from "./loader.ts";
import { ChannelHomes } from "../ownership/channel-homes.ts";
import { HandOver } from "./hand-over.ts";
import { ChannelRegistry } from "./registry.ts";
import { Renewal } from "./renewal.ts";
import { Resumption } from "./resumption.ts";
import type { ChannelId } from "../core/ids.ts";
import type { DueChannel } from "../store/channels/partitions.ts";
import { type TakeoverTiming, TakeoverWatch } from "../ownership/takeover-watch.ts";
import { Waker } from "./waker.ts";
import { steadyNow } from "../async/clock.ts";

export interface LiveChannelsParts
  extends Omit<ActorLoaderParts, "homes" | "onLost" | "onPartitionsLost">, EvictionLimits {
  /** Default: this daemon is home of all channels. */
  readonly homes?: ChannelHomes;
  readonly takeover?: TakeoverTiming | undefined;
}

/**
 * The parts that run a daemon's channels, each with one task. The channel room runs turns, deliveries and compactions; it reaches the
 * database only through the store, chat platforms through `Platform`, and other daemons through `Homes`.
 */
export interface LiveChannels {
  readonly homes: ChannelHomes;
  readonly registry: ChannelRegistry;
  readonly waker: Waker;
  readonly renewal: Renewal;
  readonly resumption: Resumption;
  readonly handOver: HandOver;
  readonly eviction: Eviction;
  /** Loads no further channel, waits for running work until the signal, then ends it. Unfinished work stays in the log. */
  drain(deadline: AbortSignal): Promise<void>;
}

export function createLiveChannels(parts: LiveChannelsParts): LiveChannels {
  const { store, features, platformOf, log, homes = new ChannelHomes(), takeover } = parts;
  const { background } = features;
  const loader = new ActorLoader({
    ...parts,
    homes,
    onLost: (id) => {
      registry.forget(id);
      lost.add(id);
    },
    onPartitionsLost: (partitions) => handOver.drop(partitions),
  });
  const registry = new ChannelRegistry({
    loader,
    log,
    onLoaded: (id, { actor, made, begin }) => {
      if (made !== null) renewal.loaded(id, actor, made);
      begin();
      eviction.loaded();
    },
  });
  const handOver = new HandOver({ registry, loader, homes, background });
  const eviction = new Eviction(registry, parts);
  const wake: Waker["wake"] = async (id) => waker.wake(id);
  const { partitions, channels, memories } = store;
  const renewal = new Renewal({ ...parts, registry, homes, partitions, background, wake });
  const waker = new Waker({ ...parts, memories, registry, homes, background, renewal });
  const resumption = new Resumption({ channels, registry, homes, platformOf, renewal, waker });
  // In a cluster the home of a partition looks for its due work.
  const mayBeLeft = homes.isAlone && parts.othersWrite !== false;
  const elsewhere = async (): Promise<ChannelId[]> => {
    const due = await partitions.waitedFor();
    const mayBeOurs = ({ address }: DueChannel): boolean => {
      const platform = platformOf(address);
      // A terminal's channel is of the process at which its people sit.
      return platform !== undefined && !platform.capabilities.isHere;
    };
    return resumption.tell(due.filter(mayBeOurs)).map(({ id }) => id);
  };
  const lost = new TakeoverWatch({
    unfinished: async (id) => (registry.has(id) ? null : channels.unfinished(id)),
    elsewhere: mayBeLeft ? elsewhere : undefined,
    take: wake,
    log,
    ...takeover,
  });
  return {
    homes,
    registry,
    waker,
    renewal,
    resumption,
    handOver,
    eviction,
    async drain(deadline) {
      for (const one of [eviction, waker, lost]) one.close();
      await registry.drain(deadline);
    },
  };
}

/** Interval between searches for unused actors, ms. */
const SWEEP_MS = 30_000;
/** Wait before unused actors are evicted once there are too many, ms. */
const EVICT_AFTER_MS = 1000;

interface EvictionLimits {
  /** Actors in memory above which the longest unused ones are evicted. */
  readonly maxLoadedChannels: number;
  /** Time unused after which an actor is evicted, ms. */
  readonly idleEvictMs: number;
}

/** Evicts unused actors from memory. Their state is in the log. */
class Eviction {
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
