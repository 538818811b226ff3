import { OperatorError } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import { assertWhole, type CommonOptions, type Io, say, sayJson } from "./shared/io.ts";
import { findChannel, timeFormatOf, withStore } from "./shared/open.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { unseenParts } from "../context/render.ts";
import type { Entry } from "../core/entry.ts";
import { whoseOf } from "../core/memory.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import type { TimeFormat } from "../text/time.ts";
import type { ChannelRow } from "../store/channels/channels.ts";

/** Entries that `weir log` reads at once. */
const PAGE = 500;

export type LogOptions = CommonOptions & {
  readonly json?: boolean;
  readonly from?: number;
  readonly to?: number;
};

/**
 * `weir log CHANNEL`: the log, entry by entry.
 * @throws OperatorError if the first requested entry comes after the last one, or after the end of the log
 */
export async function showLog(io: Io, name: string, options: LogOptions): Promise<void> {
  const { from: first = 1, to: last = Infinity } = options;
  if (first > last) throw new OperatorError(`--from ${first} comes behind --to ${last}.`);
  const config = readConfigToLook(io, options);
  await withStore(io, config, async (store) => {
    const channel = await findChannel(store, name);
    const time = timeFormatOf(config, channel.agent);
    if (options.from !== undefined && first > channel.lastSeq)
      throw new OperatorError(`The log of ${formatAddress(channel.address)} ends with ${channel.lastSeq}.`);
    const to = Math.min(last, channel.lastSeq);
    for (let from = first; from <= to && !io.shutdown.aborted; from += PAGE) {
      const entries = await store.log.readCurrent(channel.id, from, Math.min(to, from + PAGE - 1));
      for (const entry of entries) {
        if (options.json === true) sayJson(io, entry);
        else say(io, formatEntry(entry, channel, time));
      }
    }
    assertWhole(io);
  });
}

/** One entry of the log as a line (or several, indented) for a person. Pure. */
export function formatEntry(
  entry: Entry,
  channel: Pick<ChannelRow, "agent" | "settledTo" | "coveredTo" | "omittedTo">,
  time: TimeFormat,
): string {
  const head = `${String(entry.seq).padStart(6)}  ${time.minute(entry.at)}  ${displayableLine(speaker(entry, channel.agent))}`;
  const marks = [
    entry.deleted ? "deleted" : "",
    entry.seq <= channel.coveredTo ? "covered" : "",
    entry.seq > channel.coveredTo && entry.seq <= channel.omittedTo ? "omitted" : "",
    entry.kind === "user" && entry.agent !== undefined ? `for ${displayableLine(entry.agent)}` : "",
    entry.kind === "user" && entry.addressed && entry.seq > channel.settledTo ? "waiting" : "",
    entry.kind === "user" && !entry.addressed ? "listened" : "",
    entry.kind === "assistant" && entry.stopped ? "stopped" : "",
  ].filter((mark) => mark !== "");
  const suffix = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  return `${head}${suffix}: ${displayable(body(entry, time)).replaceAll("\n", "\n          ")}`;
}

function speaker(entry: Entry, own: string): string {
  const agent = ("turnId" in entry ? entry.agent : undefined) ?? own;
  switch (entry.kind) {
    case "user":
      return entry.author.name;
    case "assistant":
      return `[${agent}]`;
    case "tool_call":
      return `[${agent} calls]`;
    case "tool_result":
      return `[${entry.tool} answers]`;
    case "notice":
      return entry.edits === null ? "[notice]" : `[${entry.edits.author} edits ${entry.edits.seq}]`;
  }
}

function body(entry: Entry, time: TimeFormat): string {
  if (entry.kind === "tool_call") {
    const calls = entry.calls.map((call) => `${call.name}(${call.arguments})`).join(" ");
    return entry.text === "" ? calls : `${entry.text}\n${calls}`;
  }
  if (entry.kind === "tool_result") {
    const quoted = entry.references.map(({ author, text }) => `> ${author}: ${text ?? "(deleted)"}`);
    const remembered = entry.memories.map(({ memory }) =>
      memory === null ? "> (forgotten)" : `> ${whoseOf(memory)} (${memory.type}): ${memory.statement}`,
    );
    return [entry.text, ...quoted, ...remembered].filter((line) => line !== "").join("\n");
  }
  if (entry.kind === "notice" && entry.absence !== undefined) {
    const { kind, from, to } = entry.absence;
    const fate = kind === "late" ? "comes further below, as it is read" : "can't be read";
    return `what was said between ${time.minute(from)} and ${time.minute(to)} ${fate}`;
  }
  if (entry.kind === "notice" && entry.undelivered !== undefined) {
    const { missing, of } = unseenParts(entry.undelivered);
    if (entry.undelivered.gaps.length === 0)
      return `people have not seen a file of answer ${entry.undelivered.answer}`;
    const gaps = entry.undelivered.gaps.map(({ from, to }) => `${from + 1}–${to}`).join(", ");
    return `people have not seen about ${missing} of the ${of} characters of answer ${entry.undelivered.answer}: ${gaps}`;
  }
  return entry.text;
}
