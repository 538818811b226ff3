import { lstat, readFile, symlink } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { errorCode, errorMessage, isMissingFile, OperatorError } from "../../../core/errors.ts";

const links = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * Makes the missing symbolic links to the libraries of the bundled Postgres. npm packs no links; the package makes them by an install
 * script, which npm can be told to skip.
 * @param home the folder of the package with the binaries
 * @throws OperatorError if this account may not
 */
export async function linkLibraries(home: string): Promise<void> {
  const list = await readFile(path.join(home, "native", "pg-symlinks.json"), "utf8").catch(
    (error: unknown) => {
      if (isMissingFile(error)) return "[]";
      throw error;
    },
  );
  for (const { source, target } of links.parse(JSON.parse(list))) {
    const link = path.join(home, target);
    if (await isThere(link)) continue;
    try {
      await symlink(path.relative(path.dirname(target), source), link);
    } catch (error) {
      // Another start was faster.
      if (errorCode(error) === "EEXIST") continue;
      throw new OperatorError(
        `The embedded Postgres lacks a link that cannot be made here: ${errorMessage(error)}. Install Weir again with ` +
          "--ignore-scripts=false, or start it once as the account that installed it.",
        { cause: error },
      );
    }
  }
}

async function isThere(link: string): Promise<boolean> {
  return lstat(link).then(
    () => true,
    () => false,
  );
}
