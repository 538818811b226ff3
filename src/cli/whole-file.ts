import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { link, open, rename, rm } from "node:fs/promises";
import { errorCode, errorMessage, OperatorError, WeirError } from "../core/errors.ts";

/**
 * Writes a new file of its owner's alone, whole or not at all: under another name beside it first.
 * @param work writes, and returns whatever is known then
 * @throws OperatorError if there is such a file already, or it cannot be written; whatever `work` throws
 */
export async function writeWholeFile<Result>(
  file: string,
  work: (write: (text: string) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  if (existsSync(file)) throw new OperatorError(`${file} is there already: name another file.`);
  const unfinished = `${file}.${randomBytes(6).toString("hex")}.unfinished`;
  try {
    const handle = await open(unfinished, "wx", 0o600);
    let result: Result;
    try {
      result = await work(async (text) => handle.writeFile(text));
      await handle.sync();
    } finally {
      await handle.close();
    }
    // Never over a file that was made meanwhile.
    await link(unfinished, file).catch(async (error: unknown) => {
      if (errorCode(error) === "EEXIST") throw error;
      // A disk without hard links.
      await rename(unfinished, file);
    });
    return result;
  } catch (error) {
    if (error instanceof WeirError) throw error;
    throw new OperatorError(`${file} cannot be written: ${errorMessage(error)}.`, { cause: error });
  } finally {
    await rm(unfinished, { force: true });
  }
}
