import { agentTexts, summariserOf } from "./agent-texts.ts";
import type { Summariser } from "./compactor/summariser.ts";
import {
  type AgentConfig,
  answeringWith,
  choosableModels,
  type Config,
  configuredWindow,
  type ModelConfig,
} from "./config/config.ts";
import { OperatorError } from "./core/errors.ts";
import { type Guests, NO_GUESTS } from "./channel/guests.ts";
import type { Perspective } from "./context/render.ts";
import type { AgentId } from "./core/ids.ts";
import type { Team, TeamMember } from "./core/team.ts";
import type { Models } from "./llm/models.ts";
import { createRetryingModel, type RetryOptions } from "./llm/retrying-model.ts";
import type { Prompts } from "./prompts/load.ts";
import { ServerTools, type ServerToolsParts } from "./mcp/server-tools.ts";
import { handOffTool } from "./tools/hand-off.ts";
import { configuredBy, describedToolsOf, featureToolsOf } from "./features/features.ts";
import type { ToolMaker } from "./tools/tool.ts";
import { createTools, fitsWindow } from "./tools/tools.ts";
import { basename, join } from "node:path";
import { AgentFolder, hasOwnFolder, type OwnFolder } from "./agent-files/agent-folder.ts";
import { steadyNow } from "./async/clock.ts";
import { createTimeFormat } from "./text/time.ts";
import {
  type Agent,
  type AgentModels,
  createAgent,
  type MoreTools,
  NO_FOLDER,
  withMoreTools,
} from "./turn/agent.ts";
import { fixedPartProblem, roomForServers } from "./turn/fixed-part.ts";

/** An agent with what writes its summaries, and who else answers in its channels. */
export interface StaffedAgent {
  readonly agent: Agent;
  readonly compactorAgent: Summariser;
  readonly guests: Guests;
  /** Null: it has no servers, or nobody may start them. */
  readonly serverTools?: ServerTools | null;
  /** What it was made of beside the prompts: where that is the same, it is the same agent. */
  readonly madeOf?: string;
}

export interface AgentEvents {
  /** Of each answer of a fallback. */
  readonly onPassedOver?: RetryOptions["onPassedOver"];
  /** Of each file of an agent's folder that cannot be used as it is. */
  readonly onFileProblem?: (agent: AgentId, problem: string) => void;
  /** What the MCP servers of the agents are started with; left out: none is, and agents have Weir's own tools alone. */
  readonly servers?: Pick<ServerToolsParts, "log" | "mask" | "timing">;
}

export class Agents implements AsyncDisposable {
  readonly first: StaffedAgent;
  readonly #byId: ReadonlyMap<AgentId, StaffedAgent>;
  readonly #prompts: Prompts;
  readonly #models: Models;
  readonly #configured: readonly ModelConfig[];
  /** Names of the models that may be chosen for a channel. */
  readonly choosable: ReadonlySet<string>;
  /** Agents with others beside them, or with another model, by the ids of all and its name. */
  readonly #staffs: Map<string, Together>;

