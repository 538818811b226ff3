import { join } from "node:path";
import type { Tool } from "../../src/tools/tool.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { type Agents, createAgents, type StaffedAgent } from "../../src/agents.ts";
import type { Summariser } from "../../src/compactor/summariser.ts";
import type { AgentConfig } from "../../src/config/config.ts";
import type { Anchor } from "../../src/core/calibration.ts";
import { agentId } from "../../src/core/ids.ts";
import { ModelFactors } from "../../src/llm/catalog/known-windows.ts";
import type { CacheRule } from "../../src/llm/caches/rules.ts";
import type { Model } from "../../src/llm/model.ts";
import type { Models } from "../../src/llm/models.ts";
import { loadPrompts, type Prompts } from "../../src/prompts/load.ts";
import { Random } from "./random.ts";

export const AGENT = agentId("main");
export const SECOND_AGENT = agentId("second");
/** As people and models read them. */
export const NAME = "Weir";
export const SECOND_NAME = "Sluice";

/** What an agent is called. */
export function nameOf(agent: string): string {
  return agent === SECOND_AGENT ? SECOND_NAME : NAME;
}
export const MODEL = "talker";
export const SUMMARISER = "summariser";
/** Stands in for either, where the configuration names it. */
export const UNDERSTUDY = "understudy";

/** What a configuration of the run says; a restart may bring another one. */
export interface Profile {
  /** The same number is the same configuration. */
  readonly number: number;
  readonly window: number;
  /** What the server really takes: less than is configured, in some. */
  readonly realWindow: number;
  /** The server says so when it refuses. */
  readonly tellsWindow: boolean;
  readonly summariserWindow: number;
  readonly config: AgentConfig;
  readonly second: AgentConfig;
}

const THRESHOLDS = [
  { backgroundThreshold: 0.8, aggressiveThreshold: 0.85, emergencyThreshold: 0.95, target: 0.6 },
  { backgroundThreshold: 0.7, aggressiveThreshold: 0.8, emergencyThreshold: 0.9, target: 0.5 },
  { backgroundThreshold: 0.75, aggressiveThreshold: 0.9, emergencyThreshold: 0.95, target: 0.6 },
];

/** The worker tiers are off. */
export const OFF = -1;

/** A deadline of jobs that is longer than a schedule holds its summariser, ms. */
const PATIENT_MS = 20_000;

/** @returns the number of the first configuration of the seed whose jobs no deadline ends while their summariser is held */
export function patientProfile(base: number): number {
  let number = 0;
  while (makeProfile(base, number).config.compaction.deadlineMs < PATIENT_MS) number++;
  return number;
}

/** @param base of the seed; restarts differ from it in a few values */
export function makeProfile(base: number, number: number): Profile {
  const random = new Random(base * 131 + number * 17);
  const window = random.pick([6000, 7500, 9000]);
  const config = makeConfig(random, window, number !== OFF);
  return {
    number,
    window,
    summariserWindow: random.pick([2600, 3400, 9000]),
    realWindow: random.chance(0.3) ? Math.floor(window * 0.85) : window,
    tellsWindow: random.chance(0.5),
    config: {
      ...config,
      instructions: ruleOf(number, window),
      fallbacks: random.chance(0.4) ? [UNDERSTUDY] : [],
    },
    second: {
      ...makeConfig(random, 6000, number !== OFF),
      instructions: ruleOf(number, 6000),
      id: SECOND_AGENT,
      name: SECOND_NAME,
    },
  };
}

/** What a daemon that runs takes up of another configuration; its servers are what they were. */
export function reloadedProfile(base: number, number: number, running: Profile): Profile {
  const { window, realWindow, tellsWindow, summariserWindow } = running;
  const made = makeProfile(base, number);
  const { contextWindow } = running.config;
  const config = { ...made.config, contextWindow, instructions: ruleOf(number, contextWindow) };
  return { ...made, window, realWindow, tellsWindow, summariserWindow, config };
}

