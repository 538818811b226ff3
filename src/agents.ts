import type { Summariser } from "./compactor/summariser.ts";
import { digestEntries, digestTexts } from "./context/digest.ts";
import type { AgentConfig, Config } from "./config/config.ts";
import { OperatorError } from "./core/errors.ts";
import { type Guests, NO_GUESTS } from "./channel/guests.ts";
import type { Perspective } from "./context/render.ts";
import type { AgentId } from "./core/ids.ts";
import type { Team, TeamMember } from "./core/team.ts";
import type { Models } from "./llm/model-provider.ts";
import { createRetryingModel, type RetryOptions } from "./llm/retrying-model.ts";
import type { Prompts } from "./prompts/load.ts";
import { type Binding, bindingFor, type NameHolds } from "./router/bindings.ts";
import type { ChannelRow } from "./store/channels/channels.ts";
import type { Digester } from "./store/compaction/extracts.ts";
import { ServerTools, type ServerToolsParts } from "./mcp/server-tools.ts";
import { inSlices } from "./async/cooperative.ts";
import { handOffTool } from "./tools/hand-off.ts";
import { createTools, type ToolNeeds } from "./tools/tools.ts";
import { modelsOfSubagents } from "./turn/subagent/subagent.ts";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { NoteKeeper } from "./agent-files/note-keeper.ts";
import { AgentFolder, type AgentFolderParts, mayHaveSkills } from "./agent-files/agent-folder.ts";
import { steadyNow } from "./async/clock.ts";
import { createTimeFormat } from "./text/time.ts";
import {
  type Agent,
  type AgentModels,
  type AgentTexts,
  createAgent,
  type MoreTools,
  NO_FOLDER,
  withMoreTools,
} from "./turn/agent.ts";
import { fixedPartProblem, roomForServers } from "./turn/fixed-part.ts";

/** Model calls of one attempt at a summary: rounds of `memory_save`, parts, their putting together, a shorter text. */
const MAX_CALLS = 10;

/** An agent with what writes its summaries, and who else answers in its channels. */
export interface StaffedAgent {
  readonly agent: Agent;
  readonly compactorAgent: Summariser;
  readonly guests: Guests;
  /** Null: it has no servers, or nobody may start them. */
  readonly serverTools?: ServerTools | null;
}

/** Who answers a channel, by its row. */
export interface Answering {
  /** How; undefined: nobody does any more. */
  readonly bindingOf: (channel: ChannelRow) => Binding | undefined;
  readonly staffOf: (channel: ChannelRow) => StaffedAgent;
  /** Makes the extract that replaces a summary with a forgotten text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
}

export function answeringOf(
  agents: Agents,
  bindings: readonly Binding[],
  names: { readonly holds: NameHolds },
): Answering {
  const bindingOf = (channel: ChannelRow): Binding | undefined =>
    bindingFor(bindings, channel, (...name) => names.holds(...name));
  return {
    bindingOf,
    staffOf: (channel) => agents.bound(channel.agent, bindingOf(channel)),
    digesterOf: ({ agent }) => agents.of(agent).compactorAgent.digester,
  };
}

/** Who is told what happens to agents. */
export interface AgentEvents {
  /** Of each answer of a fallback. */
  readonly onPassedOver?: RetryOptions["onPassedOver"];
  /** Of each file of an agent's folder that cannot be used as it is. */
  readonly onFileProblem?: (agent: AgentId, problem: string) => void;
  /** What the MCP servers of the agents are started with; left out: none is, and agents have Weir's own tools alone. */
  readonly servers?: Pick<ServerToolsParts, "log" | "mask" | "timing">;
}

/** The agents of a configuration, by id. */
export class Agents implements AsyncDisposable {
  readonly first: StaffedAgent;
  readonly #byId: ReadonlyMap<AgentId, StaffedAgent>;
  readonly #prompts: Prompts;
  /** Agents with others beside them, by the ids of all. */
  readonly #staffs = new Map<string, StaffedAgent>();

