import { withDeadline } from "../async/deadline.ts";
import { type ConfigurationState, StatusKeeper } from "../admin/reports/daemon-status.ts";
import type { ReloadAnswer } from "../admin/requests/reload-answer.ts";
import { RequestServer } from "../admin/requests/request-server.ts";
import type { Compaction } from "../channel/compaction/compaction.ts";
import { startGoneNotes } from "../channel/gone-notes.ts";
import type { LiveChannels } from "../channel/live-channels.ts";
import { Retention } from "../channel/retention.ts";
import { PARTITIONS } from "../channel/homes/homes.ts";
import { mostRawMessages, takeUpPlatform, takeUpWork } from "../channel/homes/resumption.ts";
import { createReminderClock } from "../channel/reminders/reminder-clock.ts";
import { ReminderDesk } from "../channel/reminders/reminder-desk.ts";
import { type Base, type Channels, type Cluster, createChannels } from "./channels.ts";
import { type BaseServices, type BaseOptions, openBaseServices, whileStarting } from "./base-services.ts";
import { tellOfLostAgents } from "./reload.ts";
import { type ConfigurationSource, NOT_RELOADED, openReloader } from "./reloader.ts";
import { type Answering, answeringOf, type CurrentSetup, ownerRolesOf } from "./setup.ts";
import { createIngress } from "./ingress.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type { Models } from "../llm/models.ts";
import { openIndexes } from "../memory/indexes.ts";
import { RecallMemories } from "../memory/recall-memories.ts";
import type { Platform, PlatformInbox } from "../platforms/platform.ts";
import { ConfirmedNames } from "../router/confirmed-names.ts";
import type { Router } from "../router/router.ts";
import { readSchemaState, type SchemaState } from "../store/database/migrate.ts";
import type { Store } from "../store/store.ts";
import { Events } from "../telemetry/events.ts";

export interface DaemonOptions extends BaseOptions {
  /** Where the log goes, in words. */
  readonly logPlace?: string;
  /** Makes the adapters; their intake stays shut until `open`. */
  readonly platforms: (events: Events) => readonly Platform[];
  /** What time it is in the conversations; default: the wall clock. A replay has that of its recording. */
  readonly now?: () => Date;
  /** Where a changed configuration is read from; default: none is, and what it was started with holds to the end. */
  readonly source?: ConfigurationSource;
  /** The daemons on this database among which its channels are spread; default: this one has all of them. */
  readonly cluster?: Cluster | undefined;
  /** Parts of the compactor that the protocol's fuzz replaces. */
  readonly compaction?: Partial<Compaction>;
  /** Longest wait for each thing that a turn looks up before it asks its model, ms; default: some tenths of a second, by what it is. */
  readonly lookUpWithinMs?: number | undefined;
}

/** All parts of a running Weir, joined. */
export interface Daemon
  extends
    AsyncDisposable,
    Omit<LiveChannels, "drain">,
    Pick<Channels, "subagents">,
    Pick<Answering & StatusKeeper, "staffOf" | "digesterOf" | "status" | "vitals"> {
  readonly store: Store;
  /** The configuration that holds now, with who answers where by it. */
  readonly current: Readonly<CurrentSetup>;
  readonly events: Events;
  readonly models: Models;
  readonly inbox: PlatformInbox;
  /** Asks the database which schema it has. */
  readonly readSchema: () => Promise<SchemaState>;
  /** See `GoneNotesSweeper`. */
  sweepNotes(): Promise<void>;
  /** See `Retention`. */
  readonly retention: Pick<Retention, "sweep">;
  /** Reads the configuration anew, and puts it in force. `isForced`: also where it may be half of a change. Never rejects. */
  reload(isForced?: boolean): Promise<ReloadAnswer>;
  /** Takes all secrets that it was ever told of out of a text. */
  readonly masked: (text: string) => string;
  /** Aborted where its database has ended for good: it can only be ended. The reason is an error for the operator. */
  readonly lost: AbortSignal;
  /** Opens the intake of all platforms, and takes up what an earlier run left due. */
  open(): Promise<void>;
  /** Channels of a platform are served that were not: takes up what is due there. Must not throw. */
  takeUp(platform: string): Promise<void>;
}

/**
 * The composition root: builds bottom-up into one stack. Disposing is the reverse: intake shuts first, actors drain
 * while they can still send, then sockets, then the database.
 */
