import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { checkAgents } from "./check-agents.ts";
import { checkCluster } from "./check-cluster.ts";
import { checkEmbeddings, checkModels } from "./check-models.ts";
import { checkBindings, checkSlack } from "./check-platforms.ts";
import { checkFile, problemsIn, type CheckedFile, type ProblemAt } from "./check-file.ts";
import { assert } from "../core/errors.ts";
import type { AgentConfig, Config } from "./config.ts";
import { ConfigError, configProblem, type ConfigProblem } from "./config-error.ts";
import { readEnvironment, type Environment } from "./environment.ts";
import { resolveMcpServers } from "./mcp-servers.ts";
import { resolveReferences } from "./references.ts";
import { resolveConfig } from "./resolve.ts";
import { isPublicKeyName } from "./schema-walk.ts";
import { redact } from "./redact.ts";
import { readTextFile } from "./text-file.ts";
import { parseToml } from "./toml-document.ts";
import { copyTree, isTable, setAt, valueAt } from "./value-tree.ts";

export interface LoadOptions {
  /** `--config FILE`, relative to `cwd`. Without it, `config.toml` in `cwd`, which need not exist. */
  readonly file?: string | undefined;
  /** Absolute. */
  readonly cwd: string;
  /** Default: the environment of the process. */
  readonly env?: Environment | undefined;
  /** Variables that go before those of the environment. */
  readonly more?: Environment | undefined;
  /**
   * A file was read before, and has to be there: an empty one, or none, is a problem and not the built-in defaults, for an editor may be
   * about to put another in its place. Default: it need not.
   */
  readonly isReload?: boolean;
}

/**
 * Reads `config.toml` and `.env`, checks everything, and fills in the defaults: agent over `[defaults]` over
 * built-in. Relative paths in the file are relative to the file's folder, or to `cwd` without a file.
 * @returns deeply frozen
 * @throws ConfigError with all problems at once, none of which shows a secret
 */
export function loadConfig(options: LoadOptions): Config {
  const path = resolve(options.cwd, options.file ?? "config.toml");
  const source = readSource(path, options);
  const folder = source.exists ? dirname(path) : options.cwd;
  const processEnv = { ...(options.env ?? process.env), ...options.more };
  const { environment, problems: envProblems } = readEnvironment(
    folder,
    processEnv,
    shownPath(join(folder, ".env"), options.cwd),
  );
  const { problemAt, checked } = source;
  const { references, problems: referenceProblems } = resolveReferences(
    checked.config,
    environment,
    problemAt,
  );
  const mcp = resolveMcpServers(checked.config, { environment, folder, problemAt });
  const place = { path: source.exists ? path : null, folder };
  const config = resolveConfig(checked.config, references, place, mcp.servers);
  const problems = [
    ...source.problems,
    ...checked.problems,
    // With a broken .env, every variable that is missing is missing because of it.
    ...envProblems,
    ...(envProblems.length > 0 ? [] : [...referenceProblems, ...mcp.unset]),
    ...mcp.problems,
    ...(source.isReadable ? checkAgents(config, checked, problemAt) : []),
    ...(source.isReadable ? checkModels(config, checked, problemAt) : []),
    ...(source.isReadable && envProblems.length === 0 ? checkEmbeddings(config, problemAt) : []),
    ...(source.isReadable && envProblems.length === 0 ? checkCluster(config, problemAt) : []),
    ...(source.isReadable ? checkBindings(checked, config.agents, problemAt) : []),
    ...(source.isReadable && envProblems.length === 0 ? checkSlack(checked, references, problemAt) : []),
  ];
  if (problems.length > 0) throw new ConfigError(problems.toSorted(byPlace));
  return deepFreeze(config);
}

/** A value that is tried in place of what the file says. */
export interface TriedSetting {
  /** As the file has it, `compaction.target`. */
  readonly key: string;
  readonly value: unknown;
}

/**
 * An agent as it would be with some values of its table changed: all else comes from the file, and defaults follow (a target that
 * nobody set follows the background threshold).
 * @param agent its place in the configuration, from 0
 * @returns deeply frozen
 * @throws ConfigError with what is wrong with these values, or with the file as it would be with them
 */
export function trySettings(
  options: LoadOptions,
  agent: number,
  settings: readonly TriedSetting[],
): AgentConfig {
  const path = resolve(options.cwd, options.file ?? "config.toml");
  const source = readSource(path, options);
  const folder = source.exists ? dirname(path) : options.cwd;
  const { agents = [{ id: "main" }], models, ...rest } = source.checked.config;
  // What [models] says of a window goes over the agent's, but not over what is tried.
  const isWindowTried = settings.some(({ key }) => key === "context_window");
  const value = copyTree({ ...rest, agents, ...(models !== undefined && !isWindowTried && { models }) });
  const table = valueAt(value, ["agents", agent]);
  if (isTable(value) && isTable(table))
    for (const one of settings) setAt(table, one.key.split("."), one.value);
  const problemAt: ProblemAt = (place, fields) => {
    const key = place.slice(2).join(".");
    return configProblem({ key: key === "" ? null : `--set ${redact(key)}`, ...fields });
  };
  const checked = checkFile({ value: isTable(value) ? value : {}, locate: () => null }, problemAt);
  const { references } = resolveReferences(checked.config, {}, null);
  const config = resolveConfig(checked.config, references, { path: null, folder });
  const problems = [...checked.problems, ...checkAgents(config, checked, problemAt)];
  if (problems.length > 0) throw new ConfigError(problems, "What --set says");
  const tried = config.agents[agent];
  assert(tried !== undefined, `there is no agent at place ${agent}`);
  return deepFreeze(tried);
}

interface Source {
  readonly exists: boolean;
  readonly isReadable: boolean;
  readonly checked: CheckedFile;
  readonly problemAt: ProblemAt | null;
  readonly problems: readonly ConfigProblem[];
}

const NOTHING: CheckedFile = { config: {}, problems: [], isBroken: () => false };

function readSource(path: string, options: LoadOptions): Source {
  const shownAs = shownPath(path, options.cwd);
  const text = readTextFile(path, shownAs);
  const isGone = text === null || ("value" in text && text.value.trim() === "");
  if (isGone && options.isReload === true) {
    const what = text === null ? "is not there any more" : "is empty";
    const message = `${what}, and that may be half of a save: a restart would take the built-in defaults`;
    return unreadable(configProblem({ file: shownAs, message }));
  }
  if (text === null) {
    if (options.file !== undefined) {
      return unreadable(configProblem({ file: shownAs, message: "there is no such file (--config)" }));
    }
    return { exists: false, isReadable: true, checked: NOTHING, problemAt: null, problems: [] };
  }
  if ("problem" in text) return unreadable(text.problem);
  const parsed = parseToml(text.value, shownAs, isPublicKeyName);
  if ("problem" in parsed) return unreadable(parsed.problem);
  const problemAt = problemsIn(parsed.value, shownAs);
  return {
    exists: true,
    isReadable: true,
    checked: checkFile(parsed.value, problemAt),
    problemAt,
    problems: [],
  };
}

function unreadable(problem: ConfigProblem): Source {
  return { exists: true, isReadable: false, checked: NOTHING, problemAt: null, problems: [problem] };
}

/** As an operator would type it: relative where it is below the working directory. */
function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
}

function byPlace(a: ConfigProblem, b: ConfigProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

/** NO_COLOR is set: what is printed stays plain (no-color.org). */
export function isColourUnwanted(env: Environment = process.env): boolean {
  return (env["NO_COLOR"] ?? "") !== "";
}
