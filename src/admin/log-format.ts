import type { Entry } from "../core/entry.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import type { TimeFormat } from "../text/time.ts";
import type { ChannelRow } from "../store/channels/channels.ts";

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
    entry.kind === "user" && entry.addressed && entry.seq > channel.settledTo ? "waiting" : "",
    entry.kind === "user" && !entry.addressed ? "listened" : "",
    entry.kind === "assistant" && entry.stopped ? "stopped" : "",
  ].filter((mark) => mark !== "");
  const suffix = marks.length === 0 ? "" : ` (${marks.join(", ")})`;
  return `${head}${suffix}: ${displayable(body(entry, time)).replaceAll("\n", "\n          ")}`;
}

function speaker(entry: Entry, agent: string): string {
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
      memory === null ? "> (forgotten)" : `> ${memory.assertedBy} (${memory.type}): ${memory.statement}`,
    );
    return [entry.text, ...quoted, ...remembered].filter((line) => line !== "").join("\n");
  }
  if (entry.kind === "notice" && entry.absence !== undefined) {
    const { kind, from, to } = entry.absence;
    const fate = kind === "late" ? "comes further below, as it is read" : "can't be read";
    return `what was said between ${time.minute(from)} and ${time.minute(to)} ${fate}`;
  }
  return entry.text;
}
