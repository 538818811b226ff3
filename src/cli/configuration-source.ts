import { dirname, join, resolve } from "node:path";
import type { Config } from "../config/config.ts";
import { promptSources, templatePaths } from "../prompts/load.ts";
import type { ConfigurationSource } from "../compose/reloader.ts";
import type { CommonOptions, Io } from "./io.ts";
import { readConfigAnew } from "./open.ts";

/**
 * The files from which a running daemon reads its configuration.
 * @param started what it was started with
 */
export function configurationSource(
  io: Io,
  options: CommonOptions,
  { started, ...parts }: SourceParts,
): ConfigurationSource {
  let last = started;
  return {
    read() {
      last = readConfigAnew(io, options, last);
      return last;
    },
    pathsOf(config) {
      const file = resolve(io.cwd, options.config ?? "config.toml");
      const folder = config.file === null ? io.cwd : dirname(file);
      return [file, join(folder, ".env"), ...templatePaths(promptSources(config)), ...agentPaths(config)];
    },
    ...parts,
  };
}

interface SourceParts extends Pick<ConfigurationSource, "bindingsOf" | "onConfigured"> {
  readonly started: Config;
}

/** What of agents' folders counts once: the rest is looked at before each turn. */
function agentPaths({ agentsDir, agents }: Config): string[] {
  const own = agents.flatMap(({ id }) => [join(agentsDir, id), join(agentsDir, id, "skills")]);
  return [agentsDir, join(agentsDir, "skills"), ...own];
}
