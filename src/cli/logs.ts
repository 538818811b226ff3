import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { pause } from "../async/clock.ts";
import { isColourUnwanted } from "../config/load.ts";
import { LOG_LEVELS } from "../core/listings.ts";
import { isMissingFile, OperatorError } from "../core/errors.ts";
import { formatAddress, parseAddress } from "../core/ids.ts";
import { openToRead } from "../files/read-file.ts";
import { logFiles } from "../telemetry/log-file.ts";
import { formatLogLine, levelName, type LogRecord, parseLogLine } from "../telemetry/log-line.ts";
import { LogTail } from "../telemetry/log-tail.ts";
import type { CommonOptions, Io } from "./shared/io.ts";
import { logFileOf } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type LogsOptions = CommonOptions & {
  readonly follow?: boolean;
  readonly channel?: string;
  readonly level?: (typeof LOG_LEVELS)[number];
  /** So many of the last lines. */
  readonly lines: number;
  readonly json?: boolean;
};

const POLL_MS = 300;

/** A matching line, parsed. */
interface Meant {
  readonly line: string;
  readonly record: LogRecord;
}

/** `weir logs`: the last lines of the log in readable form, and with `-f` new ones. It asks no daemon and no database. */
export async function showLogs(io: Io, options: LogsOptions): Promise<void> {
  const { path: file, maxFiles } = logFileOf(readConfigToLook(io, options));
  const meant = chooser(options);
  const last: Meant[] = [];
  const keep = (line: string): void => {
    const one = meant(line);
    if (one === null) return;
    last.push(one);
    if (last.length > options.lines) last.shift();
  };
  // Opened before the older files: if it becomes one of them during the reading, it is not read twice.
  using tail = new LogTail(file);
  let isThere = tail.isOpen;
  for (const older of logFiles(file, maxFiles).slice(0, -1))
    if (!tail.isOf(older)) isThere = (await readLines(older, keep)) || isThere;
  tail.read(keep);
  if (!isThere && options.follow !== true)
    throw new OperatorError(
      `There is no log in ${file} yet: \`${weirCommand("start")}\` and \`${weirCommand("chat")}\` write it.`,
    );
  const hasColor = io.stdout.isTTY && !isColourUnwanted();
  const show = ({ line, record }: Meant): void => {
    io.stdout.write(`${options.json === true ? line : formatLogLine(record, hasColor)}\n`);
  };
  last.forEach(show);
  if (options.follow !== true) return;
  while (!io.shutdown.aborted) {
    await pause(POLL_MS, io.shutdown);
    tail.read((line) => {
      const one = meant(line);
      if (one !== null) show(one);
    });
  }
}

/** @returns chooses the lines that are meant */
function chooser({ channel, level }: LogsOptions): (line: string) => Meant | null {
  const address = channel === undefined ? null : formatAddress(parseAddress(channel));
  const least = level === undefined ? -1 : LOG_LEVELS.indexOf(level);
  return (line) => {
    const record = parseLogLine(line);
    if (record === null) return null;
    const rank = LOG_LEVELS.findIndex((one) => one === levelName(record));
    if (rank >= 0 && rank < least) return null;
    if (address !== null && record["channel"] !== address) return null;
    return { line, record };
  };
}

/** @returns false: there is no such file */
async function readLines(file: string, take: (line: string) => void): Promise<boolean> {
  let fd: number;
  try {
    fd = openToRead(file);
  } catch (error) {
    if (isMissingFile(error)) return false;
    throw error;
  }
  for await (const line of createInterface({ input: createReadStream(file, { fd }) })) take(line);
  return true;
}
