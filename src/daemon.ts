import type { Logger } from "pino";
import { withoutApprovers } from "./admin/approvals.ts";
import { createCommands } from "./admin/commands.ts";
import { RequestServer } from "./admin/request-server.ts";
import { StatusKeeper } from "./admin/daemon-status.ts";
import { maskOf, secretsOf } from "./admin/secrets.ts";
import { type AgentEvents, type Agents, type Answering, answeringOf, createAgents } from "./agents.ts";
import { type Budgets, createBudgets } from "./budget/budgets.ts";
import type { Compaction } from "./channel/compaction/compaction.ts";
import { DueWorkDesk } from "./channel/due-work.ts";
import { SubagentDesk } from "./channel/subagents/subagent-desk.ts";
import { ApprovalDesk } from "./channel/approvals/approval-desk.ts";
import { mayAskApprovals } from "./channel/turns/turn-approvals.ts";
import { ChannelRegistry, type RegistryParts } from "./channel/registry.ts";
import { takeUpPlatform, takeUpWork } from "./channel/take-up.ts";
import { Breaker } from "./compactor/breaker.ts";
import { COMPACTOR_TIMING } from "./compactor/target.ts";
import { CompactionQueue } from "./compactor/queue.ts";
import type { Config } from "./config/config.ts";
import { errorMessage } from "./core/errors.ts";
import type { AgentId, ChannelAddress } from "./core/ids.ts";
import type { Team } from "./core/team.ts";
import { type Models, openModels } from "./llm/model-provider.ts";
import { createReminderClock } from "./channel/reminders/reminder-clock.ts";
import { ReminderDesk } from "./channel/reminders/reminder-desk.ts";
import { startGoneNotes } from "./channel/gone-notes.ts";
import { ContextRecorder } from "./channel/turns/context-recorder.ts";
import { openIndexes } from "./memory/indexes.ts";
import type { Meaning } from "./memory/meaning.ts";
import { RecallMemories } from "./memory/recall-memories.ts";
import { Recall } from "./memory/recall.ts";
import type { Platform, PlatformInbox } from "./platforms/platform.ts";
import { loadPrompts, type Prompts, promptSources } from "./prompts/load.ts";
import type { Binding, NameHolds } from "./router/bindings.ts";
import { ConfirmedNames } from "./router/confirmed-names.ts";
import { TurnRateLimit } from "./router/turn-rate-limit.ts";
import { BoundedMap } from "./async/bounded-map.ts";
import { retryWrite } from "./async/retry.ts";
import { Router } from "./router/router.ts";
import { Speakers } from "./router/speakers.ts";
import { Notices } from "./router/notices.ts";
import { type OpenDatabase, openDatabase } from "./store/database/open.ts";
import { createPairing } from "./router/pairing.ts";
import { readSchemaState, type SchemaState } from "./store/database/migrate.ts";
import { fileSigner } from "./store/database/signing-key.ts";
import { createStore, type Store } from "./store/store.ts";
import { fallbackLog } from "./turn/fallback-log.ts";
import { Events } from "./telemetry/events.ts";

export interface DaemonOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Where that goes, in words. */
  readonly logPlace?: string;
  /** Makes the adapters; their intake stays shut until `open`. */
  readonly platforms: (events: Events) => readonly Platform[];
  /** Which agent answers which platform. */
  readonly bindings: readonly Binding[];
  /** What time it is in the conversations; default: the wall clock. A replay has that of its recording. */
  readonly now?: () => Date;
  /** A database that cannot be reached at the start is waited for until this is aborted; default: no wait. */
  readonly waitUntil?: AbortSignal;
  /** Parts of the compactor that the protocol's fuzz replaces. */
  readonly compaction?: Partial<Compaction>;
}

/** A database that has been reached and is then restarted under the start is waited for, for 25 s. */
const START_RETRIES = 8;

async function whileStarting<Result>(work: () => Promise<Result>): Promise<Result> {
  return (await retryWrite(work, START_RETRIES)).result;
}

