import { createReadStream, fstatSync } from "node:fs";
import { createInterface } from "node:readline";
import { isMissingFile } from "../../core/errors.ts";
import type { TurnId } from "../../core/ids.ts";
import { openToRead } from "../../files/read-file.ts";
import { formatLogLine, type LogRecord, parseLogLine } from "../../telemetry/log-line.ts";

/** The newest part of the file that is read, bytes. */
export const READ_BYTES = 4_000_000;
const MOST_LINES = 100;
/** A word, a name or an id: a value with blanks may quote what somebody said. */
const PLAIN = /^\S{0,100}$/u;
/** Their values are sentences, also where they are one word. */
const SENTENCES: ReadonlySet<string> = new Set(["why", "said"]);

/**
 * The lines of a turn in the newest part of a log, as `weir logs` shows them, without sentences.
 * @returns null: there is no such file
 */
export async function readTurnLog(file: string, turn: TurnId): Promise<readonly string[] | null> {
  let fd: number;
  try {
    fd = openToRead(file);
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
  const start = Math.max(0, fstatSync(fd).size - READ_BYTES);
  const lines: string[] = [];
  // Most lines are of other turns: to parse them all would take as long as to answer somebody.
  const mark = `"turn":${turn}`;
  for await (const line of createInterface({ input: createReadStream(file, { fd, start }) })) {
    const record = line.includes(mark) ? parseLogLine(line) : null;
    if (record?.["turn"] !== turn) continue;
    lines.push(formatLogLine(withoutSentences(record), false));
    if (lines.length > MOST_LINES) lines.shift();
  }
  return lines;
}

function withoutSentences({ level, msg, ...fields }: LogRecord): LogRecord {
  const plain = Object.entries(fields).filter(([key, value]) => !SENTENCES.has(key) && isPlain(value));
  return { ...Object.fromEntries(plain), level, msg };
}

function isPlain(value: unknown): boolean {
  if (typeof value === "string") return PLAIN.test(value);
  if (Array.isArray(value)) return value.every(isPlain);
  return value === null || typeof value !== "object";
}
