import { CommanderError } from "commander";
import { errorMessage, OperatorError, WeirError } from "../../core/errors.ts";
import { displayable } from "../../text/displayable.ts";
import type { Io } from "./io.ts";

/**
 * Writes an error to stderr: its message, or the stack of an unexpected one.
 * @returns the exit code
 */
export function reportFailure({ stderr }: Pick<Io, "stderr">, error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode;
  // An error of a known class explains itself; for any other the stack is what helps.
  const isForeseen = error instanceof WeirError || !(error instanceof Error);
  const text = isForeseen ? errorMessage(error) : error.stack;
  stderr.write(`${displayable(text ?? "")}\n`);
  return error instanceof OperatorError ? error.exitCode : 1;
}
