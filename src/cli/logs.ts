import { closeSync, openSync, readSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { pause } from "../async/clock.ts";
import { isColourUnwanted } from "../config/load.ts";
import { LOG_LEVELS } from "../core/listings.ts";
import { OperatorError } from "../core/errors.ts";
import { formatAddress, parseAddress } from "../core/ids.ts";
import { logFiles } from "../telemetry/log-file.ts";
import { formatLogLine, levelName, parseLogLine } from "../telemetry/log-line.ts";
import { type CommonOptions, type Io, say } from "./io.ts";
import { logFileOf, readConfig } from "./open.ts";

export type LogsOptions = CommonOptions & {
  readonly follow?: boolean;
  readonly channel?: string;
  readonly level?: (typeof LOG_LEVELS)[number];
  /** So many of the last lines. */
  readonly lines: number;
  readonly json?: boolean;
};

const POLL_MS = 300;

/** `weir logs`: the last lines of the log for eyes, and with `-f` what comes. It asks no daemon and no database. */
export async function showLogs(io: Io, options: LogsOptions): Promise<void> {
  const { path: file, maxFiles } = logFileOf(readConfig(io, options));
  const drawn = drawer(io, options);
  const last: string[] = [];
  let isThere = false;
  let end = 0;
  for (const one of logFiles(file, maxFiles)) {
    const read = await readLines(one, (line) => {
      const shown = drawn(line);
      if (shown === null) return;
      last.push(shown);
      if (last.length > options.lines) last.shift();
    });
    isThere ||= read !== null;
    if (one === file) end = read ?? 0;
  }
  if (!isThere && options.follow !== true)
    throw new OperatorError(`There is no log in ${file} yet: weir start and weir chat write it.`);
  for (const line of last) io.stdout.write(`${line}\n`);
  if (options.follow === true) await follow(io, file, end, drawn);
}

/** @returns how a line is shown; null: it is not meant */
function drawer(io: Io, { channel, level, json = false }: LogsOptions): (line: string) => string | null {
  const address = channel === undefined ? null : formatAddress(parseAddress(channel));
  const least = level === undefined ? -1 : LOG_LEVELS.indexOf(level);
  const hasColor = io.stdout.isTTY && !isColourUnwanted();
  return (line) => {
    const record = parseLogLine(line);
    if (record === null) return null;
    const rank = LOG_LEVELS.findIndex((one) => one === levelName(record));
    if (rank >= 0 && rank < least) return null;
    if (address !== null && record["channel"] !== address) return null;
    return json ? line : formatLogLine(record, hasColor);
  };
}

/** @returns how long the file is up to its last whole line; null: there is none */
async function readLines(file: string, take: (line: string) => void): Promise<number | null> {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null;
  const handle = await open(file);
  let bytes = 0;
  for await (const line of handle.readLines()) {
    bytes += Buffer.byteLength(line) + 1;
    take(line);
  }
  return bytes;
}

/** Until somebody stops it. Where the file makes room, the new one is read from its beginning. */
async function follow(
  io: Io,
  file: string,
  from: number,
  drawn: (line: string) => string | null,
): Promise<void> {
  let at = from;
  let inode = statSync(file, { throwIfNoEntry: false })?.ino;
  let decoder = new StringDecoder();
  let rest = "";
  while (!io.shutdown.aborted) {
    await pause(POLL_MS, io.shutdown);
    const now = statSync(file, { throwIfNoEntry: false });
    if (now === undefined) continue;
    if (now.ino !== inode || now.size < at) {
      [at, inode, rest, decoder] = [0, now.ino, "", new StringDecoder()];
    }
    if (now.size <= at) continue;
    const bytes = readFrom(file, at, now.size - at);
    at += bytes.length;
    const lines = (rest + decoder.write(bytes)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const shown = drawn(line);
      if (shown !== null) say(io, shown);
    }
  }
}

function readFrom(file: string, at: number, length: number): Buffer {
  const fd = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(fd, buffer, 0, length, at));
  } finally {
    closeSync(fd);
  }
}