  constructor(agents: readonly [StaffedAgent, ...StaffedAgent[]], prompts: Prompts) {
    this.first = agents[0];
    this.#byId = new Map(agents.map((one) => [one.agent.config.id, one]));
    this.#prompts = prompts;
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

  /** Ends the MCP servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      Array.from(this.#byId.values(), async ({ serverTools }) => serverTools?.[Symbol.asyncDispose]()),
    );
  }

  /** What keeps the notes of those that keep any. */
  noteKeepers(): ReadonlyMap<AgentId, NoteKeeper> {
    return new Map(
      [...this.#byId].flatMap(([id, { agent }]) => (agent.notes === null ? [] : [[id, agent.notes]])),
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
   * Who answers a channel that the log knows. A channel follows its binding with its next message; one whose agent has another id by
   * now does so at once.
   */
  bound(id: AgentId, binding?: { readonly agent: AgentId; readonly also: readonly AgentId[] }): StaffedAgent {
    const own = this.#byId.has(id) ? id : (binding?.agent ?? id);
    return this.with(own, binding?.also ?? []);
  }

  /** The agent of a channel in which others answer as well. The same object for the same agents. */
  with(id: AgentId, also: readonly AgentId[]): StaffedAgent {
    const alone = this.of(id);
    const team = this.teamOf(id, also);
    if (team.length === 0) return alone;
    const key = [alone.agent.config.id, ...team.map(({ agent }) => agent ?? "")].join(" ");
    const staff = this.#staffs.get(key) ?? this.#together(alone, team);
    this.#staffs.set(key, staff);
    return staff;
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

/**
 * @param told default: nobody is
 * @throws OperatorError if an agent's fixed part leaves no room for a conversation
 */
export function createAgents(
  config: Pick<Config, "agents" | "llm"> & Partial<Pick<Config, "agentsDir">>,
  models: Models,
  prompts: Prompts,
  told: AgentEvents = {},
): Agents {
  const { onPassedOver = () => undefined, onFileProblem = () => undefined, servers } = told;
  const names = new Map(config.agents.map(({ id, name }) => [id, name]));
  const nameOf = (id: AgentId): string => names.get(id) ?? id;
  const agents = config.agents.map((one) => {
    const agentModels = modelsOf(one, config, models, onPassedOver);
    const texts = agentTexts(one, prompts);
    const time = createTimeFormat(one.timeZone);
    const today = (): string => time.day(new Date());
    const folder =
      config.agentsDir === undefined
        ? NO_FOLDER
        : createFolder(one.id, config.agentsDir, {
            today,
            refusalOf: (files) =>
              fixedPartProblem({ ...agent, tools, folder: { ...NO_FOLDER, current: files } }),
            onProblem: (problem) => onFileProblem(one.id, problem),
          });
    const notes = noteKeeperOf(one.id, config.agentsDir, {
      today,
      onProblem: (problem) => onFileProblem(one.id, problem),
    });
    const needs = {
      keepsNotes: one.notes && notes !== null,
      recall: one.memory.recall,
      setsReminders: one.reminders.enabled,
      hasSkills: config.agentsDir !== undefined && mayHaveSkills(config.agentsDir, one.id),
      subagents: one.subagents.enabled ? subagentChoices(one) : undefined,
      approvals: one.approvals.tools,
    };
    const tools = createTools(prompts, needs);
    const serverTools =
      servers === undefined || one.mcp.length === 0
        ? null
        : new ServerTools({
            ...servers,
            servers: one.mcp,
            own: (served) => (served.length === 0 ? tools : createTools(prompts, { ...needs, served })),
            room: () => roomForServers(agent, tools),
          });
    const agent = createAgent(
      { config: one, models: agentModels, tools, changingTools: serverTools, texts, folder, notes },
      { self: null, nameOf: (id) => (id === null ? one.name : nameOf(id)) },
    );
    const problem = fixedPartProblem(agent);
    if (problem !== null) throw new OperatorError(problem);
    const compactorAgent = compactorAgentOf(agent, models, prompts, nameOf);
    return { agent, compactorAgent, guests: { ...NO_GUESTS, nameOf }, serverTools };
  });
  const [first, ...rest] = agents;
  if (first === undefined) throw new OperatorError("The configuration has no agent.");
  return new Agents([first, ...rest], prompts);
}

function modelsOf(
  { fallbacks }: AgentConfig,
  { llm }: Pick<Config, "llm">,
  models: Models,
  onPassedOver: RetryOptions["onPassedOver"],
): AgentModels {
  return {
    model: createRetryingModel(models.model, { fallbacks, maxAttempts: llm.maxRetries + 1, onPassedOver }),
    resolve: async (configured) => models.resolve(configured),
    windowOf: (name, configured) => models.windowOf(name, configured),
    learnWindow: (name, tokens, refusedBy) => models.learnWindow(name, tokens, refusedBy),
    factorOf: (name) => models.factorOf(name),
    learnFactor: (name, report) => models.learnFactor(name, report),
    seesImages: (name) => models.seesImages(name),
    priceOf: (name) => models.priceOf(name),
  };
}

function subagentChoices(agent: AgentConfig): NonNullable<ToolNeeds["subagents"]> {
  return { personas: Object.keys(agent.subagents.personas), models: modelsOfSubagents(agent) };
}

function agentTexts(config: AgentConfig, prompts: Prompts): AgentTexts {
  const { id, name, instructions, memory } = config;
  const deleted = prompts.render("deleted", {});
  const unfound = prompts.render("unfound", {}).trim();
  return {
    system: ({ date }) =>
      prompts.render("system", { agentName: name, instructions, date, recall: memory.recall }, id),
    sections: (values) => prompts.render("sections", { agentName: name, ...values }),
    dynamic: (values) => prompts.render("dynamic", values),
    unfound: () => unfound,
    omission: (values) => prompts.render("omission", values),
    subagent: (values) => prompts.render("subagent", { agentName: name, ...values }),
    subagentTask: (values) => prompts.render("subagent-task", values),
    editNote: (values) => prompts.render("edit-note", values),
    absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
    resultImages: (values) => prompts.render("result-images", values).trim(),
    failure: ({ kind }) => prompts.render("failure", { kind }).trim(),
    deleted: () => deleted,
  };
}

function compactorAgentOf(
  agent: Agent,
  models: Models,
  prompts: Prompts,
  nameOf: (agent: AgentId) => string,
): Summariser {
  const { config, time } = agent;
  const { id, name, compactorModel, fallbacks, model } = config;
  const names = [...new Set([compactorModel, ...fallbacks])];
  return {
    compaction: config.compaction,
    agentName: name,
    time,
    model: agent.models.model,
    nameOf,
    digester: createDigester(agent, prompts, nameOf),
    thinkingAllowance: config.maxOutputTokens,
    maxCalls: MAX_CALLS,
    noticeText: (messages) => prompts.render("compaction-notice", { count: messages }).trim(),
    modelNames: () => names,
    resolve: async (configured, signal) => models.resolve(configured, signal),
    // An agent's context_window is that of its own model.
    windowOf: (resolved, configured) =>
      models.windowOf(resolved, configured === model ? config.contextWindow : 0),
    // How to answer is none of a summariser's business; a template of the agent's own may say who it is.
    get systemText() {
      return config.prompt === null
        ? [config.instructions, soulOf(agent)].filter((text) => text !== "").join("\n\n")
        : agent.texts.system({ date: time.day(new Date()) });
    },
    texts: {
      instructions: (values) => prompts.render("compactor", values, id),
      background: (values) => prompts.render("compactor-background", values),
      task: (values) => prompts.render("compactor-task", values),
      merge: (values) => prompts.render("compactor-merge", values),
      shorten: (values) => prompts.render("compactor-shorten", values),
      memorySave: prompts.render("tool-memory-save", {}),
      memoryResult: (values) => prompts.render("memory-result", values),
      editNote: (values) => prompts.render("edit-note", values),
      absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
    },
  };
}

/** What the agent's folder says of who it is. */
function soulOf({ folder }: Agent): string {
  return folder.current.files.find(({ kind }) => kind === "soul")?.text.trim() ?? "";
}

function createDigester(
  { config, time }: Agent,
  prompts: Prompts,
  nameOf: (agent: AgentId) => string,
): Digester {
  return {
    ofEntries: async (entries, maxTokens, focus = "") =>
      inSlices(
        digestEntries(entries, time, {
          maxTokens,
          focus,
          nameOf,
          agentName: config.name,
          frame: (values) => prompts.render("digest", values).trim(),
        }),
      ),
    ofTexts: async (texts, maxTokens) => inSlices(digestTexts(texts, { maxTokens })),
  };
}

function createFolder(
  id: AgentId,
  root: string,
  parts: Pick<AgentFolderParts, "today" | "refusalOf" | "onProblem">,
): AgentFolder {
  return new AgentFolder({ root, shownAs: basename(root), id, clock: steadyNow, ...parts });
}

/** @returns null: the agent has no folder of its own to keep notes in */
function noteKeeperOf(
  id: AgentId,
  agentsDir: string | undefined,
  parts: Pick<AgentFolderParts, "today" | "onProblem">,
): NoteKeeper | null {
  if (agentsDir === undefined || !existsSync(join(agentsDir, id))) return null;
  const root = join(agentsDir, id);
  return new NoteKeeper({ root, shownAs: `${basename(agentsDir)}/${id}`, ...parts });
}
