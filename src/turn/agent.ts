import type { AgentFolder } from "../agent-files/agent-folder.ts";
import { type AgentConfig, reserveIn } from "../config/config.ts";
import { type EntryTexts, type Perspective, Renderer } from "../context/render.ts";
import type { Budget } from "../context/usage.ts";
import { NO_FILES } from "../context/sections/section.ts";
import type { Anchor } from "../core/calibration.ts";
import type { Section } from "../core/context.ts";
import type { TurnId } from "../core/ids.ts";
import type { Pace } from "../core/pace.ts";
import { createTimeFormat, type TimeFormat } from "../text/time.ts";
import type { Models } from "../llm/models.ts";
import type { RetryingModel } from "../llm/retrying-model.ts";
import { type CacheTerms, cacheTerms } from "../llm/caches/terms.ts";
import type { FailureKind, Prompts } from "../prompts/load.ts";
import type { Tool } from "../tools/tool.ts";

export interface AgentModels extends Pick<
  Models,
  "nameOf" | "windowOf" | "knownWindow" | "factorOf" | "learnFactor" | "seesImages"
> {
  readonly model: RetryingModel;
  /** The server's name for a configured model (`auto` is looked up once). */
  resolve(configured: string): Promise<string>;
  /** Undefined: unknown. */
  readonly priceOf: Models["priceOf"];
  /** The cache rule for a model's requests; undefined: nothing is cached. Left out: unknown. */
  readonly cacheRule?: Models["cacheRule"];
}

/** All texts of an agent's contexts besides people's messages. */
export interface AgentTexts extends EntryTexts {
  system(values: { date: string }): string;
  /** The parts of its folder that stay the same all day. */
  sections(values: {
    folder: string;
    tools: readonly string[];
    /** One of its tools writes there. */
    writesFolder: boolean;
    sections: readonly SectionText[];
  }): string;
  dynamic(values: {
    sections: readonly SectionText[];
    now: string;
    platform: string;
    channel: string;
    people: readonly string[];
    due: number;
  }): string;
  /** One plain sentence for a person whose message has no answer. */
  failure(values: { kind: FailureKind; calls: number }): string;
  /** The text for a question without a finding. */
  unfound(): string;
  omission(values: { count: number; fromTime: string; toTime: string }): string;
  readonly render: Prompts["render"];
}

/** A section of the agent's folder, as templates get it. */
export type SectionText = Pick<Section, "kind" | "scope" | "source" | "text">;

export type FolderFiles = Pick<
  AgentFolder,
  "shownAs" | "current" | "refusal" | "own" | "list" | "skillFiles" | "readSkillFile" | "refresh"
>;

export const NO_FOLDER: FolderFiles = {
  shownAs: "",
  current: NO_FILES,
  refusal: null,
  own: null,
  list: async () => [],
  skillFiles: async () => [],
  readSkillFile: async () => "",
  refresh: () => null,
};

/** A persona that answers channels, built from its configuration. */
export interface Agent {
  readonly config: AgentConfig;
  readonly models: AgentModels;
  /** The current tools. In a channel's agent, they stay as the channel froze them (`channel/frozen-tools.ts`). */
  readonly tools: readonly Tool[];
  /** Present if a server's tools may change later; null: the tools never change. */
  readonly changingTools: ChangingTools | null;
  readonly texts: AgentTexts;
  readonly folder: FolderFiles;
  readonly time: TimeFormat;
  readonly renderer: Renderer;
}

/**
 * @param parts.changingTools replaces its tools; default: they never change
 * @param as the agent whose requests it renders; default: the channel's own
 */
export function createAgent(
  parts: Pick<Agent, "config" | "models" | "tools" | "texts" | "folder"> &
    Partial<Pick<Agent, "changingTools">>,
  as?: Perspective,
): Agent {
  const { changingTools = null } = parts;
  const time = createTimeFormat(parts.config.timeZone);
  const renderer = new Renderer(time, parts.texts, parts.config.pruning, as);
  return withChangingTools({ ...parts, time, renderer, changingTools });
}

export interface ChangingTools {
  /** The identical list while nothing changes. */
  readonly current: readonly Tool[];
  /** Resolves when every server has begun, failed or timed out; null: already so. */
  whenBegun(): Promise<void> | null;
}

/** The agent, always with the current tools. */
function withChangingTools(agent: Agent): Agent {
  const { changingTools } = agent;
  if (changingTools === null) return agent;
  return {
    ...agent,
    get tools() {
      return changingTools.current;
    },
  };
}

/** Adds the tools of one place to an agent's usual ones. */
export type MoreTools = (tools: readonly Tool[]) => readonly Tool[];

/** The agent with more tools, which are kept as the others change. */
export function withMoreTools(agent: Agent, more: MoreTools): Agent {
  const { changingTools } = agent;
  if (changingTools === null) return { ...agent, tools: more(agent.tools) };
  let of = changingTools.current;
  let made = more(of);
  const changing: ChangingTools = {
    get current() {
      if (of !== changingTools.current) {
        of = changingTools.current;
        made = more(of);
      }
      return made;
    },
    whenBegun: () => changingTools.whenBegun(),
  };
  return withChangingTools({ ...agent, changingTools: changing });
}

/** The agent's settings for requests to a fallback: `context_window` applies to its own model only. */
export function forFallback<Of extends { readonly config: AgentConfig }>(agent: Of): Of {
  return { ...agent, config: { ...agent.config, contextWindow: 0 } };
}

/**
 * The cache terms of a channel's requests now; undefined: unknown.
 * @param now ms since 1970
 * @param turn the turn that asks now, if any
 */
export function cacheOf(
  { models }: { readonly models: Pick<AgentModels, "cacheRule" | "priceOf"> },
  modelName: string,
  pace: Pace,
  now: number,
  turn?: TurnId,
): CacheTerms | undefined {
  const rule = models.cacheRule?.(modelName);
  return rule && cacheTerms(rule, models.priceOf(modelName), pace.before(turn), now);
}

/**
 * The room for an agent's requests in a model's window.
 * @param anchor the channel's last request with a token count from this model's provider
 * @param limit the largest window to use, in tokens
 */
export function budgetOf(
  agent: { readonly config: AgentConfig; readonly models: Pick<AgentModels, "windowOf" | "factorOf"> },
  modelName: string,
  anchor: Anchor | null = null,
  limit = Infinity,
): Budget {
  const { config, models } = agent;
  const window = Math.min(limit, models.windowOf(modelName, config.contextWindow));
  return {
    window,
    reserve: reserveIn(window, config),
    backgroundThreshold: config.compaction.backgroundThreshold,
    aggressiveThreshold: config.compaction.aggressiveThreshold,
    emergencyThreshold: config.compaction.emergencyThreshold,
    target: config.compaction.target,
    keepMessages: config.compaction.keepMessages,
    calibration: { factor: models.factorOf(modelName), anchor },
  };
}