/** All parts of a running Weir, joined. */
export interface Daemon
  extends AsyncDisposable, Pick<Answering & StatusKeeper, "staffOf" | "digesterOf" | "status" | "vitals"> {
  readonly store: Store;
  readonly events: Events;
  readonly models: Models;
  readonly inbox: PlatformInbox;
  readonly registry: ChannelRegistry;
  /** Asks the database which schema it has. */
  readonly readSchema: () => Promise<SchemaState>;
  /** See `GoneNotesSweeper`. */
  sweepNotes(): Promise<void>;
  /** Aborted where its database has ended for good: it can only be ended. The reason is an error for the operator. */
  readonly lost: AbortSignal;
  /** Opens the intake of all platforms, and takes up what an earlier run left due. */
  open(): Promise<void>;
  /** Channels of a platform are served that were not: takes up what is due there. Must not throw. */
  takeUp(platform: string): Promise<void>;
}

/** Who is told of what happens to agents: the log. */
function agentEvents(config: Config, log: Logger): AgentEvents {
  const masked = maskOf(secretsOf(config));
  return {
    onPassedOver: fallbackLog(log, masked),
    servers: { log, mask: masked },
    onFileProblem: (agent, problem) => log.warn({ agent, problem: masked(problem) }, "agent_file_not_used"),
  };
}

function openPrompts(config: Config, log: Logger): Prompts {
  const prompts = loadPrompts(promptSources(config));
  if (prompts.absent.length > 0) log.warn({ templates: prompts.absent }, "templates_in_english");
  return prompts;
}

async function warnOfScripts({ search }: Store, log: Logger): Promise<void> {
  const knowsAll = await whileStarting(async () => search.knowsAllScripts());
  if (!knowsAll) log.warn("recall_ascii_only: make the database with LC_CTYPE C.UTF-8");
}

/** Wishes that are remembered to stand in the log already. */
const MOST_TOLD = 10_000;

/** The store, which tells the log, once each, of wishes that it does not believe. */
async function openStore(config: Config, { database, where }: OpenDatabase, log: Logger): Promise<Store> {
  log.info({ where }, "database_open");
  const told = new BoundedMap<true>(MOST_TOLD);
  const store = createStore(database, {
    signer: fileSigner(config.database.dataDir),
    onUnsigned: (why) => log.warn({ why }, "wishes_not_kept"),
    onDoubted(channel, wishes) {
      for (const { id, why } of wishes) {
        if (!told.has(String(id))) log.warn({ channel, wish: id, why }, "wish_not_believed");
        told.set(String(id), true);
      }
    },
  });
  await warnOfScripts(store, log);
  await openSharedMemories(config, store);
  return store;
}

/** The models, which tell the database what they learn. */
async function openLearningModels(config: Config, { learnedModels }: Store, log: Logger): Promise<Models> {
  const onNotKept = (error: unknown): void => {
    log.warn({ why: errorMessage(error) }, "learned_model_not_kept");
  };
  const models = await openModels(config.llm, { learned: learnedModels, onNotKept });
  log.info({ models: models.describe() }, "models_open");
  return models;
}

/** Tells the database which agents are told of others' memories: the scope of every look-up asks for it there. */
async function openSharedMemories({ agents }: Config, { sharedMemories }: Store): Promise<void> {
  const shared = new Map(agents.map(({ id, sharedMemory }) => [id, sharedMemory]));
  await whileStarting(async () => sharedMemories.open(shared));
}

async function openAgents(
  config: Config,
  { models, prompts, log }: { readonly models: Models; readonly prompts: Prompts; readonly log: Logger },
): Promise<Agents> {
  const agents = createAgents(config, models, prompts, agentEvents(config, log));
  await agents.readFolders();
  for (const { agent } of agents.all())
    for (const platform of withoutApprovers(agent, config.platforms))
      log.warn({ agent: agent.config.id, platform }, "no_approvers: name them under [agents.approvals]");
  // Only now: a window that was learned to be small is no reason not to start.
  for (const { model, window } of await whileStarting(async () => models.recallLearned()))
    if (window !== null) log.info({ model, tokens: window.tokens, since: window.at }, "learned_window");
  // Last, and nobody waits for them: where the start fails, none is left behind.
  agents.startServers();
  return agents;
}

/**
 * The composition root: builds bottom-up into one stack. Disposing is the reverse: intake shuts first, actors drain
 * while they can still send, then sockets, then the database.
 */
