import { type ActorLoaderParts, ActorLoader } from "./loader.ts";
import { ChannelHomes } from "../ownership/channel-homes.ts";
import { Eviction, type EvictionLimits } from "./eviction.ts";
import { HandOver } from "./hand-over.ts";
import { ChannelRegistry } from "./registry.ts";
import { Renewal } from "./renewal.ts";
import { Resumption } from "./resumption.ts";
import { TakeoverWatch } from "../ownership/takeover-watch.ts";
import { Waker } from "./waker.ts";

export interface LiveChannelsParts
  extends Omit<ActorLoaderParts, "homes" | "onLost" | "onPartitionsLost">, EvictionLimits {
  /** Default: this daemon is home of all channels. */
  readonly homes?: ChannelHomes;
  /** First delay before a lost channel is checked, ms; default: a minute. */
  readonly lostLookMs?: number;
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
  const { store, features, platformOf, log, homes = new ChannelHomes(), lostLookMs } = parts;
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
  const { partitions, channels } = store;
  const renewal = new Renewal({ ...parts, registry, homes, partitions, background, wake });
  const waker = new Waker({ ...parts, registry, homes, background, renewal });
  const resumption = new Resumption({ channels, registry, homes, platformOf, renewal, waker });
  const lost = new TakeoverWatch({
    unfinished: async (id) => (registry.has(id) ? null : channels.unfinished(id)),
    take: wake,
    log,
    ...(lostLookMs !== undefined && { lookFromMs: lostLookMs }),
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
