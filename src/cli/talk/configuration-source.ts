import { dirname, join, resolve } from "node:path";
import type { Config } from "../../config/config.ts";
import { saysAnything } from "../../config/load.ts";
import { promptSources, templatePaths } from "../../prompts/load.ts";
import type { ConfigurationSource } from "../../compose/reloader.ts";
import type { CommonOptions, Io } from "../io.ts";
import { readConfigAnew } from "../open.ts";

/** The files from which a running daemon reads its configuration. Made when that was read for the start. */
export function configurationSource(
  io: Io,
  options: CommonOptions,
  parts: Pick<ConfigurationSource, "bindingsOf" | "onConfigured">,
): ConfigurationSource {
  const file = resolve(io.cwd, options.config ?? "config.toml");
  let saidAnything = saysAnything(file);
  return {
    read() {
      const config = readConfigAnew(io, options, saidAnything);
      // Where it did, a file that says nothing is refused.
      saidAnything ||= saysAnything(file);
      return config;
    },
    pathsOf(config) {
      const folder = config.file === null ? io.cwd : dirname(file);
      return [file, join(folder, ".env"), ...templatePaths(promptSources(config)), ...agentPaths(config)];
    },
    ...parts,
  };
}

/** What of agents' folders counts once: the rest is looked at before each turn. */
function agentPaths({ agentsDir, agents }: Config): string[] {
  const own = agents.flatMap(({ id }) => [join(agentsDir, id), join(agentsDir, id, "skills")]);
  return [agentsDir, join(agentsDir, "skills"), ...own];
}
