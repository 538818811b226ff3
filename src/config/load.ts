/**
 * The configuration: `config.toml` and the environment, read, checked against the schema, and completed. The room reads
 * files and variables; it starts nothing, and no message of it shows a secret.
 */

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { checkAgents } from "./checks/check-agents.ts";
import { checkRoles, checkModels } from "./checks/check-models.ts";
import { checkBindings, checkPlatforms } from "./checks/check-platforms.ts";
import {
  type CheckedFile,
  checkFile,
  type ProblemAt,
  problemsIn,
  withoutPlace,
} from "./checks/check-file.ts";
import { assert } from "../core/errors.ts";
import type { AgentConfig, Config } from "./config.ts";
import { ConfigError, configProblem, type ConfigProblem } from "./config-error.ts";
import { conflictLine } from "./git-work.ts";
import { IS_CLONE } from "../files/installation.ts";
import { chooseHome, type Home } from "./home.ts";
import { readEnvironment, readProxies, type Environment } from "./environment.ts";
import { resolveMcpServers } from "./mcp-servers.ts";
import { resolveModelServers } from "./model-servers.ts";
import { databaseVariable, resolveReferences } from "./references.ts";
import { resolveConfig } from "./resolve.ts";
import { isPublicKeyName } from "./schema-walk.ts";
import { redact } from "./redact.ts";
import { readTextFile } from "./text-file.ts";
import { parseReadableToml, parseToml, type TomlDocument } from "./toml-document.ts";
import { copyTree, isTable, setAt, valueAt } from "./value-tree.ts";

export interface LoadOptions {
  /** `--config FILE`, relative to `cwd`. Without it, `config.toml` in the home, which need not exist. */
  readonly file?: string | undefined;
  /** Absolute. Default: the folder of `file`, or `cwd` without a file. */
  readonly home?: string | undefined;
  /** Absolute. */
  readonly cwd: string;
  /** Default: the environment of the process. */
  readonly env?: Environment | undefined;
  /** Variables with precedence over the environment's. */
  readonly more?: Environment | undefined;
  /** Checked in place of what the file holds. Default: the file is read. */
  readonly text?: string;
}

/**
 * Reads `config.toml` and `.env`, checks everything, and fills in the defaults: agent over `[defaults]` over built-in.
 * Relative paths in the file are relative to the home.
 * @returns deeply frozen
 * @throws ConfigError with all problems at once; no problem shows a secret
 */
