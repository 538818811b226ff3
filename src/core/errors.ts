/**
 * An operation that failed for a reason outside the program. A programmer's error is an assertion; an expected
 * outcome is a value; this is the third kind.
 */
export abstract class WeirError extends Error {
  /** Whether the same call may succeed later. */
  abstract readonly retryable: boolean;
  override get name(): string {
    return this.constructor.name;
  }
}

/** A problem that the operator has to solve. Its message describes it, and is shown without a stack. */
export class OperatorError extends WeirError {
  readonly retryable = false;
  /** Exit code of a program that this error ends. */
  readonly exitCode: number = 1;
}

/** The configuration or a template is wrong: trying again changes nothing (`EX_CONFIG` of sysexits.h). */
export const EXIT_CONFIGURATION = 78;

/** The log can never hold this content, which is the only reason to leave a message out. Any other failure may be temporary. */
export class UnstorableError extends WeirError {
  readonly retryable = false;
}

/** Asserts a condition that holds for any input; its failure is a mistake in the program. */
export function assert(condition: unknown, message: string): asserts condition {
  if (condition === false || condition === null || condition === undefined || condition === "") {
    throw new Error(`Invariant violated: ${message}`);
  }
}

export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`);
}

/** No more files or sockets can be opened: by this process, or on this machine. */
const NO_DESCRIPTORS = /\b(?:EMFILE|ENFILE)\b/;

export function isShortOfDescriptors(error: unknown): boolean {
  return error instanceof Error && NO_DESCRIPTORS.test(`${errorCode(error)} ${error.message}`);
}

/** The one line of an unknown thrown value that a log can show. */
export function errorMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // One message for each tried address; the aggregate has no message.
  if (error instanceof AggregateError && error.message === "")
    return error.errors.map(errorMessage).join("; ");
  const { message } = error;
  return isShortOfDescriptors(error) && !message.includes("ulimit")
    ? `${message} (too many open files: raise \`ulimit -n\`, or LimitNOFILE= of a systemd unit)`
    : message;
}

/** The code of an error of the system, a socket or a database: `ENOENT`, `57P01`; "" without one. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** The file or folder does not exist, or a file is in the place of a folder. */
export function isMissingFile(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(errorCode(error));
}

export interface Finding {
  /** The checked thing: `Discord token`. */
  readonly what: string;
  /** `off`: not set up, and not wrong. `wrong`: it does not work now, whatever the cause. `unsure`: Weir cannot decide. */
  readonly state: "ok" | "wrong" | "unsure" | "off";
  /** The result, in a few words; no secrets. */
  readonly detail: string;
  /** The remedy; left out if nothing has to be done. */
  readonly todo?: string;
  /** `weir invite` fixes it, so a first set-up may end with it. Default: false. */
  readonly isForInvite?: true;
}
