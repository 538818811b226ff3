import type { KnownSecrets } from "../admin/secrets.ts";
import { Budgets } from "../budget/budgets.ts";
import { CallCounts } from "../budget/call-counts.ts";
import { ChannelHomes } from "../ownership/channel-homes.ts";
import type { Compaction } from "../channel/channel-context.ts";
import type { Homes } from "../ownership/homes.ts";
import { LostModels } from "../channel/lost-models.ts";
import { createLiveChannels, type LiveChannels, type LiveChannelsParts } from "../channel/live-channels.ts";
import { ContextRecorder } from "../channel/turns/context-recorder.ts";
import type { HomesVitals } from "../ownership/cluster/rabbit-homes.ts";
import type { ShardsVitals } from "../ownership/cluster/rabbit-shards.ts";
import { Breaker } from "../compactor/breaker.ts";
import { CompactionQueue } from "../compactor/queue.ts";
import { COMPACTOR_TIMING } from "../compactor/target.ts";
import type { Config } from "../config/config.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type { Models } from "../llm/models.ts";
import type { Meaning } from "../memory/meaning.ts";
import { ChannelSearch } from "../memory/channel-search.ts";
import { Recall } from "../memory/recall.ts";
import type { Platform } from "../platforms/platform.ts";
import type { MemberStore } from "../store/channels/members.ts";
import type { ShardHomes } from "../platforms/shared/shard-homes.ts";
import type { ConfirmedNames } from "../router/confirmed-names.ts";
import type { Store } from "../store/store.ts";
import { type Answering, type CurrentSetup, ownersOf } from "./setup.ts";

export type Base = Pick<
  LiveChannelsParts,
  "store" | "indexer" | "features" | "events" | "now" | "platformOf" | "memories" | "log"
> &
  Answering & {
    readonly models: Models;
    readonly current: CurrentSetup;
    readonly secrets: KnownSecrets;
    readonly serves: (address: ChannelAddress) => boolean;
    readonly names: ConfirmedNames;
  };

export interface ClusterVitals extends HomesVitals {
  /** One for each platform whose connections are shared. */
  readonly shards: readonly ShardsVitals[];
}

/** A daemon's part in a cluster of daemons on one database. */
export interface Cluster {
  /** Disposed of with the daemon. */
  readonly homes: Homes;
  readonly name: string;
  /**
   * Takes the daemon's name before the intake opens. Default: no name is taken.
   * @throws OperatorError that describes the holder if a live daemon holds the name
   */
  readonly claim?: (members: MemberStore) => Promise<void>;
  /** Starts to watch whether the database answers this daemon. Default: it is not watched. */
  readonly watchDatabase?: (ask: () => Promise<boolean>) => AsyncDisposable;
  /** The daemon's state in the cluster. Default: not reported. */
  readonly vitals?: () => ClusterVitals;
  /** How the connections to a platform are shared. Default: this daemon has all of them. */
  readonly shardsOf?: (platform: string) => ShardHomes;
  /** Creates the daemon's row, which shows it to others and may ask it to hand on its partitions. Default: no row. */
  readonly present?: (
    store: Pick<Store, "members" | "gatewayShards">,
    held: () => readonly number[],
  ) => AsyncDisposable & { start(): Promise<void> };
}

/** The parts that act in channels, and those that notify them. */
export interface Channels extends LiveChannels {
  readonly contexts: ContextRecorder;
  readonly breaker: Breaker;
  readonly budgets: Budgets;
  readonly lostModels: LostModels;
  readonly search: ChannelSearch;
}

function homesOf(
  cluster: Cluster | undefined,
  platforms: readonly Platform[],
  { store, log }: Pick<Base, "store" | "log">,
  stack: AsyncDisposableStack,
): ChannelHomes {
  if (cluster === undefined) return new ChannelHomes();
  const here = platforms.filter(({ capabilities }) => capabilities.isHere === true);
  const isHere = (platform: string): boolean => here.some(({ name }) => name === platform);
  return new ChannelHomes({ homes: stack.use(cluster.homes), partitions: store.partitions, isHere, log });
}

/** Creates the parts that act in channels. @param config the daemon's start configuration */
export function createChannels(
  {
    config,
    compaction,
    cluster,
    lookUpWithinMs,
    takeover,
  }: Pick<LiveChannelsParts, "lookUpWithinMs" | "takeover"> & {
    readonly config: Config;
    readonly compaction?: Partial<Compaction>;
    readonly cluster?: Cluster | undefined;
  },
  {
    current,
    secrets,
    staffOf,
    bindingOf,
    meaning,
    models,
    platforms,
    ...base
  }: Base & { readonly meaning: Meaning | null; readonly platforms: readonly Platform[] },
  stack: AsyncDisposableStack,
): Channels {
  const { store, log } = base;
  const breaker = compaction?.breaker ?? new Breaker(() => performance.now());
  const priceOf: Models["priceOf"] = (model) => models.priceOf(model);
  const budgets = stack.use(new Budgets({ ...base, agents: config.agents, usage: store.usage, priceOf }));
  const contexts = stack.use(new ContextRecorder(store.contextRecords, log));
  const homes = homesOf(cluster, platforms, base, stack);
  const recall = new Recall({ search: store.search, now: Date.now, meaning });
  const live = createLiveChannels({
    ...base,
    homes,
    budgets,
    callCounts: new CallCounts(),
    ...config.daemon,
    lookUpWithinMs,
    takeover,
    contexts,
    recall,
    agentOf: staffOf,
    streams: (channel) => bindingOf(channel)?.streaming ?? true,
    compaction: {
      queue: new CompactionQueue(config.daemon.maxCompactions),
      timing: COMPACTOR_TIMING,
      ...compaction,
      breaker,
    },
    masked: secrets.masked,
    ownersOf: (platform) => ownersOf(current.setup.config, platform),
    othersWrite: config.database.url !== null,
  });
  const choosable = (): Iterable<string> => current.setup.agents.choosable;
  const lostModels = stack.use(new LostModels({ ...base, channels: store.channelModels, choosable }));
  const search = new ChannelSearch({ ...base, recall, lines: store.lines });
  return { ...live, contexts, breaker, budgets, lostModels, search };
}
