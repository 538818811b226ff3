import { jsonOf } from "../core/json.ts";
import { pino } from "pino";
import { displayableLine } from "../text/displayable.ts";
import { formatNumber } from "../text/format.ts";

export type LogRecord = Readonly<Record<string, unknown>> & { readonly level: number; readonly msg: string };

const COLORS: ReadonlyMap<string, string> = new Map([
  ["trace", "2"],
  ["debug", "2"],
  ["warn", "33"],
  ["error", "31"],
  ["fatal", "31"],
]);
const EVENT_WIDTH = 8;
/** Fields with their own places, or the same in every line. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  "level",
  "time",
  "msg",
  "channel",
  "pid",
  "hostname",
  "trace_id",
  "span_id",
]);
/** Longest shown value, in UTF-16 units: a longer one is cut; the file has all of it. */
const MAX_VALUE = 300;

/** @returns null: not a log line */
export function parseLogLine(line: string): LogRecord | null {
  const value = jsonOf(line);
  return isRecord(value) ? value : null;
}

function isRecord(value: unknown): value is LogRecord {
  return (
    typeof value === "object" &&
    value !== null &&
    "level" in value &&
    typeof value.level === "number" &&
    "msg" in value &&
    typeof value.msg === "string"
  );
}

export function levelName({ level }: Pick<LogRecord, "level">): string {
  return pino.levels.labels[level] ?? String(level);
}

/**
 * A line of the log for people: `03:21:37 turn     discord:12  answered 3.9 s  1,240 → 85 tok`. It contains no control
 * characters for a terminal. Times are this machine's. Pure except for the time zone.
 */
export function formatLogLine(record: LogRecord, hasColor: boolean): string {
  const level = levelName(record);
  const [name, detail] = told(record);
  const channel = typeof record["channel"] === "string" ? record["channel"] : "";
  const mark = ["warn", "error", "fatal"].includes(level) ? `${level} ` : "";
  const parts = [`${clock(record["time"])} ${mark}${name.padEnd(EVENT_WIDTH)}`, channel, detail];
  const line = displayableLine(parts.filter((part) => part !== "").join("  "));
  const color = hasColor ? COLORS.get(level) : undefined;
  return color === undefined ? line : `\u001B[${color}m${line}\u001B[0m`;
}

function told(record: LogRecord): readonly [name: string, detail: string] {
  switch (record.msg) {
    case "turn_settled": {
      const spent = tokens(record["tokensIn"], record["tokensOut"]);
      return ["turn", joined(ended(record), spent, ids(record, ["turn", "inReplyTo"]))];
    }
    case "model_call": {
      const done = `${text(record["model"])} ${text(record["outcome"])} ${seconds(record["totalMs"])}`;
      const spent = tokens(record["promptTokens"], record["completionTokens"]);
      return ["model", joined(done, spent, ids(record, ["purpose", "turn", "job"]))];
    }
    case "compaction": {
      const done = `${text(record["phase"])} ${text(record["kind"])} ${seconds(record["ms"])}`;
      const change = tokens(record["tokensBefore"], record["tokensAfter"]);
      return ["compact", joined(done, change, ids(record, ["job", "tier", "reason"]))];
    }
    case "message_accepted":
      return ["message", ids(record, ["messageId", "seq", "addressed"])];
    case "reply_delivered":
      return ["sent", ids(record, ["turn", "messageIds", "inReplyTo"])];
    default: {
      const others = Object.keys(record).filter((key) => !ELSEWHERE.has(key));
      return [record.msg, ids(record, others)];
    }
  }
}

function ended(record: LogRecord): string {
  const { outcome, reason, said, turnMs } = record;
  const words = [reason, said].filter((one) => one !== null && one !== undefined);
  return joined(`${text(outcome)} ${seconds(turnMs)}`, words.map((one) => text(one)).join(": "));
}

function ids(record: LogRecord, keys: readonly string[]): string {
  return keys
    .filter((key) => record[key] !== undefined && record[key] !== null)
    .map((key) => `${key}=${text(record[key])}`)
    .join(" ");
}

function tokens(before: unknown, after: unknown): string {
  return typeof before === "number" && typeof after === "number"
    ? `${formatNumber(before)} → ${formatNumber(after)} tok`
    : "";
}

function seconds(ms: unknown): string {
  return typeof ms === "number" ? `${(ms / 1000).toFixed(1)} s` : "";
}

function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part.trim() !== "").join("  ");
}

function text(value: unknown): string {
  const shown = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return shown.length > MAX_VALUE ? `${shown.slice(0, MAX_VALUE)}…` : shown;
}

function clock(time: unknown): string {
  const at = typeof time === "string" || typeof time === "number" ? new Date(time) : new Date(Number.NaN);
  return Number.isNaN(at.getTime()) ? "--:--:--" : at.toTimeString().slice(0, 8);
}