export async function buildDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, log, cluster, now = (): Date => new Date() } = options;
  await using stack = new AsyncDisposableStack();
  const services = await openBaseServices(options, stack);
  const { opened, store, secrets, current } = services;

  const { events, platforms } = makePlatforms(options, stack);
  const { indexer, meaning, startIndexing } = await openIndexes(config, store, log, stack);
  const goneNotes = stack.use(startGoneNotes(store.notes, current.setup.agents.noteKeepers(), log));
  const sweepNotes = async (): Promise<void> => goneNotes.sweep();
  const answering = answeringFor(services, platforms);
  const memories = new RecallMemories({ memories: store.memories, search: store.search, now, meaning });
  const reminders = new ReminderDesk(store.reminders, now);
  const configuration = (): ConfigurationState | undefined => reloader?.state;
  const base = { ...services, ...answering, platforms, events, now, memories, reminders, configuration };
  const channels = createChannels(options, { ...base, indexer, meaning }, stack);
  const keeper = new StatusKeeper({ ...options, ...base, ...channels });
  const reload: Daemon["reload"] = async (isForced) => (await reloader?.reload(isForced)) ?? NOT_RELOADED;
  // Disposed of after the registry, whose end answers what is still asked.
  const { status, vitals } = keeper;
  const desk = stack.use(new RequestServer({ ...base, ...channels, cluster, sweepNotes, status, reload }));
  // What a reload has left to do is done once the actors have ended.
  stack.defer(async () => reloader?.idle());
  // One clock for all that is waited for. It begins with the first step of the shutdown, beside which turns go on.
  const draining = { deadline: AbortSignal.abort() };
  stack.defer(async () => channels.drain(draining.deadline));

  // Disposed of before the registry drains: nothing comes due meanwhile.
  const clock = stack.use(createReminderClock({ ...base, ...channels, setup: () => current.setup }));
  const router = createIngress({ ...base, ...channels, keeper }, stack);
  const retention = stack.use(new Retention({ ...base, store: store.retention }, options.config.retention));
  const waiting = [channels.approvals, clock, channels.lostModels];
  const reloads = { ...base, ...channels, router, goneNotes, clock, retention };
  const reloader = stack.use(openReloader(options.source, reloads));
  const home = stack.use(await keepHomes(options, { ...base, ...channels, clock }));
  deferFirstSteps(stack, options, draining, { platforms, opened, keeper });

  const kept = stack.move();
  return {
    ...base,
    ...channels,
    inbox: router,
    readSchema: async () => readSchemaState(opened.database),
    sweepNotes,
    retention,
    status,
    vitals,
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

/** Who answers where, and by which platform. */
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

function makePlatforms(
  options: Pick<DaemonOptions, "platforms" | "log">,
  stack: AsyncDisposableStack,
): { readonly events: Events; readonly platforms: readonly Platform[] } {
  const events = new Events(options.log);
  const platforms = options.platforms(events);
  for (const platform of platforms) stack.use(platform);
  return { events, platforms };
}

/** What a shutdown begins with, in reverse. */
function deferFirstSteps(
  stack: AsyncDisposableStack,
  { config, cluster }: DaemonOptions,
  draining: { deadline: AbortSignal },
  {
    platforms,
    opened,
    keeper,
  }: Pick<BaseServices, "opened"> & {
    readonly platforms: readonly Platform[];
    readonly keeper: StatusKeeper;
  },
): void {
  stack.defer(async () => {
    await Promise.allSettled(platforms.map(async (platform) => platform.stopIntake(draining.deadline)));
  });
  // While messages still come: whoever is home next answers them.
  stack.defer(async () => cluster?.homes.leave(draining.deadline));
  stack.defer(() => {
    draining.deadline = AbortSignal.timeout(config.daemon.drainDeadlineMs);
    keeper.enter("draining");
  });
  // What a shutdown of the machine stops beside us stays stopped.
  stack.defer(() => opened.expectEnd());
}

/** A cluster that cannot be joined is waited for so long before the daemon counts as started, ms: what comes meanwhile is kept. */
const JOIN_MS = 5000;
/** A database that says nothing for so long does not answer, ms. */
const PROBE_MS = 2000;

/** @returns undefined: this daemon is home of all channels, and nothing is loaded for that */
async function keepHomes(
  { cluster }: DaemonOptions,
  {
    store,
    homes,
    handOver,
    renewal,
    resumption,
    waker,
    platforms,
    approvals,
    clock,
    current,
    opened,
    log,
  }: Pick<Base, "store" | "current" | "log"> &
    Pick<BaseServices, "opened"> &
    Omit<LiveChannels, "drain"> &
    Pick<Channels, "approvals"> & {
      readonly platforms: readonly Platform[];
      readonly clock: { start(): void };
    },
): Promise<(AsyncDisposable & { show(): Promise<void>; start(): Promise<void> }) | undefined> {
  if (cluster === undefined) return undefined;
  const { HomeKeeper } = await import("../channel/homes/home-keeper.ts");
  await using stack = new AsyncDisposableStack();
  const keeper = stack.use(
    new HomeKeeper({
      cluster: cluster.homes,
      store,
      homes,
      handOver,
      renewal,
      resumption,
      waker,
      daemon: cluster.name,
      platforms: platforms.filter(({ name }) => !homes.isHere(name)).map(({ name }) => name),
      rawEntries: () => mostRawMessages(current.setup.config),
      onTakenUp: () => {
        for (const waiting of [approvals, clock]) waiting.start();
      },
      log,
    }),
  );
  const row = stack.use(cluster.present?.(store, () => homes.held));
  if (cluster.watchDatabase !== undefined) {
    const probe = stack.use(opened.database.openProbe(PROBE_MS));
    stack.use(cluster.watchDatabase(async () => probe.answers()));
  }
  const kept = stack.move();
  return {
    // Before it takes a shard: who has one is there.
    show: async () => row?.start(),
    async start() {
      await whileStarting(async () => store.partitions.assertCount(PARTITIONS));
      // It goes on trying, and says so in the log.
      await withDeadline(keeper.start(), JOIN_MS);
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Opens the intake of all platforms, and takes up what an earlier run left due. */
async function openIntake(
  { config, log }: DaemonOptions,
  { store, resumption, budgets }: Pick<Channels, "resumption" | "budgets"> & Pick<BaseServices, "store">,
  platforms: readonly Platform[],
  router: Router,
): Promise<void> {
  await whileStarting(async () => tellOfLostAgents(config, store, log));
  await whileStarting(async () => budgets.open());
  await whileStarting(async () => router.pairing.open());
  await Promise.all(platforms.map(async (platform) => platform.start(router, router.ledger)));
  await takeUpWork({ config, log, resumption }, platforms);
  router.erasures.begin();
}
