import type { Config } from "../../config/config.ts";
import type { ConfigError } from "../../config/config-error.ts";
import { loadReadableConfig, findHome, type LoadOptions } from "../../config/load.ts";
import { useProxies } from "../../network/use-proxies.ts";
import { displayable } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import type { CommonOptions, Io } from "./io.ts";
import { weirCommand } from "../../files/installation.ts";
import { assertHome, type Home } from "../../config/home.ts";

/** What says where the configuration is. */
type Place = Pick<LoadOptions, "cwd" | "file" | "home">;

/**
 * Where a command's options have it read the configuration.
 * @throws OperatorError if they, or `WEIR_HOME`, name a folder that is missing
 */
export function placeOf(io: Pick<Io, "cwd">, options: CommonOptions): Place {
  const home = findHome(io.cwd, options.home);
  assertHome(home);
  return placeAt(io, options, home);
}

/** The same for a home that need not be there yet. Pure. */
export function placeAt({ cwd }: Pick<Io, "cwd">, { config: file }: CommonOptions, home: Home): Place {
  // Paths in a file that stands elsewhere are relative to its folder, unless a home is named.
  const isNamed = home.by === "--home" || home.by === "WEIR_HOME";
  return { cwd, file, home: file === undefined || isNamed ? home.folder : undefined };
}

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
