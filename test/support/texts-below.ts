import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { isMissingFile } from "../../src/core/errors.ts";

/** What stands in each file below a folder, in Latin-1. A daemon may write there: a draft that has become its file since the folder was listed is left out. */
export async function textsBelow(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const read = files
    .filter((file) => file.isFile())
    .map(async ({ parentPath, name }) =>
      readFile(path.join(parentPath, name), "latin1").catch((error: unknown) => {
        if (isMissingFile(error)) return [];
        throw error;
      }),
    );
  return (await Promise.all(read)).flat();
}
