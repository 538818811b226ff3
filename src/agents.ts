import type { Summariser } from "./compactor/summariser.ts";
import { digestEntries, digestTexts } from "./context/digest.ts";
import type { AgentConfig, Config } from "./config/config.ts";
import { usableTokens } from "./context/usage.ts";
import { SUMMARIES_SHARE } from "./core/compaction.ts";
import { OperatorError } from "./core/errors.ts";
import type { AgentId } from "./core/ids.ts";
import { estimateTokens } from "./text/tokens.ts";
import type { Models } from "./llm/model-provider.ts";
import { createRetryingModel, type RetryOptions } from "./llm/retrying-model.ts";
import type { Prompts } from "./prompts/load.ts";
import type { Digester } from "./store/compaction/extracts.ts";
import { inSlices } from "./async/cooperative.ts";
import { createTools } from "./tools/tools.ts";
import { type Agent, type AgentModels, type AgentTexts, budgetOf, createAgent } from "./turn/agent.ts";

/** Model calls of one attempt at a summary: rounds of `memory_save`, parts, their putting together, a shorter text. */
const MAX_CALLS = 10;

/** An agent with what writes its summaries. */
export interface StaffedAgent {
  readonly agent: Agent;
  readonly compactorAgent: Summariser;
}

/** The agents of a configuration, by id. */
export class Agents {
  readonly first: StaffedAgent;
  readonly #byId: ReadonlyMap<AgentId, StaffedAgent>;

  constructor(agents: readonly [StaffedAgent, ...StaffedAgent[]]) {
    this.first = agents[0];
    this.#byId = new Map(agents.map((one) => [one.agent.config.id, one]));
  }

  /** The agent of a channel; a channel whose agent the configuration no longer has is answered by the first. */
  of(id: AgentId): StaffedAgent {
    return this.#byId.get(id) ?? this.first;
  }
}

/**
 * @param onPassedOver told of each answer of a fallback; default: nobody is
 * @throws OperatorError if an agent's fixed part leaves no room for a conversation
 */
export function createAgents(
  config: Pick<Config, "agents" | "llm">,
  models: Models,
  prompts: Prompts,
  onPassedOver: RetryOptions["onPassedOver"] = () => undefined,
): Agents {
  const tools = createTools(prompts);
  const agents = config.agents.map((one) => {
    const agentModels = modelsOf(one, config, models, onPassedOver);
    const agent = createAgent({ config: one, models: agentModels, tools, texts: agentTexts(one, prompts) });
    checkFixedPart(agent);
    return { agent, compactorAgent: compactorAgentOf(agent, models, prompts) };
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
    learnWindow: (name, tokens) => models.learnWindow(name, tokens),
    factorOf: (name) => models.factorOf(name),
    learnFactor: (name, report) => models.learnFactor(name, report),
  };
}

function agentTexts(config: AgentConfig, prompts: Prompts): AgentTexts {
  const { id, name, instructions } = config;
  const deleted = prompts.render("deleted", {});
  return {
    system: ({ date }) => prompts.render("system", { agentName: name, instructions, date }, id),
    dynamic: (values) => prompts.render("dynamic", values),
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
    // The configured window is that of the agent's own model.
    windowOf: (resolved) => models.windowOf(resolved, compactorModel === model ? config.contextWindow : 0),
    // How to answer is none of a summariser's business; a template of the agent's own may say who it is.
    get systemText() {
      return config.prompt === null
        ? config.instructions
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

/**
 * What is in every request, and all summaries together, must leave a conversation room under the target: else each
 * compaction would only make another one due. A mistake to report at start, never a reason to compact.
 */
function checkFixedPart(agent: Agent): void {
  const { config, texts, tools } = agent;
  const budget = budgetOf(agent, config.model);
  const usable = usableTokens(budget);
  const { enabled, target } = config.compaction;
  const fixed = estimateTokens(
    texts.system({ date: "2026-01-01" }) + JSON.stringify(tools.map(({ spec }) => spec)),
  );
  const room = Math.floor(enabled ? (target - SUMMARIES_SHARE) * usable : budget.window / 2);
  if (fixed < room) return;
  const limit = enabled
    ? `${room}, which is the target (${target}) less ${SUMMARIES_SHARE} for summaries, of ${usable} usable tokens`
    : `${room}, half of the window`;
  throw new OperatorError(
    `Agent "${config.id}": its prompt and tools take about ${fixed} tokens, and ${config.model} has room for ${limit}. ` +
      "Shorten its instructions, raise compaction.target, or set context_window to what the model really holds.",
  );
}