export function loadConfig(options: LoadOptions): Config {
  const { config, problems } = readAll(options, readSource(options));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** A configuration for programs that only read. */
export interface ReadableConfig {
  /** The valid part of a broken one: the rest has its defaults. Deeply frozen. */
  readonly config: Config;
  /** Its problems; null: none. */
  readonly error: ConfigError | null;
}

/**
 * Loads the configuration for a program that only needs the database: it accepts a partly broken file.
 * @throws ConfigError if the database's setting is, or may be, in the broken part
 */
export function loadReadableConfig(options: LoadOptions): ReadableConfig {
  const source = readSource(options);
  const whole = readAll(options, source);
  if (whole.problems.length === 0) return { config: whole.config, error: null };
  const error = new ConfigError(whole.problems);
  const part = readablePart(source, options.cwd);
  const { config, isPlaceKnown } = part === null ? whole : readAll(options, part);
  if (!isPlaceKnown) throw error;
  return { config, error };
}

interface ReadAll {
  readonly config: Config;
  /** In the order of the file. */
  readonly problems: readonly ConfigProblem[];
  /** The setting of the database is free of problems. */
  readonly isPlaceKnown: boolean;
}

function readAll(options: LoadOptions, source: Source): ReadAll {
  const { folder } = source;
  const processEnv = { ...(options.env ?? process.env), ...options.more };
  const {
    environment,
    problems: envProblems,
    mayHave,
  } = readEnvironment(folder, processEnv, shownPath(join(folder, ".env"), options.cwd));
  const { problemAt, checked } = source;
  const {
    references,
    problems: referenceProblems,
    isDatabaseKnown,
  } = resolveReferences(checked.config, environment, problemAt);
  const mcp = resolveMcpServers(checked.config, { environment, folder, problemAt });
  const { servers, problems: serverProblems } = resolveModelServers(checked.config, environment, problemAt);
  const { proxies, problems: proxyProblems } = readProxies(environment);
  const config = resolveConfig(checked.config, references, source, mcp.servers, proxies, servers);
  const areAllRead = source.isReadable && envProblems.length === 0;
  const problems = [
    ...source.problems,
    ...checked.problems,
    // With a broken .env, every missing variable is missing because of it.
    ...envProblems,
    ...(envProblems.length > 0 ? [] : [...referenceProblems, ...serverProblems, ...mcp.unset]),
    ...mcp.problems,
    ...proxyProblems,
    ...(source.isReadable ? checkAgents(config, checked, problemAt) : []),
    ...(source.isReadable ? checkModels(config, checked, problemAt) : []),
    ...(areAllRead ? checkRoles(config, problemAt) : []),
    ...(areAllRead ? checkCluster(config, problemAt) : []),
    ...(source.isReadable ? checkBindings(checked, config.agents, problemAt) : []),
    ...(areAllRead ? checkPlatforms(checked, references, problemAt) : []),
  ];
  const variable = databaseVariable(checked.config);
  const isUrlKnown =
    references.databaseUrl !== null || variable === null || (!mayHave(variable) && isDatabaseKnown);
  return {
    config: deepFreeze(config),
    problems: problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)),
    isPlaceKnown: source.isPlaceKnown && isUrlKnown,
  };
}

/** A value that is tried instead of the file's. */
export interface TriedSetting {
  /** As in the file: `compaction.target`. */
  readonly key: string;
  readonly value: unknown;
}

/**
 * An agent with some values of its table changed: the rest comes from the file, and defaults follow (a target that
 * nobody set follows the background threshold).
 * @param agent its place in the configuration, from 0
 * @returns deeply frozen
 * @throws ConfigError with the problems of these values, or of the file with them
 */
export function trySettings(
  options: LoadOptions,
  agent: number,
  settings: readonly TriedSetting[],
): AgentConfig {
  const source = readSource(options);
  const { agents = [{ id: "main" }], models, ...rest } = source.checked.config;
  // The window in [models] overrides the agent's, but not a tried one.
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
  const { references } = resolveReferences(checked.config, {}, withoutPlace);
  const config = resolveConfig(checked.config, references, { path: null, folder: source.folder });
  const problems = [...checked.problems, ...checkAgents(config, checked, problemAt)];
  if (problems.length > 0) throw new ConfigError(problems, "What --set says");
  const tried = config.agents[agent];
  assert(tried !== undefined, `there is no agent at place ${agent}`);
  return deepFreeze(tried);
}

interface Source {
  /** Null: no file. */
  readonly path: string | null;
  /** The home. */
  readonly folder: string;
  readonly isReadable: boolean;
  /** `[database]` has no problem in the file. */
  readonly isPlaceKnown: boolean;
  readonly checked: CheckedFile;
  readonly problemAt: ProblemAt;
  readonly problems: readonly ConfigProblem[];
  /** The text of a file that is not TOML. Default: the file is TOML, or cannot be read. */
  readonly brokenText?: string;
}

/** Of a file that is there, or was named. */
interface Place {
  readonly path: string;
  readonly folder: string;
}

const NOTHING: CheckedFile = { config: {}, problems: [], isBroken: () => false };

