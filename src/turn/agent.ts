import type { NoteKeeper } from "../agent-files/note-keeper.ts";
import type { AgentConfig } from "../config/config.ts";
import { type EntryTexts, type Perspective, Renderer } from "../context/render.ts";
import type { Budget } from "../context/usage.ts";
import { type AgentFile, type AgentFiles, NO_FILES } from "../context/sections/section.ts";
import type { Anchor } from "../core/calibration.ts";
import type { Section } from "../core/context.ts";
import type { ModelPrice } from "../core/cost.ts";
import type { TurnId } from "../core/ids.ts";
import type { Pace } from "../core/pace.ts";
import { createTimeFormat, type TimeFormat } from "../text/time.ts";
import type { KnownWindow } from "../llm/catalog/known-windows.ts";
import type { RetryingModel } from "../llm/retrying-model.ts";
import type { CacheRule } from "../llm/caches/rules.ts";
import { type CacheTerms, cacheTerms } from "../llm/caches/terms.ts";
import type { FailureKind, Prompts } from "../prompts/load.ts";
import type { Tool } from "../tools/tool.ts";

/** The models that agents may use, and what is known of their windows. */
export interface AgentModels {
  readonly model: RetryingModel;
  /** The server's name for a configured model (`auto` is looked up once). */
  resolve(configured: string): Promise<string>;
  /** The same as far as it is known now; undefined: it has to be looked up. */
  nameOf(configured: string): string | undefined;
  /** Tokens of the model's window: configured (if not 0), learned, known, or 32,768. */
  windowOf(model: string, configured: number): number;
  /** The same window, with how it is known and until when. */
  knownWindow(model: string, configured: number): KnownWindow;
  /** Real tokens per estimated token of a model, by what its provider has reported so far. */
  factorOf(model: string): number;
  /** A provider told what an answered request has cost. */
  learnFactor(model: string, report: Anchor): void;
  /** Whether pictures are sent to a model. */
  seesImages(model: string): boolean;
  /** Undefined: nobody knows it. */
  readonly priceOf: (model: string) => ModelPrice | undefined;
  /** How a model's requests are cached; undefined: nothing is. Left out: nobody knows. */
  readonly cacheRule?: (model: string) => CacheRule | undefined;
}

/** All texts that an agent's contexts need besides what people said. */
export interface AgentTexts extends EntryTexts {
  system(values: { date: string }): string;
  /** What of its folder is the same all day. */
  sections(values: {
    folder: string;
    tools: readonly string[];
    keepsNotes: boolean;
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
  /** What is said where nothing was found. */
  unfound(): string;
  omission(values: { count: number; fromTime: string; toTime: string }): string;
  /** Renders a template of a feature. */
  readonly render: Prompts["render"];
}

/** A piece of the agent's folder, as a template is given it. */
export type SectionText = Pick<Section, "kind" | "scope" | "source" | "text">;

/** What an agent's folder holds. */
export interface FolderFiles {
  /** As the operator knows it: `agents/main`; "": there is none. */
  readonly shownAs: string;
  /** As of the last look. */
  readonly current: AgentFiles;
  /** Why the files that are there now are not in use; null: they are. */
  readonly refusal: string | null;
  /** Paths of the other files of a skill, in its folder. */
  skillFiles(skill: AgentFile): Promise<readonly string[]>;
  /** @throws SkillFileError if it is not there, or may not be read */
  readSkillFile(skill: AgentFile, file: string): Promise<string>;
  /** Looks again. Never throws. @returns null: the last look was just now */
  refresh(): Promise<void> | null;
}

/** Of an agent without a folder. */
export const NO_FOLDER: FolderFiles = {
  shownAs: "",
  current: NO_FILES,
  refusal: null,
  skillFiles: async () => [],
  readSkillFile: async () => "",
  refresh: () => null,
};

/** A persona that answers channels: its configuration made usable. */
export interface Agent {
  readonly config: AgentConfig;
  readonly models: AgentModels;
  /**
   * As they are now. Of an agent as a channel has it: as they were when the channel took them up (`channel/frozen-tools.ts`).
   */
  readonly tools: readonly Tool[];
  /** Where some are a server's, and may be others later; null: they never change. */
  readonly changingTools: ChangingTools | null;
  readonly texts: AgentTexts;
  readonly folder: FolderFiles;
  /** Null: it has no folder to keep any in. */
  readonly notes: NoteKeeper | null;
  readonly time: TimeFormat;
  readonly renderer: Renderer;
}

/**
 * @param parts.changingTools instead of its tools; default: they never change
 * @param as whose requests it makes; default: those of channels of its own
 */
export function createAgent(
  parts: Pick<Agent, "config" | "models" | "tools" | "texts" | "folder" | "notes"> &
    Partial<Pick<Agent, "changingTools">>,
  as?: Perspective,
): Agent {
  const { changingTools = null } = parts;
  const time = createTimeFormat(parts.config.timeZone);
  const renderer = new Renderer(time, parts.texts, parts.config.pruning, as);
  return withChangingTools({ ...parts, time, renderer, changingTools });
}

/** Tools that may be others later. */
export interface ChangingTools {
  /** The same list for as long as nothing changes. */
  readonly current: readonly Tool[];
  /** Resolves when every server has begun or failed, or has had its time; null: that is so. */
  whenBegun(): Promise<void> | null;
}

/** Its tools are always those of now. */
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

/** Puts tools of some place beside those that an agent has everywhere. */
export type MoreTools = (tools: readonly Tool[]) => readonly Tool[];

/** The same agent with more tools, which stay beside the others as these change. */
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

/** The settings by which an agent's requests to one of its fallbacks are made: `context_window` is said of its own model. */
export function forFallback<Of extends { readonly config: AgentConfig }>(agent: Of): Of {
  return { ...agent, config: { ...agent.config, contextWindow: 0 } };
}

/**
 * The terms of the cache of a channel's requests now; undefined: none is known.
 * @param now ms since 1970
 * @param turn the one that asks now, if any
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
 * The room that an agent's requests have in a model's window. A window that turns out small (an Ollama often runs with
 * 4,096) is not given away to the reserve: at most a quarter of it.
 * @param anchor the channel's last request that this model's provider has counted
 * @param limit the largest window that the request may be made for, in tokens
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
    reserve: Math.min(config.maxOutputTokens + config.generationReserve, Math.floor(window / 4)),
    backgroundThreshold: config.compaction.backgroundThreshold,
    aggressiveThreshold: config.compaction.aggressiveThreshold,
    emergencyThreshold: config.compaction.emergencyThreshold,
    target: config.compaction.target,
    keepMessages: config.compaction.keepMessages,
    calibration: { factor: models.factorOf(modelName), anchor },
  };
}
