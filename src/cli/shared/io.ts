import { OperatorError } from "../../core/errors.ts";
import { displayable, displayableJson } from "../../text/displayable.ts";

/** A command's access to its process. */
export interface Io {
  readonly cwd: string;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** Aborted by the first signal: finish the work in flight, accept nothing new. */
  readonly shutdown: AbortSignal;
  /** Handles SIGHUP, which by default means the same as the first signal: finish the work in flight. */
  readonly onHangUp: (listener: () => void) => void;
  /** Runs work at the end of the process, also if a second signal ends it at once. The work is synchronous, and does not throw. */
  readonly onExit: (work: () => void) => void;
  /** Tells a process manager that the daemon is up. */
  readonly tellReady: () => void;
}

/** Reason of a shutdown: `weir log … | head` has read as much as it wanted. */
export const SEEN_ENOUGH = new Error("Nobody reads the output any more.");

export interface CommonOptions {
  readonly config?: string;
  /** Also where it stands before the command. */
  readonly home?: string;
}

export async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

/**
 * To be called after a loop that a shutdown ends early.
 * @throws OperatorError if a shutdown ended the loop; not if the reader of the output (`| head`) just stopped reading
 */
export function assertWhole({ shutdown }: Pick<Io, "shutdown">, rest = "the output is not complete"): void {
  if (shutdown.aborted && shutdown.reason !== SEEN_ENOUGH) throw new OperatorError(`Interrupted: ${rest}.`);
}

/** Writes to the standard output, and waits until it is taken. @throws OperatorError if it cannot be written */
export async function writeOut({ stdout }: Pick<Io, "stdout">, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stdout.write(text, (error) =>
    error instanceof Error
      ? reject(new OperatorError(`The output is not complete: ${error.message}.`, { cause: error }))
      : resolve(),
  );
  return promise;
}

/** A text for a person; a terminal obeys nothing in it. */
export function say(io: Io, text: string): void {
  io.stdout.write(`${displayable(text)}\n`);
}

export function sayJson(io: Io, value: object, indent?: number): void {
  io.stdout.write(`${displayableJson(value, indent)}\n`);
}
