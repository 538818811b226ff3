import process from "node:process";
import { pino, type Logger } from "pino";
import { BoundedOutput } from "./bounded-output.ts";
import { formatLogLine, parseLogLine } from "./log-line.ts";
import { spanFields } from "./trace-scope.ts";
import { LogFile, type LogFileOptions } from "./log-file.ts";

export interface LogTargets {
  /** `json`: for pm2 and other collectors; `text`: for people. Left out: no output. */
  readonly stderr?: "json" | "text";
  readonly hasColor?: boolean;
  /** JSON lines. Left out: no file. */
  readonly file?: LogFileOptions;
  /** Masks a configuration's secrets anywhere in a line. */
  readonly mask?: (text: string) => string;
}

/** Keys whose values are never logged, at any depth. */
const SECRET_KEYS = ["apiKey", "api_key", "token", "password", "authorization", "url"];

/**
 * Characters that JSON leaves unescaped, and that control a terminal or reorder a line: DEL, the C1 controls, and the
 * controls of writing direction. Reasons of failures may quote other servers' texts.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what is being replaced
const OBEYED = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/**
 * The logger. It writes synchronously while there is room, so that the last lines of a dying process are there. A
 * stalled reader of stderr does not block it.
 */
export function createLog(level: string, targets: LogTargets): Logger {
  const { mask = (text: string): string => text } = targets;
  const redact = { paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]), censor: "[hidden]" };
  const hooks = { streamWrite: (line: string) => mask(line).replaceAll(OBEYED, "\uFFFD") };
  const sinks = [...stderrSink(targets), ...fileSink(targets)];
  const write = (line: string): void => {
    for (const sink of sinks) sink(line);
  };
  return pino(
    { level, base: null, redact, hooks, timestamp: pino.stdTimeFunctions.isoTime, mixin: spanFields },
    { write },
  );
}

type Sink = (line: string) => void;

function stderrSink({ stderr, hasColor = false }: LogTargets): Sink[] {
  if (stderr === undefined) return [];
  const shown = (line: string): string => {
    const record = stderr === "text" ? parseLogLine(line) : null;
    return record === null ? line : `${formatLogLine(record, hasColor)}\n`;
  };
  const output = new BoundedOutput(process.stderr, (lines) => shown(droppedLine(lines)));
  return [(line) => output.write(shown(line))];
}

/** In pino's format. */
function droppedLine(lines: number): string {
  const msg = "log_lines_dropped: nobody read them in time";
  return `${JSON.stringify({ level: pino.levels.values["warn"], time: new Date().toISOString(), lines, msg })}\n`;
}

function fileSink({ file }: LogTargets): Sink[] {
  if (file === undefined) return [];
  const log = new LogFile(file);
  return [(line) => log.write(line)];
}
