import { pino, type Logger } from "pino";
import pretty from "pino-pretty";

/** Where log lines go, and in which form. */
export type LogTarget =
  /** JSON lines on stderr, for pm2 and other collectors. */
  | { readonly kind: "json" }
  /** For a person who looks at stderr. */
  | { readonly kind: "pretty"; readonly color: boolean }
  /** JSON lines in a file, while a chat owns the terminal. */
  | { readonly kind: "file"; readonly path: string };

/** Keys whose values never reach a log, wherever they stand. */
const SECRET_KEYS = ["apiKey", "api_key", "token", "password", "authorization", "url"];

/**
 * What a terminal obeys, or lets a text reorder its line, and JSON lets through: DEL, the C1 controls, and the controls
 * of writing direction. What others say is in the reasons of failures.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is being replaced
const OBEYED = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** The logger. Written synchronously: what a dying process said last is what one wants to read. */
export function createLog(level: string, target: LogTarget): Logger {
  const redact = { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[hidden]" };
  const hooks = { streamWrite: (line: string) => line.replaceAll(OBEYED, "\uFFFD") };
  const options = { level, base: null, redact, hooks };
  if (target.kind === "pretty") {
    const stream = pretty({
      colorize: target.color,
      destination: 2,
      sync: true,
      translateTime: "SYS:HH:MM:ss",
      ignore: "pid,hostname",
    });
    return pino(options, stream);
  }
  const destination =
    target.kind === "json"
      ? { dest: 2, sync: true }
      : { dest: target.path, sync: true, mkdir: true, mode: 0o600 };
  const file = pino.destination(destination);
  // A log that can't be written (its disk is full) is no reason to stop answering.
  file.on("error", () => undefined);
  return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, file);
}
