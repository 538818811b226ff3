import { withDeadline } from "../async/deadline.ts";
import { type ConfigurationState, StatusKeeper } from "../admin/reports/daemon-status.ts";
import type { Budgets } from "../budget/budgets.ts";
import type { ReloadAnswer } from "../admin/requests/reload-answer.ts";
import { RequestServer } from "../admin/requests/request-server.ts";
import type { Compaction, FolderTexts } from "../channel/channel-context.ts";
import type { LiveChannels } from "../channel/live-channels.ts";
import type { TakeoverTiming } from "../ownership/takeover-watch.ts";
import { Retention } from "../channel/retention.ts";
import { PARTITIONS } from "../ownership/homes.ts";
import { mostRawMessages, takeUpPlatform, takeUpWork } from "../channel/resumption.ts";
import { OpenFeatures } from "../features/features.ts";
import { type Base, type Channels, type Cluster, createChannels } from "./channels.ts";
import { type BaseOptions, type BaseServices, openBaseServices, whileStarting } from "./base-services.ts";
import { tellOfLostAgents } from "./reload.ts";
import { type ConfigurationSource, NOT_RELOADED, openReloader } from "./reloader.ts";
import { type Answering, answeringOf, type CurrentSetup, ownerRolesOf } from "./setup.ts";
import { createIngress, openTranscription } from "./ingress.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type { Models } from "../llm/models.ts";
import type { ChannelSearch } from "../memory/channel-search.ts";
import { openIndexes } from "../memory/indexes.ts";
import { RecallMemories } from "../memory/recall-memories.ts";
import type { Platform, PlatformInbox } from "../platforms/platform.ts";
import { ConfirmedNames } from "../router/confirmed-names.ts";
import type { Router } from "../router/router.ts";
import { readSchemaState, type SchemaState } from "../store/database/migrate.ts";
import type { Store } from "../store/store.ts";
import { Events } from "../telemetry/events.ts";

export interface DaemonOptions extends BaseOptions {
  /** Describes where the log is written. */
  readonly logPlace?: string;
  /** Creates the adapters; their intake stays closed until `open`. */
  readonly platforms: (events: Events) => readonly Platform[];
  /** The clock of the conversations; default: the wall clock. A replay uses that of its recording. */
  readonly now?: () => Date;
  /** Source of changed configurations; default: the start configuration stays in force. */
  readonly source?: ConfigurationSource;
  /** The cluster that shares the channels of this database; default: this daemon has all of them. */
  readonly cluster?: Cluster | undefined;
  /** Parts of the compactor that the protocol's fuzz replaces. */
  readonly compaction?: Partial<Compaction>;
  /** Limit for each look-up of a turn before its first model call, ms; default: a few tenths of a second, by kind. */
  readonly lookUpWithinMs?: number | undefined;
  /** Delays of taking over from other daemons. */
  readonly takeover?: TakeoverTiming | undefined;
}

export interface Daemon
  extends
    AsyncDisposable,
    Omit<LiveChannels, "drain">,
    Pick<Answering & StatusKeeper, "staffOf" | "digesterOf" | "status" | "vitals"> {
  readonly store: Store;
  readonly features: Pick<
    OpenFeatures,
    | keyof FolderTexts
    | "readWaitedFor"
    | "serviceOf"
    | "channelLists"
    | "inbox"
    | "act"
    | "readWork"
    | "lists"
  >;
  readonly current: Readonly<CurrentSetup>;
  readonly events: Events;
  readonly models: Models;
  readonly budgets: Pick<Budgets, "all">;
  readonly search: Pick<ChannelSearch, "find">;
  readonly inbox: PlatformInbox;
  readonly readSchema: () => Promise<SchemaState>;
  /** See `OpenFeatures`. */
  sweepFiles(): Promise<void>;
  /** See `Retention`. */
  readonly retention: Pick<Retention, "sweep">;
  /** Reads the configuration again, and puts it in force. `isForced`: even if it may be half of a change. Never rejects. */
  reload(isForced?: boolean): Promise<ReloadAnswer>;
  /** All problems of the refused configuration, for the operator; null: none is refused. */
  readonly configurationProblems: () => string | null;
  /** See `ConfigurationSource`. Undefined: the configuration is read from no file. */
  readonly checkConfiguration: ConfigurationSource["check"] | undefined;
  readonly masked: (text: string) => string;
  /** Aborted when its database has ended for good: the daemon must be ended. The reason is an error for the operator. */
  readonly lost: AbortSignal;
  /** Opens the intake of all platforms, and resumes due work of an earlier run. */
  open(): Promise<void>;
  /** The channels of a platform are served again: resumes due work there. Must not throw. */
  takeUp(platform: string): Promise<void>;
}