/** By it a request tells of which configuration it is. A start may have another window than a reload of the same number. */
function ruleOf(number: number, window: number): string {
  return `Rule ${number}${window}.`;
}

/** The same wherever the configuration is. "": it tells none. */
export function ruleIn(system: string): string {
  return /\bRule -?\d+\./.exec(system)?.[0] ?? "";
}

function makeConfig(random: Random, window: number, enabled: boolean): AgentConfig {
  return {
    id: AGENT,
    name: NAME,
    suggestedPrompts: [],
    instructions: "",
    prompt: null,
    compactorPrompt: null,
    model: MODEL,
    compactorModel: SUMMARISER,
    fallbacks: [],
    seesImages: false,
    steer: true,
    longAnswers: "messages",
    temperature: null,
    contextWindow: window,
    maxOutputTokens: 200,
    generationReserve: 100,
    maxCallsPerTurn: 64,
    budget: {
      tokens: 0,
      dollars: 0,
      channelTokens: 0,
      channelDollars: 0,
      personTokens: 0,
      personDollars: 0,
      warnAt: 0.8,
    },
    maxToolIterations: 3,
    toolTimeoutMs: 60,
    notes: true,
    files: { attach: false },
    sharedMemory: [],
    aliases: [],
    mentionRoles: [],
    mcp: [],
    timeZone: "UTC",
    memory: { share: "channel", recall: "all" },
    subagents: {
      enabled: true,
      waitMs: 150,
      maxParallel: 2,
      maxSteps: 3,
      timeoutMs: 120_000,
      personas: {},
    },
    approvals: { tools: {}, approvers: [], expireMs: 60_000 },
    questions: { enabled: true, expireMs: 60_000 },
    reminders: { enabled: true, graceMs: 86_400_000 },
    schedules: [],
    pruning: { wholeTurns: 0, stepTurns: 4, stubOver: 400, stubLength: 200, threshold: 0 },
    compaction: {
      preset: "default",
      enabled,
      notify: random.chance(0.4) ? "channel" : "off",
      ...random.pick(THRESHOLDS),
      keepMessages: random.pick([4, 8, 15]),
      maxRawMessages: random.pick([80, 150, 300]),
      maxRawTokens: random.pick([2000, 24_000, 24_000]),
      writeAhead: random.chance(0.7),
      deadlineMs: random.pick([200, PATIENT_MS, PATIENT_MS]),
    },
  };
}

/** The shipped prompts, with short ones where a small window needs them. */
function shortPrompts(): Prompts {
  const prompts = loadPrompts({ dir: join(import.meta.dirname, "../../prompts/en") });
  return {
    render(name, values, agent) {
      const given: Readonly<Record<string, unknown>> = values;
      if (name === "system")
        return `You are ${String(given["agentName"])}. Today is ${String(given["date"])}. ${String(given["instructions"])}`;
      if (name === "compactor") return `Summarise. The agent: ${String(given["agentPrompt"])}`;
      return SHORT_TOOL_TEXTS[name] ?? prompts.render(name, values, agent);
    },
  };
}

const SHORT_TOOL_TEXTS: Readonly<Record<string, string>> = {
  "tool-memory-recall": "Finds memories.",
  "tool-read-messages": "Reads messages.",
  "tool-search-history": "Finds messages.",
  "tool-react": "Reacts.",
  "tool-skip": "Says nothing.",
  "tool-memory-save": "Keeps memories.",
  "tool-hand-off": "Hands over.",
  "tool-spawn-agent": "Begins a subagent.",
  "tool-ask": "Asks.",
  "tool-remind": "Reminds.",
  "tool-memory-write": "Notes what lasts.",
  "tool-note": "Notes.",
};

const PROMPTS = shortPrompts();

/** What a mutant changes of the agents. */
export interface Miscast {
  readonly config?: (config: AgentConfig) => AgentConfig;
  readonly system?: (text: string, now: Date) => string;
  readonly compactorAgent?: (agent: Summariser) => Summariser;
}

export interface Staff {
  readonly agents: Agents;
  readonly models: Models;
  readonly prompts: Prompts;
  readonly agentsDir: string;
}

