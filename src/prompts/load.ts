import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config/config.ts";
import { readTextFile } from "../config/text-file.ts";
import { OperatorError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import {
  type FAILURE_KINDS,
  OWN_COMPACTOR,
  OWN_SYSTEM,
  type TemplateName,
  TEMPLATES,
} from "./catalogue.ts";
import { compileTemplate, type Render, type TemplateRules } from "./template.ts";

/** Why a turn has no answer, as far as a person is told. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

interface SystemValues {
  readonly agentName: string;
  /** "" where the agent has none. */
  readonly instructions: string;
  /** YYYY-MM-DD in the agent's time zone. */
  readonly date: string;
}

interface DynamicValues {
  /** `Saturday 2026-11-21 14:05 UTC`. */
  readonly now: string;
  readonly platform: string;
  /** The channel's title, as people call it, in quotation marks. */
  readonly channel: string;
  /** Names, each in quotation marks. */
  readonly people: readonly string[];
  /** Rendered lines of memories. */
  readonly remembered: readonly string[];
  /** Rendered lines; they may have line breaks. */
  readonly recalled: readonly string[];
  /** `NAME answers [TIME] NAME: text`; they may have line breaks. */
  readonly replies: readonly string[];
  /** What `omission` rendered; null: nothing is omitted. */
  readonly omitted: string | null;
}

interface OmissionValues {
  readonly count: number;
  readonly fromTime: string;
  readonly toTime: string;
}

interface EditNoteValues {
  readonly author: string;
  /** What the message says now. */
  readonly text: string;
  /** Which message it was: its time. */
  readonly original: string;
}

interface AbsenceValues {
  /** `late`: it is still being read, and comes in later. */
  readonly kind: "late" | "lost";
  readonly from: string;
  readonly to: string;
}

interface CompactorValues {
  readonly agentName: string;
  /** The agent's rendered system prompt: who it is, for whoever writes its summaries. */
  readonly agentPrompt: string;
}

/** How long a summary may be. */
interface LengthLimit {
  readonly limit: number;
  readonly unit: "words" | "characters";
}

interface CompactorTaskValues extends LengthLimit {
  /** Numbers of the transcript's first and last line. */
  readonly first: number;
  readonly last: number;
  /** Which part of a transcript that does not fit one request, from 1; of one that does, 1 of 1. */
  readonly part: number;
  readonly parts: number;
  /** The same range was summarised before: from an extract, or before an edit. */
  readonly redo: boolean;
  /** `memory_save` is offered. */
  readonly memory: boolean;
  /** What plain extraction found in tool calls and their results. */
  readonly files: readonly string[];
  readonly commands: readonly string[];
  readonly errors: readonly string[];
  readonly links: readonly string[];
}

interface DigestValues {
  readonly count: number;
  readonly people: readonly string[];
  /** "" where there is none. */
  readonly fromTime: string;
  readonly toTime: string;
  /** `[2026-11-21 14:05] NAME: text`, word for word, one a line. */
  readonly lines: string;
}

interface CommandHelp {
  /** Without the slash. */
  readonly name: string;
  readonly help: string;
}

/** Every text that Weir itself says to a model or to a person. Rendering is pure, and does not fail. */
export interface Prompts {
  /** By the agent's own template where it has one. */
  system(agent: AgentId, values: SystemValues): string;
  dynamic(values: DynamicValues): string;
  omission(values: OmissionValues): string;
  editNote(values: EditNoteValues): string;
  absence(values: AbsenceValues): string;
  /** The one sentence that a person gets in place of an answer. */
  failure(kind: FailureKind): string;
  help(commands: readonly CommandHelp[]): string;
  /** What a deleted message shows as. */
  readonly deleted: string;
  readonly toolMemoryRecall: string;
  readonly toolSearchHistory: string;
  readonly toolReact: string;
  readonly toolSkip: string;
  readonly toolMemorySave: string;
  /** Instructions of the summariser, by the agent's own template where it has one. */
  compactor(agent: AgentId, values: CompactorValues): string;
  /** The summary of what came before, as background. */
  compactorBackground(values: { readonly text: string }): string;
  compactorTask(values: CompactorTaskValues): string;
  /** To make one summary of several. */
  compactorMerge(values: LengthLimit & { readonly count: number }): string;
  compactorShorten(values: LengthLimit): string;
  /** What became of the statements of one `memory_save`. */
  memoryResult(values: { readonly kept: number; readonly dropped: readonly string[] }): string;
  /** A summary that was made without a model. */
  digest(values: DigestValues): string;
  /** Tells the people in a channel that older messages were summarised. */
  compactionNotice(count: number): string;
}

const EXTENSION = ".md.j2";

/** What is wrong with the templates, all of it. */
export class PromptError extends OperatorError {
  /** `system.md.j2:3: unknown variable …`. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super([`The prompt templates have ${count}:`, "", ...problems.map((line) => `  ${line}`)].join("\n"));
    this.problems = problems;
  }
}

export interface PromptSources {
  /** Absolute path of the folder with the templates. */
  readonly dir: string;
  /** Absolute paths of the agents' own system templates. */
  readonly agentTemplates?: ReadonlyMap<AgentId, string> | undefined;
  /** Absolute paths of the agents' own instructions for their summaries. */
  readonly compactorTemplates?: ReadonlyMap<AgentId, string> | undefined;
}

/** Where a configuration says that the templates are. */
export function promptSources(config: Pick<Config, "prompts" | "agents">): PromptSources {
  const shipped = join(import.meta.dirname, "..", "..", "prompts", config.prompts.language);
  const agentTemplates = new Map<AgentId, string>();
  const compactorTemplates = new Map<AgentId, string>();
  for (const { id, prompt, compactorPrompt } of config.agents) {
    if (prompt !== null) agentTemplates.set(id, prompt);
    if (compactorPrompt !== null) compactorTemplates.set(id, compactorPrompt);
  }
  return { dir: config.prompts.dir ?? shipped, agentTemplates, compactorTemplates };
}

