import { errorCode } from "../core/errors.ts";
import { readBytes, UnreadableFileError } from "../files/read-file.ts";
import { configProblem, type ConfigProblem } from "./config-error.ts";

export type Outcome<Value> = { readonly value: Value } | { readonly problem: ConfigProblem };

/**
 * Size of the largest file that is read, in bytes. It is far above any configuration's; without a bound, a wrong
 * `--config` could exhaust the memory.
 */
const MAX_FILE_BYTES = 1_048_576;

/**
 * Reads an operator's text file, as UTF-8 without its byte order mark.
 * @returns null: no such file
 */
export function readTextFile(path: string, shownAs: string): Outcome<string> | null {
  let bytes: Buffer;
  try {
    bytes = readBytes(path, MAX_FILE_BYTES);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    return { problem: configProblem({ file: shownAs, message: unreadable(error) }) };
  }
  const problem = (line: number | null, message: string): Outcome<string> => ({
    problem: configProblem({ file: shownAs, line, message }),
  });
  const nul = bytes.indexOf(0);
  if (nul >= 0) {
    return problem(
      lineOfByte(bytes, nul),
      "contains a NUL byte: is it UTF-16, or no text at all? Save it as UTF-8",
    );
  }
  try {
    return { value: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return problem(firstBrokenLine(bytes), "is not valid UTF-8 here: save the file as UTF-8");
  }
}

function unreadable(error: unknown): string {
  if (error instanceof UnreadableFileError) return error.why;
  return `cannot be read (${errorCode(error) || "unknown reason"})`;
}

function lineOfByte(bytes: Buffer, index: number): number {
  let line = 1;
  for (let at = bytes.indexOf(10); at >= 0 && at < index; at = bytes.indexOf(10, at + 1)) line++;
  return line;
}

function firstBrokenLine(bytes: Buffer): number | null {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let start = 0;
  for (let line = 1; start <= bytes.length; line++) {
    const end = bytes.indexOf(10, start);
    const stop = end < 0 ? bytes.length : end;
    try {
      decoder.decode(bytes.subarray(start, stop));
    } catch {
      return line;
    }
    start = stop + 1;
  }
  return null;
}