function readSource(options: LoadOptions): Source {
  const { cwd, file } = options;
  const path = file === undefined ? join(options.home ?? cwd, "config.toml") : resolve(cwd, file);
  const folder = options.home ?? dirname(path);
  const shownAs = shownPath(path, cwd);
  const text = options.text === undefined ? readTextFile(path, shownAs) : { value: options.text };
  if (text === null) {
    if (file !== undefined)
      return unreadable(
        { path, folder },
        configProblem({ file: shownAs, message: "there is no such file (--config)" }),
      );
    return {
      path: null,
      folder,
      isReadable: true,
      isPlaceKnown: true,
      checked: NOTHING,
      problemAt: withoutPlace,
      problems: [],
    };
  }
  if ("problem" in text) return unreadable({ path, folder }, text.problem);
  const parsed = parseToml(text.value, shownAs, isPublicKeyName);
  if ("problem" in parsed) {
    const problem = conflictProblem(text.value, shownAs) ?? parsed.problem;
    return { ...unreadable({ path, folder }, problem), brokenText: text.value };
  }
  return checkedSource({ path, folder }, parsed.value, cwd);
}

/** @returns null: git has left no conflict in it */
function conflictProblem(text: string, shownAs: string): ConfigProblem | null {
  const line = conflictLine(text);
  const message = "is a conflict mark of git: keep one of the two versions, and delete the marks";
  return line === null ? null : configProblem({ file: shownAs, line, message });
}

/** The readable part of a file that is not TOML. @returns null: nothing is readable, or it is TOML */
function readablePart({ path, folder, brokenText }: Source, cwd: string): Source | null {
  const readable = brokenText === undefined ? null : parseReadableToml(brokenText);
  if (path === null || readable === null) return null;
  const source = checkedSource({ path, folder }, readable.document, cwd);
  const isCut = readable.cut.some((table) => /^[^#\r\n\u2028\u2029]*\bdatabase\b/m.test(table));
  return { ...source, isPlaceKnown: source.isPlaceKnown && !isCut };
}

function checkedSource({ path, folder }: Place, document: TomlDocument, cwd: string): Source {
  const problemAt = problemsIn(document, shownPath(path, cwd));
  const checked = checkFile(document, problemAt);
  // `[databse]` is probably the database's table.
  const isMeant = checked.problems.some(({ suggestion }) => suggestion === "database");
  const isPlaceKnown = !isMeant && !checked.isBroken(["database"]);
  return { path, folder, isReadable: true, isPlaceKnown, checked, problemAt, problems: [] };
}

function unreadable(place: Place, problem: ConfigProblem): Source {
  return {
    ...place,
    isReadable: false,
    isPlaceKnown: false,
    checked: NOTHING,
    problemAt: withoutPlace,
    problems: [problem],
  };
}

/** As an operator would type it: relative if it is below the working directory. */
function shownPath(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

/** The home of a command. @param option as `--home` has it */
export function findHome(cwd: string, option: string | undefined, env: Environment = process.env): Home {
  const hasConfig = (folder: string): boolean => existsSync(join(folder, "config.toml"));
  return chooseHome({ option, env, cwd, account: homedir(), isClone: IS_CLONE, hasConfig });
}

/** This process' place among pm2's processes; null: pm2 did not start it. */
export function managedPlace(env: Environment = process.env): string | null {
  const id = env["pm_id"];
  return id === undefined ? null : `${process.ppid} ${id}`;
}

/** Whether NO_COLOR is set, which asks for plain output (no-color.org). */
export function isColourUnwanted(env: Environment = process.env): boolean {
  return (env["NO_COLOR"] ?? "") !== "";
}

/** The host's defaults for parts that `DATABASE_URL` leaves open: libpq's variables. */
export function postgresVariables(env: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith("PG")));
}

/** Daemons of a cluster share their database, so none of them may use its own embedded Postgres. */
function checkCluster(
  { cluster, database }: Pick<Config, "cluster" | "database">,
  problemAt: ProblemAt,
): ConfigProblem[] {
  if (cluster === null || database.url !== null) return [];
  const fields = {
    message: "a cluster needs a Postgres that its daemons share, and [database] url names none",
    expected: "DATABASE_URL in the environment or in .env, or url under [database]",
  };
  return [problemAt(["cluster", "url"], fields)];
}
