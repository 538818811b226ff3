import type { Config } from "../../config/config.ts";
import type { ConfigError } from "../../config/config-error.ts";
import { loadReadableConfig } from "../../config/load.ts";
import { useProxies } from "../../network/use-proxies.ts";
import { displayable } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import type { CommonOptions, Io } from "./io.ts";
import { placeOf } from "./place.ts";
import { weirCommand } from "../../files/installation.ts";

/**
 * The configuration for a command that does not act on it. If it is invalid, this reports the errors and uses the readable
 * parts: the daemon still runs with the last valid one.
 * @throws ConfigError if the database cannot be determined
 */
export function readConfigToLook(io: Io, options: CommonOptions): Config {
  const { config, error } = loadReadableConfig(placeOf(io, options));
  if (error !== null) tellOfBroken(io, error);
  useProxies(config.proxies);
  return config;
}

/** Says shortly what is wrong with the configuration, and that this command ignores it. */
export function tellOfBroken({ stderr }: Io, { problems, first }: ConfigError): void {
  const more = problems.length === 1 ? "" : `; \`${weirCommand("config check")}\` shows them all`;
  stderr.write(
    `${displayable(`The configuration has ${counted(problems.length, "problem")}, and what can be read of it is used here: ${first}${more}`)}\n`,
  );
}
