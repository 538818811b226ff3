import { displayable, displayableJson } from "../text/displayable.ts";

/** What a command may use of the process around it. */
export interface Io {
  readonly cwd: string;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  /** Aborted by the first signal: finish what is in flight, take nothing new. */
  readonly shutdown: AbortSignal;
  /** Takes SIGHUP, which else means the same as the first signal: finish what is in flight. */
  readonly onHangUp: (listener: () => void) => void;
  /** Tells a process manager that the daemon is up. */
  readonly tellReady: () => void;
}

/** Options that every command takes. */
export interface CommonOptions {
  readonly config?: string;
}

/** Resolves once the signal is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

/** A text for a person; a terminal obeys nothing in it. */
export function say(io: Io, text: string): void {
  io.stdout.write(`${displayable(text)}\n`);
}

/** A value for a program. */
export function sayJson(io: Io, value: object, indent?: number): void {
  io.stdout.write(`${displayableJson(value, indent)}\n`);
}