export async function buildDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, log, bindings } = options;
  await using stack = new AsyncDisposableStack();
  const now = options.now ?? ((): Date => new Date());

  const prompts = openPrompts(config, log);
  const opened = stack.use(await openDatabase(config.database, log, "owner", options.waitUntil));
  const store = await openStore(config, opened, log);
  const models = stack.use(await openLearningModels(config, store, log));
  const agents = stack.use(await openAgents(config, { models, prompts, log }));

  const events = new Events(log);
  const platforms = options.platforms(events);
  for (const platform of platforms) stack.use(platform);
  const { indexer, meaning, startIndexing } = await openIndexes(config, store, log, stack);
  const goneNotes = stack.use(startGoneNotes(store.notes, agents.noteKeepers(), log));
  const sweepNotes = async (): Promise<void> => goneNotes.sweep();
  const platformOf = (address: ChannelAddress): Platform | undefined =>
    platforms.find(({ capabilities }) => capabilities.serves(address));
  const names = new ConfirmedNames({ store: store.names, log, bindings, ownerRoles: ownerRolesOf(config) });
  const memories = new RecallMemories({ memories: store.memories, search: store.search, now, meaning });
  const answering = answeringOf(agents, bindings, names);
  const serves = (address: ChannelAddress): boolean => platformOf(address) !== undefined;
  const reminders = new ReminderDesk(store.reminders, now);
  const places = { platforms, platformOf, serves };
  const base = { store, events, now, agents, models, ...answering, ...places, memories, names, reminders };
  const { registry, ...channels } = createRegistry(options, { ...base, indexer, meaning }, stack);
  const keeper = new StatusKeeper({ ...options, ...base, ...channels, registry });
  // Disposed of after the registry, whose end answers what is still asked.
  const desk = stack.use(new RequestServer({ ...base, registry, sweepNotes, status: keeper.status, log }));
  // One clock for all that is waited for. It begins with the first step of the shutdown, beside which turns go on.
  let deadline = AbortSignal.abort();
  stack.defer(async () => registry.drain(deadline));

  // Disposed of before the registry drains: nothing comes due meanwhile.
  const clock = stack.use(createReminderClock({ ...base, config, registry, log }));
  const router = createRouter(options, { ...base, ...channels, registry, prompts, keeper }, stack);
  stack.use(router.erasures);
  stack.defer(async () => {
    deadline = AbortSignal.timeout(config.daemon.drainDeadlineMs);
    await Promise.allSettled(platforms.map(async (platform) => platform.stopIntake(deadline)));
  });
  stack.defer(() => keeper.enter("draining"));
  // The first step of a shutdown: what a shutdown of the machine stops beside us stays stopped.
  stack.defer(() => opened.expectEnd());

  const kept = stack.move();
  return {
    ...base,
    inbox: router,
    registry,
    readSchema: async () => readSchemaState(opened.database),
    sweepNotes,
    status: keeper.status,
    vitals: keeper.vitals,
    lost: opened.lost,
    async open() {
      await whileStarting(startIndexing);
      await openIntake(options, { ...channels, registry }, platforms, router);
      router.erasures.begin();
      desk.open();
      for (const waiting of [channels.approvals, clock]) waiting.start();
      keeper.enter("serving");
    },
    takeUp: async (name) => takeUpPlatform({ ...options, registry }, name, [channels.approvals, clock]),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** Opens the intake of all platforms, and takes up what an earlier run left due. */
async function openIntake(
  options: DaemonOptions,
  { registry, budgets }: Pick<Channels, "registry" | "budgets">,
  platforms: readonly Platform[],
  router: Router,
): Promise<void> {
  if (budgets !== null) await whileStarting(async () => budgets.open());
  await whileStarting(async () => router.pairing.open());
  await Promise.all(platforms.map(async (platform) => platform.start(router, router.ledger)));
  await takeUpWork({ ...options, registry }, platforms);
}

function ownerRolesOf({ platforms: { discord, slack } }: Config): Record<string, readonly string[]> {
  return { discord: discord?.ownerRoles ?? [], slack: slack?.ownerRoles ?? [] };
}

type RegistryBase = Pick<
  RegistryParts,
  "store" | "indexer" | "reminders" | "events" | "now" | "platformOf" | "memories"
> &
  Answering & {
    readonly agents: Agents;
    readonly serves: (address: ChannelAddress) => boolean;
    readonly names: ConfirmedNames;
  };

/** What acts in channels, and what it is told. */
interface Channels {
  readonly registry: ChannelRegistry;
  readonly contexts: ContextRecorder;
  readonly approvals: ApprovalDesk;
  readonly breaker: Breaker;
  /** Null: none is configured. */
  readonly budgets: Budgets | null;
}

function createRegistry(
  options: DaemonOptions,
  { agents, staffOf, bindingOf, meaning, ...base }: RegistryBase & { readonly meaning: Meaning | null },
  stack: AsyncDisposableStack,
): Channels {
  const { config, log, compaction } = options;
  const { store } = base;
  const subagents = new SubagentDesk(store);
  const breaker = compaction?.breaker ?? new Breaker(() => performance.now());
  const { priceOf } = agents.first.agent.models;
  const budgets = createBudgets({ ...base, agents: config.agents, usage: store.usage, priceOf, log });
  stack.use(budgets);
  const contexts = stack.use(new ContextRecorder(store.contextRecords, log));
  const registry = new ChannelRegistry({
    ...base,
    subagents,
    ...(budgets !== null && { budgets }),
    ...config.daemon,
    contexts,
    log,
    recall: new Recall({ search: store.search, now: Date.now, meaning }),
    agentOf: staffOf,
    streams: (channel) => bindingOf(channel)?.streaming ?? true,
    compaction: {
      queue: new CompactionQueue(config.daemon.maxCompactions),
      timing: COMPACTOR_TIMING,
      ...compaction,
      breaker,
    },
    masked: maskOf(secretsOf(config)),
    othersWrite: config.database.url !== null,
    // No turn runs before both are there.
    onApprovals: (channel, what) =>
      what === "asked" ? approvals.asked(channel) : approvals.takenBack(channel),
  });
  const dueWork = new DueWorkDesk(store, registry);
  subagents.tellBy(dueWork);
  const approvals = new ApprovalDesk({
    approvals: store.approvals,
    registry,
    dueWork,
    mayBeAsked: [...agents.all()].some(({ agent }) => mayAskApprovals(agent)),
    serves: base.serves,
    log,
  });
  return { registry, contexts, breaker, budgets, approvals: stack.use(approvals) };
}

type RouterBase = Omit<RegistryBase, "indexer"> &
  Channels & {
    readonly prompts: Prompts;
    readonly models: Models;
    readonly keeper: StatusKeeper;
    readonly platforms: readonly Platform[];
  };

function createRouter(options: DaemonOptions, base: RouterBase, stack: AsyncDisposableStack): Router {
  const { bindings, log, config } = options;
  const {
    store,
    registry,
    events,
    agents,
    staffOf,
    bindingOf,
    platformOf,
    prompts,
    names,
    memories,
    digesterOf,
  } = base;
  const pairing = stack.use(createPairing({ ...options, ...base }));
  const speakers = new Speakers(store.speakers);
  const teamOf = (agent: AgentId, also: readonly AgentId[]): Team => agents.teamOf(agent, also);
  const namesOf = (agent: AgentId, also: readonly AgentId[]): readonly string[] => {
    const { id, name } = agents.of(agent).agent.config;
    return [id, name, ...teamOf(agent, also).flatMap((member) => member.names)];
  };
  const holds: NameHolds = (...name) => names.holds(...name);
  const commands = createCommands({
    ...base,
    agentOf: (channel) => registry.loaded(channel.id)?.agent ?? staffOf(channel).agent,
    guestsOf: (channel) => staffOf(channel).guests,
    owners: { ...config.platforms, holds },
    capabilitiesOf: (channel) => platformOf(channel)?.capabilities,
    recall: memories,
    pairing: pairing.desk,
    linkTo: async (channel, messageId) =>
      (await platformOf(channel.address)?.linkTo?.(channel, messageId)) ?? null,
    nameIn: async (channel, author) =>
      speakers.nameIn(channel.id, author, namesOf(channel.agent, bindingOf(channel)?.also ?? [])),
    secrets: secretsOf(config),
    helpText: (list) => prompts.render("help", { commands: list }),
    daemon: base.keeper.status,
    isStandIn: () => base.models.isOffline,
  });
  return new Router({
    store,
    registry,
    events,
    log,
    bindings,
    names,
    speakers,
    teamOf,
    namesOf,
    commands,
    seesImages: (agent) => {
      const { config: one } = agents.of(agent).agent;
      return one.seesImages && base.models.seesImages(one.model);
    },
    limits: new TurnRateLimit(() => performance.now()),
    notices: new Notices(platformOf, log),
    pairing,
    failureText: (kind) => prompts.render("failure", { kind }).trim(),
    digesterOf,
  });
}
