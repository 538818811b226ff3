import type { Summariser } from "./compactor/summariser.ts";
import { digestEntries, digestTexts } from "./context/digest.ts";
import type { AgentConfig, Config } from "./config/config.ts";
import { usableTokens } from "./context/usage.ts";
import { SUMMARIES_SHARE } from "./core/compaction.ts";
import type { Section } from "./core/context.ts";
import { OperatorError } from "./core/errors.ts";
import type { AgentId } from "./core/ids.ts";
import { estimateTokens } from "./text/tokens.ts";
import type { Models } from "./llm/model-provider.ts";
import { createRetryingModel, type RetryOptions } from "./llm/retrying-model.ts";
import type { Prompts } from "./prompts/load.ts";
import type { Digester } from "./store/compaction/extracts.ts";
import { ServerTools, type ServerToolsParts } from "./mcp/server-tools.ts";
import { inSlices } from "./async/cooperative.ts";
import { createTools } from "./tools/tools.ts";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { NoteKeeper } from "./agent-files/note-keeper.ts";
import { AgentFolder, type AgentFolderParts, mayHaveSkills } from "./agent-files/agent-folder.ts";
import { steadyNow } from "./async/clock.ts";
import { chooseSections } from "./context/sections/choose.ts";
import { type SectionLimits, sectionLimits } from "./context/sections/fit.ts";
import { createTimeFormat } from "./text/time.ts";
import {
  type Agent,
  type AgentModels,
  type AgentTexts,
  budgetOf,
  createAgent,
  NO_FOLDER,
} from "./turn/agent.ts";
import { systemText } from "./turn/context-sources.ts";

/** Model calls of one attempt at a summary: rounds of `memory_save`, parts, their putting together, a shorter text. */
const MAX_CALLS = 10;

/** An agent with what writes its summaries. */
export interface StaffedAgent {
  readonly agent: Agent;
  readonly compactorAgent: Summariser;
  /** Null: it has no servers, or nobody may start them. */
  readonly serverTools?: ServerTools | null;
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

  constructor(agents: readonly [StaffedAgent, ...StaffedAgent[]]) {
    this.first = agents[0];
    this.#byId = new Map(agents.map((one) => [one.agent.config.id, one]));
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

  /** The agent of a channel; a channel whose agent the configuration no longer has is answered by the first. */
  of(id: AgentId): StaffedAgent {
    return this.#byId.get(id) ?? this.first;
  }
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
            refusalOf: (files) => fixedPartProblem({ ...agent, tools, folder: { ...NO_FOLDER, current: files } }),
            onProblem: (problem) => onFileProblem(one.id, problem),
          });
    const notes = noteKeeperOf(one.id, config.agentsDir, {
      today,
      onProblem: (problem) => onFileProblem(one.id, problem),
    });
    const tools = createTools(prompts, {
      keepsNotes: one.notes && notes !== null,
      recall: one.memory.recall,
      hasSkills: config.agentsDir !== undefined && mayHaveSkills(config.agentsDir, one.id),
    });
    const serverTools =
      servers === undefined || one.mcp.length === 0
        ? null
        : new ServerTools({ ...servers, servers: one.mcp, own: tools, room: () => roomForServers(agent, tools) });
    const parts = { config: one, models: agentModels, tools, texts, folder, notes };
    const agent = createAgent(parts, serverTools);
    const problem = fixedPartProblem(agent);
    if (problem !== null) throw new OperatorError(problem);
    return { agent, compactorAgent: compactorAgentOf(agent, models, prompts), serverTools };
  });
  const [first, ...rest] = agents;
  if (first === undefined) throw new OperatorError("The configuration has no agent.");
  return new Agents([first, ...rest]);
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
    editNote: (values) => prompts.render("edit-note", values),
    absence: ({ kind, from, to }) => prompts.render("absence", { kind, fromTime: from, toTime: to }),
    failure: ({ kind }) => prompts.render("failure", { kind }).trim(),
    deleted: () => deleted,
  };
}

function compactorAgentOf(agent: Agent, models: Models, prompts: Prompts): Summariser {
  const { config, time } = agent;
  const { id, name, compactorModel, fallbacks, model } = config;
  const names = [...new Set([compactorModel, ...fallbacks])];
  return {
    compaction: config.compaction,
    agentName: name,
    time,
    model: agent.models.model,
    digester: createDigester(agent, prompts),
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

function createDigester({ config, time }: Agent, prompts: Prompts): Digester {
  return {
    ofEntries: async (entries, maxTokens) =>
      inSlices(
        digestEntries(entries, time, {
          maxTokens,
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

/**
 * What is in every request, and all summaries together, must leave a conversation room under the target: else each
 * compaction would only make another one due. A mistake to report, never a reason to compact.
 * @returns null: there is room
 */
function fixedPartProblem(agent: Agent): string | null {
  const { config } = agent;
  const { sections, limits, usable, fixed, room } = fixedPart(agent);
  const { enabled, target } = config.compaction;
  const whole = sections.filter(({ isProtected }) => isProtected);
  const wholeTokens = whole.reduce((sum, { tokens }) => sum + tokens.after, 0);
  if (wholeTokens > limits.tokens) {
    const names = whole.map(({ source }) => source).join(" and ");
    return (
      `Agent "${config.id}": ${names} are never cut, take about ${wholeTokens} tokens, and may take ` +
      `${limits.tokens}, a quarter of ${usable} usable tokens. Shorten them, or set context_window to what the model really holds.`
    );
  }
  if (fixed < room) return null;
  const limit = enabled
    ? `${room}, which is the target (${target}) less ${SUMMARIES_SHARE} for summaries, of ${usable} usable tokens`
    : `${room}, half of the window`;
  return (
    `Agent "${config.id}": its prompt and tools take about ${fixed} tokens, and ${config.model} has room for ${limit}. ` +
    "Shorten its instructions and the files of its folder, raise compaction.target, or set context_window to what the model really holds."
  );
}

/** What of an agent is in every request, and what it has to leave room in; estimated tokens. */
function fixedPart(agent: Agent): {
  readonly sections: readonly Section[];
  readonly limits: SectionLimits;
  readonly usable: number;
  readonly fixed: number;
  readonly room: number;
} {
  const { config, tools, folder } = agent;
  const budget = budgetOf(agent, config.model);
  const usable = usableTokens(budget);
  const { enabled, target } = config.compaction;
  const limits = sectionLimits(usable);
  const nowhere = { platform: "", names: [], fileNames: [] };
  const sections = chooseSections(folder.current, nowhere, [], limits).static;
  const fixed = estimateTokens(
    systemText(agent, "2026-01-01", sections) + JSON.stringify(tools.map(({ spec }) => spec)),
  );
  const room = Math.floor(enabled ? (target - SUMMARIES_SHARE) * usable : budget.window / 2);
  return { sections, limits, usable, fixed, room };
}

/**
 * Estimated tokens that tools of servers may take: half of what the agent's own leave, so that no server can take a conversation its
 * room.
 */
function roomForServers(agent: Agent, own: Agent["tools"]): number {
  const { fixed, room } = fixedPart({ ...agent, tools: own });
  return Math.max(0, Math.floor((room - fixed) / 2));
}
