import { join, relative, resolve } from "node:path";
import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { loadConfig } from "../../config/load.ts";
import { OperatorError } from "../../core/errors.ts";
import { readGitState } from "../../config/git-work.ts";
import { type ConfigurationTexts, HeldBackError, whyHeldBack } from "../../config/held-back.ts";
import { readTextFile } from "../../config/text-file.ts";
import { promptSources, templatePaths } from "../../prompts/load.ts";
import type { ConfigurationSource } from "../../daemon/reloader.ts";
import type { CommonOptions, Io } from "./io.ts";
import { placeOf } from "./readable-config.ts";
import { readConfig } from "./open.ts";

export interface SourceOptions extends Pick<ConfigurationSource, "bindingsOf" | "onConfigured"> {
  readonly config: Config;
  readonly log: Logger;
}

/** The files from which a running daemon reads its configuration. Created when the start has read them. */
export function configurationSource(
  io: Io,
  options: CommonOptions,
  { config: started, log, ...parts }: SourceOptions,
): ConfigurationSource {
  const { cwd, home = cwd, file: named } = placeOf(io, options);
  const file = named === undefined ? join(home, "config.toml") : resolve(cwd, named);
  const filesOf = (config: Config): string[] => [
    file,
    join(config.home, ".env"),
    ...templatePaths(promptSources(config)),
  ];
  const look = (config: Config): ConfigurationTexts => {
    const all = new Map(filesOf(config).map((path) => [shown(path), textOf(path)]));
    return { main: all.get(shown(file)) ?? null, all };
  };
  const shown = (path: string): string => relative(io.cwd, path);
  let current = look(started);
  let lastRead = { config: started, texts: current };
  let staleLock: string | null = null;
  return {
    read(isForced) {
      const texts = look(lastRead.config);
      const git = readGitState(file, Date.now());
      if (git.staleLock !== null && git.staleLock !== staleLock)
        log.warn({ lock: git.staleLock }, "git_lock_ignored: no git has held it for a minute; delete it");
      staleLock = git.staleLock;
      const held = isForced ? null : whyHeldBack(texts, current, shown(file), git.work);
      if (held !== null) throw held;
      const config = readConfig(io, options);
      // Another program may have written it since, and this configuration would not have been checked.
      if (!isForced && textOf(file) !== texts.main)
        throw new HeldBackError(`${shown(file)} is being written`, true);
      lastRead = { config, texts: look(config) };
      return config;
    },
    check(text) {
      try {
        parts.bindingsOf(loadConfig({ ...placeOf(io, options), text }));
        return null;
      } catch (error) {
        if (error instanceof OperatorError) return error.message;
        throw error;
      }
    },
    onTaken() {
      current = lastRead.texts;
    },
    pathsOf: (config) => [...filesOf(config), ...agentPaths(config)],
    ...parts,
  };
}

/** @returns null: there is no such file. For an unreadable file the error, so that it differs from a readable one */
function textOf(path: string): string | null {
  const text = readTextFile(path, path);
  if (text === null) return null;
  return "value" in text ? text.value : text.problem.message;
}

/** The parts of agents' folders that are read once; the others are read before each turn. */
function agentPaths({ agentsDir, agents }: Config): string[] {
  const own = agents.flatMap(({ id }) => [join(agentsDir, id), join(agentsDir, id, "skills")]);
  return [agentsDir, join(agentsDir, "skills"), ...own];
}
