import { statSync } from "node:fs";
import path from "node:path";
import process from "node:process";

/** The command line is invalid, for the reason in the text. */
export class UsageError extends Error {}

const HELP: ReadonlySet<string> = new Set(["--help", "-h"]);

/**
 * Parses the command line by `read`. If it asks for usage, the process prints that and ends with 0; if `read` fails, it
 * also prints the reason, and ends with 2, before any long work begins.
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

/** @throws UsageError unless it is a whole number of at least `least` */
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

/** @throws UsageError if it is a folder, or its folder does not exist */
export function writableFile(option: string, file: string): string {
  existingFolder(option, path.dirname(file));
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return file;
  throw new UsageError(`--${option}: "${file}" is a folder; name a file in it.`);
}