  /** @param before those of the configuration before: what was made of the same agents is theirs */
  constructor(
    agents: readonly [StaffedAgent, ...StaffedAgent[]],
    parts: {
      readonly prompts: Prompts;
      readonly models: Models;
      readonly config: Parameters<typeof choosableModels>[0];
    },
    before?: Agents,
  ) {
    const { prompts, models, config } = parts;
    this.first = agents[0];
    this.#models = models;
    this.#configured = config.llm.models;
    this.choosable = new Set(choosableModels(config));
    this.#byId = new Map(agents.map((one) => [one.agent.config.id, one]));
    this.#prompts = prompts;
    const known = before === undefined ? [] : [...before.#staffs];
    const isHere = (one: StaffedAgent): boolean => this.#byId.get(one.agent.config.id) === one;
    this.#staffs = new Map(known.filter(([, { of }]) => of.every(isHere)));
  }

  /** An agent that was made of the same, with the same prompts; undefined: it has to be made anew. */
  madeSo(id: AgentId, madeOf: string, prompts: Prompts): StaffedAgent | undefined {
    const known = this.#byId.get(id);
    return this.#prompts === prompts && known?.madeOf === madeOf ? known : undefined;
  }

  named(id: AgentId): StaffedAgent | undefined {
    return this.#byId.get(id);
  }

  /**
   * Reads the agents' folders for the first time. What is wrong later leaves in use what was read before.
   * @throws OperatorError if what must never be cut leaves no room for a conversation
   */
  async readFolders(): Promise<void> {
    for (const { agent } of this.#byId.values()) {
      await agent.folder.refresh();
      if (agent.folder.refusal !== null) throw new OperatorError(agent.folder.refusal);
    }
  }

  /** Starts the MCP servers of all agents. Waits for none. */
  startServers(): void {
    for (const { serverTools } of this.#byId.values()) serverTools?.start();
  }

  /** Ends the MCP servers that `next`, which has replaced this set, does not use. Call it when no turn uses this set. */
  async makeWay(next: Agents): Promise<void> {
    await Promise.all(
      Array.from(this.#byId.values(), async ({ agent, serverTools }) => {
        const others = next.named(agent.config.id)?.serverTools ?? null;
        if (others !== serverTools) await serverTools?.makeWay(others);
      }),
    );
  }

  /** Ends the MCP servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      Array.from(this.#byId.values(), async ({ serverTools }) => serverTools?.[Symbol.asyncDispose]()),
    );
  }

  all(): Iterable<StaffedAgent> {
    return this.#byId.values();
  }

  /** The agent of a channel; a channel whose agent the configuration no longer has is answered by the first. */
  of(id: AgentId): StaffedAgent {
    return this.#byId.get(id) ?? this.first;
  }

  /** Who can be asked where an agent answers, and others beside it. Pure. */
  teamOf(id: AgentId, also: readonly AgentId[]): Team {
    const { config } = this.of(id).agent;
    const others = also
      .flatMap((one) => this.#byId.get(one) ?? [])
      .filter(({ agent }) => agent.config !== config);
    if (others.length === 0) return [];
    return [memberOf(config, null), ...others.map(({ agent }) => memberOf(agent.config, agent.config.id))];
  }

  /**
   * Who answers a channel that the log knows. A channel changes its agent with its next message. If the configuration
   * no longer has the channel's agent, the binding's agent answers at once.
   */
  bound(
    { agent: id, model }: { readonly agent: AgentId; readonly model: { readonly name: string } | null },
    binding?: { readonly agent: AgentId; readonly also: readonly AgentId[] },
  ): StaffedAgent {
    const own = this.#byId.has(id) ? id : (binding?.agent ?? id);
    return this.with(own, binding?.also ?? [], model?.name);
  }

  /**
   * The agent of a channel in which others answer as well. The same object for the same agents and model.
   * @param model that was chosen for the channel; left out, or one that may not be chosen (any more): the agent's own
   */
  with(id: AgentId, also: readonly AgentId[], model?: string): StaffedAgent {
    const own = this.of(id);
    const team = this.teamOf(id, also);
    const { config } = own.agent;
    const other = model === undefined || model === config.model || !this.choosable.has(model) ? null : model;
    if (team.length === 0 && other === null) return own;
    const window = other === null ? 0 : configuredWindow(this.#configured, other, 0);
    const key = JSON.stringify([config.id, ...team.map(({ agent }) => agent ?? ""), { other, window }]);
    const known = this.#staffs.get(key);
    if (known !== undefined) return known.staff;
    const guests = team.flatMap(({ agent }) => (agent === null ? [] : (this.#byId.get(agent) ?? [])));
    const alone = other === null ? own : this.#withModel(own, other);
    const staff = team.length === 0 ? alone : this.#together(alone, team);
    this.#staffs.set(key, { staff, of: [own, ...guests] });
    return staff;
  }

  /** The same agent, which answers with another model. Its folder and servers are the same. */
  #withModel(own: StaffedAgent, model: string): StaffedAgent {
    const config = answeringWith(own.agent.config, model);
    const window = windowForTools(config, own.agent.models, this.#configured);
    // Descriptions may name the agent's models.
    const withOwnModels: MoreTools = (tools) => {
      const described = describedToolsOf(config).map((make) =>
        configuredBy(config)(make(this.#prompts, tools)),
      );
      return tools
        .filter((tool) => fitsWindow(tool, window))
        .map((tool) => described.find(({ spec }) => spec.name === tool.spec.name) ?? tool);
    };
    const agent = withMoreTools({ ...own.agent, config }, withOwnModels);
    const compactorAgent = summariserOf(agent, this.#models, this.#prompts, own.guests.nameOf);
    return { ...own, agent, compactorAgent };
  }

  #together({ agent: host, compactorAgent, guests: { nameOf } }: StaffedAgent, team: Team): StaffedAgent {
    const withHandOff = ({ config }: Agent, self: AgentId | null): MoreTools => {
      const others = team.filter(({ agent }) => agent !== self);
      const handOff = handOffTool(
        this.#prompts,
        config.name,
        others.map(({ agent, name }) => ({ id: agent ?? host.config.id, name })),
      );
      return (tools) => [...tools, handOff].toSorted((a, b) => (a.spec.name < b.spec.name ? -1 : 1));
    };
    const invited = team.flatMap(({ agent: self }) => {
      const one = self === null ? undefined : this.#byId.get(self)?.agent;
      if (one === undefined) return [];
      const perspective: Perspective = {
        self,
        nameOf: (agent) => (agent === null ? host.config.name : nameOf(agent)),
      };
      const guest = createAgent(withMoreTools(one, withHandOff(one, self)), perspective);
      return [[one.config.id, guest] as const];
    });
    const byId: ReadonlyMap<AgentId, Agent> = new Map(invited);
    const guests = { team, nameOf, agent: (id: AgentId) => byId.get(id) };
    return { agent: withMoreTools(host, withHandOff(host, null)), compactorAgent, guests };
  }
}

function memberOf({ id, name, aliases, mentionRoles }: AgentConfig, agent: AgentId | null): TeamMember {
  return { agent, name, names: [...new Set([id, name, ...aliases])], roles: mentionRoles };
}

/** An agent with its guests, and the agents that it was combined from: the same ones give the same object again. */
interface Together {
  readonly staff: StaffedAgent;
  readonly of: readonly StaffedAgent[];
}

/**
 * @param told default: nobody is
 * @param before those of the configuration before: an agent that would be the same is taken over as it is, and so are the MCP servers
 * @throws OperatorError if an agent's fixed part leaves no room for a conversation
 */
export function createAgents(
  config: Pick<Config, "agents" | "llm"> & Partial<Pick<Config, "agentsDir">>,
  models: Models,
  prompts: Prompts,
  told: AgentEvents = {},
  before?: Agents,
): Agents {
  const names = new Map(config.agents.map(({ id, name }) => [id, name]));
  const [first, ...rest] = config.agents.map((one) => {
    const hasFolder = hasOwnFolder(config.agentsDir, one.id);
    const there = { hasFolder, tools: featureToolsOf(one, config.agentsDir) };
    const tools = there.tools.map(({ tool }) => tool);
    const window = configuredWindow(config.llm.models, one.model, one.contextWindow);
    const madeOf = JSON.stringify([one, window, hasFolder, tools, config.llm.maxRetries, [...names]]);
    const known = before?.madeSo(one.id, madeOf, prompts);
    const past = before?.named(one.id);
    const made = known ?? makeAgent(one, { config, models, prompts, names, there, told, madeOf }, past);
    const problem = fixedPartProblem(made.agent);
    if (problem !== null) throw new OperatorError(problem);
    return made;
  });
  if (first === undefined) throw new OperatorError("The configuration has no agent.");
  return new Agents([first, ...rest], { prompts, models, config }, before);
}

interface AgentMaking {
  readonly config: Pick<Config, "llm"> & Partial<Pick<Config, "agentsDir">>;
  readonly models: Models;
  readonly prompts: Prompts;
  readonly names: ReadonlyMap<AgentId, string>;
  /** What there is of its folder when it is made. */
  readonly there: { readonly hasFolder: boolean; readonly tools: readonly ToolMaker[] };
  readonly told: AgentEvents;
  readonly madeOf: string;
}

/** @param past the agent of this id before. No function here may hold it, or each agent would hold all that were before it. */
function makeAgent(one: AgentConfig, making: AgentMaking, past: StaffedAgent | undefined): StaffedAgent {
  const { config, models, prompts, names, there, told, madeOf } = making;
  const { onPassedOver = () => undefined, onFileProblem = () => undefined, servers } = told;
  const nameOf = (id: AgentId): string => names.get(id) ?? id;
  const agentModels = modelsOf(one, config, models, onPassedOver);
  const texts = agentTexts(one, prompts);
  const time = createTimeFormat(one.timeZone);
  const today = (): string => time.day(new Date());
  const onProblem = (problem: string): void => onFileProblem(one.id, problem);
  const own = there.hasFolder ? ownFolderOf(one, config.agentsDir, past, { today, onProblem }) : null;
  const folder =
    config.agentsDir === undefined
      ? NO_FOLDER
      : new AgentFolder({
          root: config.agentsDir,
          shownAs: basename(config.agentsDir),
          id: one.id,
          clock: steadyNow,
          own,
          today,
          refusalOf: (files) =>
            fixedPartProblem({ ...agent, tools, folder: { ...NO_FOLDER, own, current: files } }),
          onProblem,
        });
  const needs = {
    recall: one.memory.recall,
    window: windowForTools(one, agentModels, config.llm.models),
    ofFeatures: there.tools,
    described: describedToolsOf(one),
    configured: configuredBy(one),
  };
  const tools = createTools(prompts, needs);
  const serverTools =
    servers === undefined || one.mcp.length === 0
      ? null
      : new ServerTools({
          ...servers,
          servers: one.mcp,
          before: past?.serverTools ?? null,
          configured: needs.configured,
          own: (served) => (served.length === 0 ? tools : createTools(prompts, { ...needs, served })),
          room: () => roomForServers(agent, tools),
        });
  const agent = createAgent(
    { config: one, models: agentModels, tools, changingTools: serverTools, texts, folder },
    { self: null, nameOf: (id) => (id === null ? one.name : nameOf(id)) },
  );
  const compactorAgent = summariserOf(agent, models, prompts, nameOf);
  return { agent, compactorAgent, guests: { ...NO_GUESTS, nameOf }, serverTools, madeOf };
}

/** The configured window decides, and not what was learned since: the tools would change with each start. Default: the known one. */
function windowForTools(
  { model, contextWindow }: Pick<AgentConfig, "model" | "contextWindow">,
  known: Pick<Models, "windowOf">,
  configured: readonly ModelConfig[],
): number {
  return configuredWindow(configured, model, contextWindow) || known.windowOf(model, 0);
}

function modelsOf(
  { fallbacks }: AgentConfig,
  { llm }: Pick<Config, "llm">,
  models: Models,
  onPassedOver: RetryOptions["onPassedOver"],
): AgentModels {
  return {
    model: createRetryingModel(models.model, {
      fallbacks,
      maxAttempts: llm.maxRetries + 1,
      onPassedOver,
      evidenceOf: (name) => models.evidenceOf(name),
    }),
    resolve: async (configured) => models.resolve(configured),
    nameOf: (configured) => models.nameOf(configured),
    windowOf: (name, configured) => models.windowOf(name, configured),
    knownWindow: (name, configured) => models.knownWindow(name, configured),
    factorOf: (name) => models.factorOf(name),
    learnFactor: (name, report) => models.learnFactor(name, report),
    seesImages: (name) => models.seesImages(name),
    priceOf: (name) => models.priceOf(name),
    cacheRule: (name) => models.cacheRule(name),
  };
}

/** The one of before, if there is one: features keep what they do with its files by the object. */
function ownFolderOf(
  { id, timeZone }: AgentConfig,
  agentsDir: string | undefined,
  past: StaffedAgent | undefined,
  parts: Pick<OwnFolder, "today" | "onProblem">,
): OwnFolder | null {
  if (agentsDir === undefined) return null;
  const kept = past?.agent.config.timeZone === timeZone ? past.agent.folder.own : null;
  return kept ?? { root: join(agentsDir, id), shownAs: `${basename(agentsDir)}/${id}`, ...parts };
}
