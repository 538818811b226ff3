import { join } from "node:path";
import { createAgents, type StaffedAgent } from "../../src/agents.ts";
import type { AgentConfig } from "../../src/config/config.ts";
import type { Anchor } from "../../src/core/calibration.ts";
import { agentId } from "../../src/core/ids.ts";
import { ModelFactors } from "../../src/llm/model-factors.ts";
import type { Model } from "../../src/llm/model.ts";
import type { Models } from "../../src/llm/open-models.ts";
import { loadPrompts, type Prompts } from "../../src/prompts.ts";
import { Random } from "./random.ts";

export const AGENT = agentId("main");
export const MODEL = "talker";
export const SUMMARISER = "summariser";

/** What a configuration of the run says; a restart may bring another one. */
export interface Profile {
  /** The same number is the same configuration. */
  readonly number: number;
  readonly window: number;
  readonly summariserWindow: number;
  readonly config: AgentConfig;
}

const THRESHOLDS = [
  { backgroundThreshold: 0.8, aggressiveThreshold: 0.85, emergencyThreshold: 0.95, target: 0.6 },
  { backgroundThreshold: 0.7, aggressiveThreshold: 0.8, emergencyThreshold: 0.9, target: 0.5 },
  { backgroundThreshold: 0.75, aggressiveThreshold: 0.9, emergencyThreshold: 0.95, target: 0.6 },
];

/** @param base of the seed; restarts differ from it in a few values */
export function makeProfile(base: number, number: number): Profile {
  const random = new Random(base * 131 + number * 17);
  const window = random.pick([5500, 7500, 9500]);
  return {
    number,
    window,
    summariserWindow: random.pick([2600, 3400, 9000]),
    config: {
      id: AGENT,
      name: "Weir",
      instructions: "",
      prompt: null,
      compactorPrompt: null,
      model: MODEL,
      compactorModel: SUMMARISER,
      fallbacks: [],
      temperature: null,
      contextWindow: window,
      maxOutputTokens: 200,
      generationReserve: 100,
      maxToolIterations: 3,
      toolTimeoutMs: 5000,
      timeZone: "UTC",
      compaction: {
        enabled: true,
        notify: "off",
        ...random.pick(THRESHOLDS),
        keepMessages: random.pick([4, 8, 15]),
        maxRawMessages: random.pick([80, 150, 300]),
        deadlineMs: random.pick([60, 20_000]),
      },
    },
  };
}

/** The shipped prompts, with short ones where a small window needs them. */
function shortPrompts(): Prompts {
  const prompts = loadPrompts({ dir: join(import.meta.dirname, "../../prompts/en") });
  return {
    ...prompts,
    system: (_, { date }) => `You are Weir. Today is ${date}.`,
    compactor: (_, { agentPrompt }) => `Summarise. The agent: ${agentPrompt}`,
    toolMemoryRecall: "Finds memories.",
    toolSearchHistory: "Finds messages.",
    toolSkip: "Says nothing.",
    toolMemorySave: "Keeps memories.",
  };
}

const PROMPTS = shortPrompts();

/** The agent of one incarnation, over its own model. */
export function staff(profile: Profile, model: Model): StaffedAgent & { readonly models: Models } {
  const factors = new ModelFactors();
  const models: Models = {
    model,
    isOffline: false,
    describe: () => "scripted",
    resolve: async (name) => name,
    windowOf: (_, configured) => (configured > 0 ? configured : profile.summariserWindow),
    learnWindow: () => undefined,
    factorOf: (name) => factors.of(name),
    learnFactor: (name: string, report: Anchor) => factors.learn(name, report),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const llm = {
    baseUrl: null,
    apiKey: null,
    firstTokenTimeoutMs: 1000,
    idleTimeoutMs: 1000,
    maxRetries: 0,
  };
  const { agent, compactorAgent } = createAgents({ agents: [profile.config], llm }, models, PROMPTS).first;
  return { agent, compactorAgent, models };
}
