import { spawn } from "node:child_process";
import { errorMessage, isShortOfDescriptors, WeirError } from "../../../core/errors.ts";

export interface ProgramOptions {
  readonly uid?: number;
  readonly gid?: number;
  /** What it can read from its standard input. */
  readonly input?: string;
  /** Added to the little that it is given of an environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** A file descriptor for its output, instead of `ProgramResult.output`. */
  readonly outputTo?: number;
}

export interface ProgramResult {
  /** Its exit code; -1 where it could not be started or a signal ended it. */
  readonly code: number;
  /** What it said, on stdout and stderr. */
  readonly output: string;
}

/**
 * A fixed environment: settings of the operator's own Postgres (PGPORT, PGOPTIONS, …) would change what the
 * programs do, and a server has no business with the keys and tokens of the daemon.
 */
const ENVIRONMENT = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };

/** What a server or the system says where there is no room left. */
export const DISK_FULL = /No space left on device|ENOSPC|Disk quota exceeded/;

/** No file could be opened for it. That says nothing about the program. */
class ProgramNotStartedError extends WeirError {
  readonly retryable = true;
}

/**
 * Runs a program to its end, in a session of its own: a Ctrl-C in the terminal does not reach it.
 * One that leaves a server behind must be given `outputTo`: the server would keep the pipe open.
 * @throws ProgramNotStartedError and nothing else
 */
export async function runProgram(
  command: readonly [string, ...string[]],
  options: ProgramOptions = {},
): Promise<ProgramResult> {
  const [file, ...args] = command;
  const sink = options.outputTo ?? "pipe";
  const { uid, gid } = options;
  const child = spawn(file, args, {
    // The daemon's own folder may be closed to the account.
    cwd: "/",
    env: { ...ENVIRONMENT, ...options.env },
    stdio: ["pipe", sink, sink],
    detached: true,
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  });
  let output = "";
  child.stdout?.on("data", (chunk) => (output += String(chunk)));
  child.stderr?.on("data", (chunk) => (output += String(chunk)));
  // A program that ends without having read its input breaks the pipe; its exit code says the rest.
  child.stdin?.on("error", () => {});
  child.stdin?.end(options.input ?? "");
  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      if (isShortOfDescriptors(error))
        reject(new ProgramNotStartedError(errorMessage(error), { cause: error }));
      else resolve({ code: -1, output: error.message });
    });
    child.once(options.outputTo === undefined ? "close" : "exit", (code, signal) =>
      resolve({ code: code ?? -1, output: `${output}${signal ?? ""}`.trim() }),
    );
  });
}
