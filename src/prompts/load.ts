import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { camelToSnake } from "../config/camel-case.ts";
import type { Config } from "../config/config.ts";
import { readTextFile } from "../config/text-file.ts";
import { EXIT_CONFIGURATION, OperatorError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { counted } from "../text/text.ts";
import {
  type FAILURE_KINDS,
  OWN_COMPACTOR,
  OWN_SYSTEM,
  rulesOf,
  TEMPLATE_NAMES,
  type TemplateName,
  type ValuesOf,
} from "./catalogue.ts";
import { compileTemplate, type Render, type TemplateRules } from "./template.ts";

/** Why a turn has no answer, as far as a person is told. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** Every text that Weir itself says to a model or to a person. */
export interface Prompts {
  /**
   * Rendering is pure, and does not fail.
   * @param agent whose own template is used if it has one; only `system` and `compactor` can be an agent's own
   */
  render<Name extends TemplateName>(name: Name, values: ValuesOf<Name>, agent?: AgentId): string;
}

const EXTENSION = ".md.j2";

export class PromptError extends OperatorError {
  /** `system.md.j2:3: unknown variable …`. */
  readonly problems: readonly string[];
  override readonly exitCode = EXIT_CONFIGURATION;

  constructor(problems: readonly string[]) {
    const head = `The prompt templates have ${counted(problems.length, "problem")}:`;
    super([head, "", ...problems.map((line) => `  ${line}`)].join("\n"));
    this.problems = problems;
  }
}

export interface PromptSources {
  /** Absolute path of the folder with the templates. */
  readonly dir: string;
  /** Of the folders from which a template is taken that is not there, the first that has it; default: it is missing. */
  readonly fallbackDirs?: readonly string[];
  /** Absolute paths of the agents' own system templates. */
  readonly agentTemplates?: ReadonlyMap<AgentId, string> | undefined;
  /** Absolute paths of the agents' own instructions for their summaries. */
  readonly compactorTemplates?: ReadonlyMap<AgentId, string> | undefined;
}

/** Where a configuration says that the templates are. */
export function promptSources(config: Pick<Config, "prompts" | "agents">): PromptSources {
  const all = join(import.meta.dirname, "..", "..", "prompts");
  const shipped = join(all, config.prompts.language);
  const agentTemplates = new Map<AgentId, string>();
  const compactorTemplates = new Map<AgentId, string>();
  for (const { id, prompt, compactorPrompt } of config.agents) {
    if (prompt !== null) agentTemplates.set(id, prompt);
    if (compactorPrompt !== null) compactorTemplates.set(id, compactorPrompt);
  }
  const dir = config.prompts.dir ?? shipped;
  const fallbackDirs = [shipped, join(all, "en")];
  return { dir, fallbackDirs, agentTemplates, compactorTemplates };
}

/** Absolute paths of all that the templates are read from: folders, and the files that are there. Must not throw. */
export function templatePaths(sources: PromptSources): string[] {
  const { dir, fallbackDirs = [], agentTemplates, compactorTemplates } = sources;
  const folders = [...new Set([dir, ...fallbackDirs])];
  const files = folders.flatMap((folder) => (templatesIn(folder) ?? []).map((name) => join(folder, name)));
  return [...folders, ...files, ...(agentTemplates?.values() ?? []), ...(compactorTemplates?.values() ?? [])];
}

export interface LoadedPrompts extends Prompts {
  /** Files that the folder lacks, and that are taken from Weir's own: it was made for a version before, or for a few changes. */
  readonly absent: readonly string[];
  /** All files of the sources, as they were read. */
  readonly texts: string;
}

/**
 * Reads and checks all templates.
 * @param before what was read before: where every template is the same, it is what is returned
 * @throws PromptError with all problems: a template that is missing or too many, a syntax error, a variable that
 * nobody gives, or one that the template lost
 */
export function loadPrompts(sources: PromptSources, before?: LoadedPrompts): LoadedPrompts {
  // A folder counts as unreadable.
  const files = new Map(templatePaths(sources).map((path) => [path, readTextFile(path, path)]));
  const ownPaths = [sources.agentTemplates, sources.compactorTemplates].map((paths) => [...(paths ?? [])]);
  const texts = JSON.stringify([sources.dir, ownPaths, [...files]]);
  // Compiling all templates takes a while, and reading them does not.
  if (before?.texts === texts) return before;
  const there = templatesIn(sources.dir);
  const hasFolder = there !== null;
  const absent: string[] = [];
  const problems = hasFolder ? extraTemplates(there) : [noFolder(sources.dir)];
  const load = (path: string, name: string, templateRules: TemplateRules): Render => {
    const outcome = loadTemplate(files.get(path) ?? null, name, templateRules);
    if (typeof outcome === "function") return outcome;
    problems.push(...outcome);
    return () => "";
  };
  const shipped = (name: TemplateName): Render => {
    // A folder that is not there is one problem, and not one for each template.
    if (!hasFolder) return () => "";
    const file = name + EXTENSION;
    const has = (dir: string): boolean => existsSync(join(dir, file));
    const instead = has(sources.dir) ? undefined : sources.fallbackDirs?.find(has);
    if (instead !== undefined) absent.push(file);
    return load(join(instead ?? sources.dir, file), file, rulesOf(name));
  };
  const shippedTemplates = new Map(TEMPLATE_NAMES.map((name) => [name, shipped(name)]));
  const ownOf = (paths: PromptSources["agentTemplates"], templateRules: TemplateRules): OwnTemplates =>
    new Map(
      [...(paths ?? [])].map(([id, path]) => [id, load(path, `${path} (agent "${id}")`, templateRules)]),
    );
  const own: { readonly [Name in TemplateName]?: OwnTemplates } = {
    system: ownOf(sources.agentTemplates, OWN_SYSTEM),
    compactor: ownOf(sources.compactorTemplates, OWN_COMPACTOR),
  };
  if (problems.length > 0) throw new PromptError(problems);
  return {
    absent,
    texts,
    render(name, values, agent) {
      const ownTemplate = agent === undefined ? undefined : own[name]?.get(agent);
      const render = ownTemplate ?? shippedTemplates.get(name);
      assert.ok(render !== undefined, name);
      return render(Object.fromEntries(Object.entries(values).map(([key, value]) => [camelToSnake(key), value])));
    },
  };
}

type OwnTemplates = ReadonlyMap<AgentId, Render>;

function noFolder(dir: string): string {
  return `${dir}: there is no such folder of templates, or it cannot be read; check prompts.language and prompts.dir in the configuration`;
}

/** @returns null: there is no such folder, or it cannot be read; it may vanish at any moment */
function templatesIn(dir: string): string[] | null {
  try {
    return readdirSync(dir)
      .filter((name) => name.endsWith(".j2"))
      .toSorted();
  } catch {
    return null;
  }
}

function extraTemplates(there: readonly string[]): string[] {
  const expected = new Set(TEMPLATE_NAMES.map((name) => name + EXTENSION));
  return there
    .filter((name) => !expected.has(name))
    .map((name) => `${name}: no template has this name; expected are ${[...expected].join(", ")}`);
}

function loadTemplate(
  text: ReturnType<typeof readTextFile>,
  name: string,
  templateRules: TemplateRules,
): Render | string[] {
  if (text === null) return [`${name}: this template is missing`];
  if ("problem" in text) return [`${place(name, text.problem.line)}: ${text.problem.message}`];
  const compiled = compileTemplate(text.value, templateRules);
  if ("render" in compiled) return compiled.render;
  return compiled.problems.map((problem) => `${place(name, problem.line)}: ${problem.message}`);
}

function place(name: string, line: number | null): string {
  return line === null ? name : `${name}:${line}`;
}