/** The same, with one more tool. */
export function withTool({ agent, guests, compactorAgent }: StaffedAgent, tool: Tool): StaffedAgent {
  const having = (one: Agent): Agent => ({
    ...one,
    tools: [...one.tools, tool].toSorted((a, b) => (a.spec.name < b.spec.name ? -1 : 1)),
  });
  const known = new Map(
    guests.team.flatMap(({ agent: id }) => {
      const guest = id === null ? undefined : guests.agent(id);
      return guest === undefined ? [] : [[guest.config.id, having(guest)] as const];
    }),
  );
  return { agent: having(agent), compactorAgent, guests: { ...guests, agent: (id) => known.get(id) } };
}

/** The agents of one incarnation, over its own model. */
export function staff(
  {
    profile,
    agentsDir,
    model,
  }: { readonly profile: Profile; readonly agentsDir: string; readonly model: Model },
  miscast: Miscast,
  now: () => Date,
): Staff {
  const models = modelsOf(profile, model);
  const { system = (text) => text } = miscast;
  const prompts: Prompts = {
    render(name, values, agent) {
      const text = PROMPTS.render(name, values, agent);
      return name === "system" ? system(text, now()) : text;
    },
  };
  const parts = { models, prompts, agentsDir };
  return { ...parts, agents: agentsOf(profile, parts, miscast) };
}

/** The same by another configuration: who would be the same agent is. */
export function restaffed(profile: Profile, before: Staff, miscast: Miscast): Staff {
  return { ...before, agents: agentsOf(profile, before, miscast, before.agents) };
}

/** It goes cold within a schedule, now and then. */
const HASTY_CACHE: CacheRule = {
  marks: "breakpoints",
  most: 4,
  least: 0,
  read: 0.1,
  lives: [{ ms: 150, write: 1.25, ttl: undefined }],
};

function modelsOf(profile: Profile, model: Model): Models {
  const factors = new ModelFactors();
  const learned = new Map<string, number>();
  const windowOf = (name: string, configured: number): number =>
    Math.min(configured > 0 ? configured : profile.summariserWindow, learned.get(name) ?? Infinity);
  const learnWindow = (name: string, tokens: number): void => {
    learned.set(name, Math.min(tokens, learned.get(name) ?? tokens));
  };
  return {
    model,
    isOffline: false,
    describe: () => "scripted",
    configure: () => undefined,
    trying: (_, work) => work(),
    recallLearned: async () => [],
    resolve: async (name) => name,
    nameOf: (name) => name,
    windowOf,
    knownWindow: (name, configured) => ({
      tokens: windowOf(name, configured),
      source: "listed",
      until: null,
    }),
    learnWindow,
    evidenceOf: (name) => ({
      factor: factors.of(name),
      answered: Infinity,
      suspicion: null,
      suspect: () => undefined,
      learn: (tokens) => learnWindow(name, tokens),
      noteAnswer({ estimated, teachesFactor }, usage) {
        if (usage !== undefined && teachesFactor)
          factors.learn(name, { estimated, reported: usage.promptTokens });
      },
    }),
    factorOf: (name) => factors.of(name),
    learnFactor: (name: string, report: Anchor) => factors.learn(name, report),
    seesImages: () => true,
    priceOf: () => undefined,
    cacheRule: () => HASTY_CACHE,
    askPrices: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function agentsOf(
  profile: Profile,
  { models, prompts, agentsDir }: Omit<Staff, "agents">,
  { config = (one) => one }: Miscast,
  before?: Agents,
): Agents {
  const llm = {
    baseUrl: null,
    apiKey: null,
    firstTokenTimeoutMs: 1000,
    idleTimeoutMs: 1000,
    maxRetries: 0,
    api: "auto" as const,
    servers: [],
    models: [],
    embeddings: null,
    transcription: null,
  };
  const configured = { agents: [config(profile.config), config(profile.second)], llm, agentsDir };
  return createAgents(configured, models, prompts, {}, before);
}
