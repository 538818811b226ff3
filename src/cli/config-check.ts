import { describeConfig } from "../config/describe-config.ts";
import { loadPrompts, promptSources } from "../prompts/load.ts";
import { type CommonOptions, type Io, say } from "./io.ts";
import { warnOfNames } from "./names.ts";
import { readConfig } from "./open.ts";

/** `weir config check`: validates the configuration and the prompts without starting. */
export function checkConfig(io: Io, options: CommonOptions): void {
  const config = readConfig(io, options);
  loadPrompts(promptSources(config));
  const names = warnOfNames(config);
  say(io, names === "" ? describeConfig(config) : `${describeConfig(config)}\n\n${names}`);
}
