import { statSync } from "node:fs";
import path from "node:path";
import process from "node:process";

/** What was typed makes no sense: the text says why. */
export class UsageError extends Error {}

const HELP: ReadonlySet<string> = new Set(["--help", "-h"]);

/**
 * What `read` makes of the command line. Where that asks how the command is used, the process says so and ends with 0; where `read`
 * makes no sense of it, it says why as well, and ends with 2: before it has begun anything that takes an hour.
 *
 * @param usage the lines of the command's forms
 * @param read throws a TypeError of `parseArgs`, or a {@link UsageError}
 */
export function readUsage<Options>(usage: string, read: () => Options): Options {
  if (process.argv.slice(2).some((word) => HELP.has(word))) {
    console.log(usage);
    return process.exit(0);
  }
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof UsageError)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    return process.exit(2);
  }
}

/** @throws UsageError if it is no whole number of at least `least` */
export function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
  throw new UsageError(`--${option} takes a whole number from ${least} on, not "${text}".`);
}

/** @throws UsageError if there is no such folder */
export function existingFolder(option: string, folder: string): string {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder;
  throw new UsageError(`--${option}: there is no folder "${folder}".`);
}

/** @throws UsageError if it is a folder, or would stand in one that there is not */
export function writableFile(option: string, file: string): string {
  existingFolder(option, path.dirname(file));
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return file;
  throw new UsageError(`--${option}: "${file}" is a folder; name a file in it.`);
}
