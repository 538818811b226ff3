import { assertHome, type Home } from "../../config/home.ts";
import { findHome, type LoadOptions } from "../../config/load.ts";
import type { CommonOptions, Io } from "./io.ts";

/** What says where the configuration is. */
export type Place = Pick<LoadOptions, "cwd" | "file" | "home">;

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