/**
 * Reads and checks all templates.
 * @throws PromptError with all problems: a template that is missing or too many, a syntax error, a variable that
 * nobody gives, or one that the template lost
 */
export function loadPrompts(sources: PromptSources): Prompts {
  const hasFolder = existsSync(sources.dir) && statSync(sources.dir).isDirectory();
  const problems = hasFolder ? extraTemplates(sources.dir) : [noFolder(sources.dir)];
  const load = (path: string, name: string, templateRules: TemplateRules): Render => {
    const outcome = loadTemplate(path, name, templateRules);
    if (typeof outcome === "function") return outcome;
    problems.push(...outcome);
    return () => "";
  };
  const shipped = (name: TemplateName): Render => {
    // A folder that is not there is one problem, and not one for each template.
    if (!hasFolder) return () => "";
    return load(join(sources.dir, name + EXTENSION), name + EXTENSION, TEMPLATES[name]);
  };
  const renders = {
    system: shipped("system"),
    dynamic: shipped("dynamic"),
    omission: shipped("omission"),
    editNote: shipped("edit-note"),
    absence: shipped("absence"),
    failure: shipped("failure"),
    help: shipped("help"),
    deleted: shipped("deleted"),
    toolMemoryRecall: shipped("tool-memory-recall"),
    toolSearchHistory: shipped("tool-search-history"),
    toolReact: shipped("tool-react"),
    toolSkip: shipped("tool-skip"),
    toolMemorySave: shipped("tool-memory-save"),
    compactor: shipped("compactor"),
    compactorBackground: shipped("compactor-background"),
    compactorTask: shipped("compactor-task"),
    compactorMerge: shipped("compactor-merge"),
    compactorShorten: shipped("compactor-shorten"),
    memoryResult: shipped("memory-result"),
    digest: shipped("digest"),
    compactionNotice: shipped("compaction-notice"),
  };
  const ownOf = (paths: PromptSources["agentTemplates"], templateRules: TemplateRules): OwnTemplates =>
    new Map(
      [...(paths ?? [])].map(([id, path]) => [id, load(path, `${path} (agent "${id}")`, templateRules)]),
    );
  const own = {
    system: ownOf(sources.agentTemplates, OWN_SYSTEM),
    compactor: ownOf(sources.compactorTemplates, OWN_COMPACTOR),
  };
  if (problems.length > 0) throw new PromptError(problems);
  return typed(renders, own);
}

type OwnTemplates = ReadonlyMap<AgentId, Render>;

function typed(
  renders: Readonly<Record<keyof Prompts, Render>>,
  own: { readonly system: OwnTemplates; readonly compactor: OwnTemplates },
): Prompts {
  return {
    system: (agent, { agentName, instructions, date }) =>
      (own.system.get(agent) ?? renders.system)({ agent_name: agentName, instructions, date }),
    dynamic: (values) => renders.dynamic({ ...values }),
    omission: ({ count, fromTime, toTime }) =>
      renders.omission({ count, from_time: fromTime, to_time: toTime }),
    editNote: (values) => renders.editNote({ ...values }),
    absence: ({ kind, from, to }) => renders.absence({ kind, from_time: from, to_time: to }),
    failure: (kind) => renders.failure({ kind }),
    help: (commands) => renders.help({ commands }),
    deleted: renders.deleted({}),
    toolMemoryRecall: renders.toolMemoryRecall({}),
    toolSearchHistory: renders.toolSearchHistory({}),
    toolReact: renders.toolReact({}),
    toolSkip: renders.toolSkip({}),
    toolMemorySave: renders.toolMemorySave({}),
    compactor: (agent, { agentName, agentPrompt }) =>
      (own.compactor.get(agent) ?? renders.compactor)({ agent_name: agentName, agent_prompt: agentPrompt }),
    compactorBackground: (values) => renders.compactorBackground({ ...values }),
    compactorTask: (values) => renders.compactorTask({ ...values }),
    compactorMerge: (values) => renders.compactorMerge({ ...values }),
    compactorShorten: (values) => renders.compactorShorten({ ...values }),
    memoryResult: (values) => renders.memoryResult({ ...values }),
    digest: ({ fromTime, toTime, ...values }) =>
      renders.digest({ ...values, from_time: fromTime, to_time: toTime }),
    compactionNotice: (count) => renders.compactionNotice({ count }),
  };
}

function noFolder(dir: string): string {
  return `${dir}: there is no such folder of templates; check prompts.language and prompts.dir in the configuration`;
}

function extraTemplates(dir: string): string[] {
  const expected = new Set(Object.keys(TEMPLATES).map((name) => name + EXTENSION));
  return readdirSync(dir)
    .filter((name) => name.endsWith(".j2") && !expected.has(name))
    .toSorted()
    .map((name) => `${name}: no template has this name; expected are ${[...expected].join(", ")}`);
}

function loadTemplate(path: string, name: string, templateRules: TemplateRules): Render | string[] {
  const text = readTextFile(path, name);
  if (text === null) return [`${name}: this template is missing`];
  if ("problem" in text) return [`${place(name, text.problem.line)}: ${text.problem.message}`];
  const compiled = compileTemplate(text.value, templateRules);
  if ("render" in compiled) return compiled.render;
  return compiled.problems.map((problem) => `${place(name, problem.line)}: ${problem.message}`);
}

function place(name: string, line: number | null): string {
  return line === null ? name : `${name}:${line}`;
}