/**
 * The composition root of the daemon room: builds all parts bottom-up into one stack, and may import every other room. Disposing runs
 * in reverse: intake closes first, actors drain while they can still send, then sockets, then the database.
 */
export async function buildDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, log, cluster, source, now = (): Date => new Date() } = options;
  await using stack = new AsyncDisposableStack();
  const services = await openBaseServices(options, stack);
  const { opened, store, secrets, current } = services;

  const events = new Events(log);
  const platforms = options.platforms(events);
  for (const platform of platforms) stack.use(platform);
  const { indexer, meaning, startIndexing } = await openIndexes(options, store, stack);
  const answering = answeringFor(services, platforms);
  const memories = new RecallMemories({ memories: store.memories, search: store.search, now, meaning });
  const isClustered = cluster !== undefined;
  const parts = { ...services, ...answering, platforms, events, now, isClustered };
  const features = new OpenFeatures({ ...parts, database: opened.database, setup: () => current.setup });
  const sweepFiles = async (): Promise<void> => features.sweepFiles();
  const configuration = (): ConfigurationState | undefined => reloader?.state;
  const base = { ...parts, memories, features, configuration };
  const channels = createChannels(options, { ...base, indexer, meaning }, stack);
  const keeper = new StatusKeeper({ ...options, ...base, ...channels });
  const reload: Daemon["reload"] = async (isForced) => (await reloader?.reload(isForced)) ?? NOT_RELOADED;
  // Disposed of after the registry, whose end answers the remaining requests.
  const { status } = keeper;
  const desk = stack.use(new RequestServer({ ...base, ...channels, cluster, sweepFiles, status, reload }));
  // The rest of a reload finishes once the actors have ended.
  stack.defer(async () => reloader?.idle());
  // One deadline for all waits. It starts with the first shutdown step, during which turns continue.
  const draining = { deadline: AbortSignal.abort() };
  stack.defer(async () => channels.drain(draining.deadline));

  // Disposed of before the registry drains: nothing becomes due, and a turn that waits for such work learns that it continues elsewhere.
  stack.use(features);
  const work = features.work({ ...base, ...channels });
  const transcription = await openTranscription(config);
  const router = createIngress({ ...base, ...channels, keeper, transcription }, stack);
  const retention = stack.use(new Retention({ ...base, store: store.retention }, options.config.retention));
  const waiting = [work, channels.lostModels];
  const reloader = stack.use(openReloader(source, { ...base, ...channels, router, work, retention }));
  const home = stack.use(await keepHomes(options, { ...base, ...channels, work }));
  deferFirstSteps(stack, options, draining, { platforms, opened, keeper });

  const kept = stack.move();
  return {
    ...base,
    ...channels,
    inbox: router,
    readSchema: async () => readSchemaState(opened.database),
    sweepFiles,
    retention,
    status,
    vitals: keeper.vitals,
    configurationProblems: () => reloader?.problems ?? null,
    checkConfiguration: source === undefined ? undefined : (text) => source.check(text),
    masked: secrets.masked,
    reload,
    lost: opened.lost,
    async open() {
      await whileStarting(startIndexing);
      await cluster?.claim?.(store.members);
      await home?.show();
      await openIntake(options, { ...channels, store }, platforms, router);
      desk.open();
      await home?.start();
      for (const one of [...waiting, retention, reloader]) one?.start();
      keeper.enter("serving");
    },
    takeUp: async (name) => takeUpPlatform({ ...current.setup, ...channels, log }, name, waiting),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

function answeringFor(
  { store, log, current }: BaseServices,
  platforms: readonly Platform[],
): Answering & Pick<Base, "names" | "platformOf" | "serves"> {
  const { config, bindings } = current.setup;
  const names = new ConfirmedNames({ store: store.names, log, bindings, ownerRoles: ownerRolesOf(config) });
  const platformOf = (address: ChannelAddress): Platform | undefined =>
    platforms.find(({ capabilities }) => capabilities.serves(address));
  const serves = (address: ChannelAddress): boolean => platformOf(address) !== undefined;
  return { ...answeringOf(current, names), names, platformOf, serves };
}

/** First shutdown steps; run last in, first out. */
function deferFirstSteps(
  stack: AsyncDisposableStack,
  { config, cluster }: DaemonOptions,
  draining: { deadline: AbortSignal },
  parts: Pick<BaseServices, "opened"> & {
    readonly platforms: readonly Platform[];
    readonly keeper: StatusKeeper;
  },
): void {
  const { platforms, opened, keeper } = parts;
  stack.defer(async () => {
    await Promise.allSettled(platforms.map(async (platform) => platform.stopIntake(draining.deadline)));
  });
  // While messages still arrive: the next home answers them.
  stack.defer(async () => cluster?.homes.leave(draining.deadline));
  stack.defer(() => {
    draining.deadline = AbortSignal.timeout(config.daemon.drainDeadlineMs);
    keeper.enter("draining");
  });
  // An embedded server that a shutdown of the machine stops is not started again.
  stack.defer(() => opened.expectEnd());
}

/** Longest wait for joining the cluster before the daemon counts as started, ms; messages are stored meanwhile. */
const JOIN_MS = 5000;
const PROBE_MS = 2000;

/** @returns undefined: no cluster, so this daemon is home of all channels */
async function keepHomes(
  { cluster }: DaemonOptions,
  parts: Pick<Base, "store" | "current" | "log"> &
    Pick<BaseServices, "opened"> &
    Omit<LiveChannels, "drain"> & {
      readonly platforms: readonly Platform[];
      readonly work: { start(): void };
    },
): Promise<(AsyncDisposable & { show(): Promise<void>; start(): Promise<void> }) | undefined> {
  const { store, homes, platforms, work, current, opened } = parts;
  if (cluster === undefined) return undefined;
  const { HomeKeeper } = await import("../channel/home-keeper.ts");
  await using stack = new AsyncDisposableStack();
  const keeper = stack.use(
    new HomeKeeper({
      ...parts,
      cluster: cluster.homes,
      daemon: cluster.name,
      platforms: platforms.filter(({ name }) => !homes.isHere(name)).map(({ name }) => name),
      rawEntries: () => mostRawMessages(current.setup.config),
      onTakenUp: () => work.start(),
    }),
  );
  const row = stack.use(cluster.present?.(store, () => homes.held));
  if (cluster.watchDatabase !== undefined) {
    const probe = stack.use(opened.database.openProbe(PROBE_MS));
    stack.use(cluster.watchDatabase(async () => probe.answers()));
  }
  const kept = stack.move();
  return {
    // Before it takes a shard: the holder of a shard must have a row.
    show: async () => row?.start(),
    async start() {
      await whileStarting(async () => store.partitions.assertCount(PARTITIONS));
      // After the wait it keeps trying, and logs that.
      await withDeadline(keeper.start(), JOIN_MS);
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

async function openIntake(
  { config, log }: DaemonOptions,
  { store, resumption, budgets }: Pick<Channels, "resumption" | "budgets"> & Pick<BaseServices, "store">,
  platforms: readonly Platform[],
  router: Router,
): Promise<void> {
  await whileStarting(async () => tellOfLostAgents(config, store, log));
  await whileStarting(async () => budgets.open());
  await whileStarting(async () => router.strangers.open());
  await Promise.all(platforms.map(async (platform) => platform.start(router, router.ledger)));
  await takeUpWork({ config, log, resumption }, platforms);
  router.erasures.begin();
}
