import { CommanderError } from "commander";
import { errorCode, errorMessage, OperatorError, WeirError } from "../../core/errors.ts";
import { displayable } from "../../text/displayable.ts";
import type { Io } from "./io.ts";

/**
 * Writes an error to stderr: its message, or the stack of an unexpected one.
 * @returns the exit code
 */
export function reportFailure({ stderr }: Pick<Io, "stderr">, error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode;
  const full = describeFullDisk(error);
  if (full !== null) {
    stderr.write(`${displayable(full)}\n`);
    return 1;
  }
  // An error of a known class explains itself; for any other the stack is what helps.
  const isForeseen = error instanceof WeirError || !(error instanceof Error);
  const text = isForeseen ? errorMessage(error) : error.stack;
  stderr.write(`${displayable(text ?? "")}\n`);
  return error instanceof OperatorError ? error.exitCode : 1;
}

/** The system's words for a disk or a quota without room left, which no caller has put into its own. Null: another error. */
function describeFullDisk(error: unknown): string | null {
  if (!/^(?:ENOSPC|EDQUOT)$/.test(errorCode(error)) || error instanceof WeirError) return null;
  const path = error instanceof Error && "path" in error ? ` of ${String(error.path)}` : "";
  return `The disk${path} is full: make room, and start again.`;
}
