import type { Logger } from "pino";
import { createCommands } from "./admin/commands.ts";
import { ChannelRegistry } from "./channel/registry.ts";
import type { AgentConfig, Config } from "./config/config.ts";
import { estimateTokens } from "./core/tokens.ts";
import { OperatorError } from "./core/errors.ts";
import type { AgentId, ChannelAddress } from "./core/ids.ts";
import { type Models, openModels } from "./llm/open-models.ts";
import { createPatientModel } from "./llm/patient-model.ts";
import { Indexer } from "./memory/indexer.ts";
import { Recall } from "./memory/recall.ts";
import type { Platform, PlatformInbox } from "./platforms/platform.ts";
import { loadPrompts, type Prompts, promptSources } from "./prompts.ts";
import type { Binding } from "./router/bindings.ts";
import { Router } from "./router/router.ts";
import { openDatabase } from "./store/open-database.ts";
import { createStore, type Store } from "./store/store.ts";
import { Events } from "./telemetry/events.ts";
import { createTools } from "./tools/tools.ts";
import { type Agent, type AgentModels, type AgentTexts, createAgent } from "./turn/agent.ts";

export interface DaemonOptions {
  readonly config: Config;
  readonly log: Logger;
  /** Makes the adapters; their intake stays shut until `open`. */
  readonly platforms: (events: Events) => readonly Platform[];
  /** Which agent answers which platform. */
  readonly bindings: readonly Binding[];
}

/** All parts of a running Weir, joined. */
export interface Daemon extends AsyncDisposable {
  readonly store: Store;
  readonly events: Events;
  readonly models: Models;
  readonly inbox: PlatformInbox;
  readonly registry: ChannelRegistry;
  /** Opens the intake of all platforms, and takes up what an earlier run left due. */
  open(): Promise<void>;
}

/**
 * The composition root: builds bottom-up into one stack. Disposing is the reverse: intake shuts first, actors drain
 * while they can still send, then sockets, then the database.
 */
export async function buildDaemon(options: DaemonOptions): Promise<Daemon> {
  const { config, log, bindings } = options;
  await using stack = new AsyncDisposableStack();
  const now = (): Date => new Date();

  const prompts = loadPrompts(promptSources(config));
  const { database, where } = stack.use(await openDatabase(config.database, log, "owner"));
  log.info({ where }, "database_open");
  const store = createStore(database);
  if (!(await store.search.knowsAllScripts()))
    log.warn("recall_ascii_only: make the database with LC_CTYPE C.UTF-8");
  const models = stack.use(await openModels(config.llm));
  log.info({ models: models.describe() }, "models_open");
  const agents = createAgents(config, models, prompts);

  const events = new Events(log);
  const platforms = options.platforms(events);
  for (const platform of platforms) stack.use(platform);
  const indexer = stack.use(new Indexer(store.search, log));
  const recall = new Recall({ log: store.log, search: store.search, now: Date.now });

  const agentOf = ({ agent }: { agent: AgentId }): Agent => agents.get(agent) ?? agents.first;
  const platformOf = (address: ChannelAddress): Platform | undefined =>
    platforms.find(({ capabilities }) => capabilities.serves(address));
  const shared = { store, recall, indexer, events, log, now, mailboxSize: config.daemon.mailboxSize };
  const { maxLoadedChannels, idleEvictMs, drainDeadlineMs } = config.daemon;
  const registry = new ChannelRegistry({ ...shared, maxLoadedChannels, idleEvictMs, agentOf, platformOf });
  stack.defer(async () => registry.drain(AbortSignal.timeout(drainDeadlineMs)));

  const helpText = (commands: readonly { name: string; help: string }[]): string => prompts.help(commands);
  const describeModels = (): string => models.describe();
  const commands = createCommands({ store, registry, agentOf, helpText, describeModels, now });
  const inbox = new Router({ store, registry, events, log, bindings, commands });
  stack.defer(async () => {
    await Promise.allSettled(platforms.map(async (platform) => platform.stopIntake()));
  });

  const kept = stack.move();
  return {
    store,
    events,
    models,
    inbox,
    registry,
    async open() {
      await indexer.start();
      for (const platform of platforms) await platform.start(inbox);
      const resumed = await registry.resume(platforms.map(({ name }) => name));
      if (resumed > 0) log.info({ channels: resumed }, "work_resumed");
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The agents of a configuration, by id. */
export class Agents {
  readonly first: Agent;
  readonly #byId: ReadonlyMap<AgentId, Agent>;

  constructor(agents: readonly [Agent, ...Agent[]]) {
    this.first = agents[0];
    this.#byId = new Map(agents.map((agent) => [agent.config.id, agent]));
  }

  get(id: AgentId): Agent | undefined {
    return this.#byId.get(id);
  }
}

/**
 * @throws OperatorError where an agent's fixed part leaves no room for a conversation
 */
export function createAgents(
  config: Pick<Config, "agents" | "llm">,
  models: Models,
  prompts: Prompts,
): Agents {
  const tools = createTools({
    searchHistory: prompts.toolSearchHistory.trim(),
    skip: prompts.toolSkip.trim(),
  });
  const modelsOf = ({ fallbacks }: AgentConfig): AgentModels => ({
    model: createPatientModel(models.model, { fallbacks, maxAttempts: config.llm.maxRetries + 1 }),
    resolve: async (configured: string) => models.resolve(configured),
    windowOf: (name: string, configured: number) => models.windowOf(name, configured),
    learnWindow: (name: string, tokens: number) => models.learnWindow(name, tokens),
  });
  const agents = config.agents.map((one) => {
    const agent = createAgent({ config: one, models: modelsOf(one), tools, texts: agentTexts(one, prompts) });
    checkFixedPart(agent);
    return agent;
  });
  const [first, ...rest] = agents;
  if (first === undefined) throw new OperatorError("The configuration has no agent.");
  return new Agents([first, ...rest]);
}

function agentTexts(config: AgentConfig, prompts: Prompts): AgentTexts {
  const { id, name, instructions } = config;
  return {
    system: ({ date }) => prompts.system(id, { agentName: name, instructions, date }),
    dynamic: (values) => prompts.dynamic(values),
    omission: (values) => prompts.omission(values),
    editNote: (values) => prompts.editNote(values),
    failure: ({ kind }) => prompts.failure(kind).trim(),
    deleted: () => prompts.deleted.trim(),
  };
}

/** A prompt that fills half the window is a mistake to report at start, never a reason to compact. */
function checkFixedPart({ config, models, texts, tools }: Agent): void {
  const window = models.windowOf(config.model, config.contextWindow);
  const tokens = estimateTokens(
    texts.system({ date: "2026-01-01" }) + JSON.stringify(tools.map(({ spec }) => spec)),
  );
  if (tokens <= window / 2) return;
  throw new OperatorError(
    `Agent "${config.id}": its prompt and tools take about ${tokens} tokens, more than half of the window of ` +
      `${config.model} (${window}). Shorten its instructions, or set context_window to what the model really holds.`,
  );
}
