import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { readTextFile } from "./config/text-file.ts";
import { OperatorError } from "./core/errors.ts";
import type { AgentId } from "./core/ids.ts";
import { compileTemplate, type Render, type TemplateRules } from "./templates/template.ts";
import type { VariableShapes } from "./templates/template-names.ts";

/** Why a turn has no answer, as far as a person is told. */
export type FailureKind = (typeof FAILURE_KINDS)[number];
const FAILURE_KINDS = ["unavailable", "too_long", "misconfigured", "internal", "gave_up"] as const;

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
  /** The channel's title, as people call it. */
  readonly channel: string;
  /** Names. */
  readonly people: readonly string[];
  /** Rendered lines; they may have line breaks. */
  readonly recalled: readonly string[];
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
  /** The one sentence that a person gets in place of an answer. */
  failure(kind: FailureKind): string;
  help(commands: readonly CommandHelp[]): string;
  /** What a deleted message shows as. */
  readonly deleted: string;
  readonly toolSearchHistory: string;
  readonly toolSkip: string;
}

const SYSTEM: VariableShapes = { agent_name: "text", instructions: "text", date: "text" };

/** Each template that a prompts' folder must have, no more and no fewer, with its variables. */
const TEMPLATES = {
  system: rules(SYSTEM),
  dynamic: rules({
    now: "text",
    platform: "text",
    channel: "text",
    people: "list",
    recalled: "list",
    omitted: "text",
  }),
  omission: rules(
    { count: "text", from_time: "text", to_time: "text" },
    [1, 12].map((count) => ({ count, from_time: "a", to_time: "b" })),
  ),
  "edit-note": rules({ author: "text", text: "text", original: "text" }),
  failure: rules(
    { kind: "text" },
    FAILURE_KINDS.map((kind) => ({ kind })),
  ),
  help: rules({ commands: { listOf: ["name", "help"] } }),
  deleted: rules({}),
  "tool-search-history": rules({}),
  "tool-skip": rules({}),
} as const satisfies Record<string, TemplateRules>;

type TemplateName = keyof typeof TEMPLATES;

/**
 * An agent's own system template may do without the name. It must keep the instructions (the configuration sets
 * them, and they would be lost without a word) and the date (a model cannot know it).
 */
const OWN_SYSTEM: TemplateRules = { variables: SYSTEM, required: ["instructions", "date"] };

const EXTENSION = ".md.j2";

function rules(
  variables: VariableShapes,
  samples: NonNullable<TemplateRules["samples"]> = [],
): TemplateRules {
  return { variables, required: Object.keys(variables), samples };
}

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
}

/** Where a configuration says that the templates are. */
export function promptSources(config: Pick<Config, "prompts" | "agents">): PromptSources {
  const shipped = join(import.meta.dirname, "..", "prompts", config.prompts.language);
  const agentTemplates = new Map<AgentId, string>();
  for (const agent of config.agents) if (agent.prompt !== null) agentTemplates.set(agent.id, agent.prompt);
  return { dir: config.prompts.dir ?? shipped, agentTemplates };
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
    failure: shipped("failure"),
    help: shipped("help"),
    deleted: shipped("deleted"),
    toolSearchHistory: shipped("tool-search-history"),
    toolSkip: shipped("tool-skip"),
  };
  const own = new Map<AgentId, Render>();
  for (const [agent, path] of sources.agentTemplates ?? []) {
    own.set(agent, load(path, `${path} (agent "${agent}")`, OWN_SYSTEM));
  }
  if (problems.length > 0) throw new PromptError(problems);
  return typed(renders, own);
}

function typed(renders: Readonly<Record<keyof Prompts, Render>>, own: ReadonlyMap<AgentId, Render>): Prompts {
  return {
    system: (agent, { agentName, instructions, date }) =>
      (own.get(agent) ?? renders.system)({ agent_name: agentName, instructions, date }),
    dynamic: (values) => renders.dynamic({ ...values }),
    omission: ({ count, fromTime, toTime }) =>
      renders.omission({ count, from_time: fromTime, to_time: toTime }),
    editNote: (values) => renders.editNote({ ...values }),
    failure: (kind) => renders.failure({ kind }),
    help: (commands) => renders.help({ commands }),
    deleted: renders.deleted({}),
    toolSearchHistory: renders.toolSearchHistory({}),
    toolSkip: renders.toolSkip({}),
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
