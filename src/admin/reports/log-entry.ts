import { unseenParts } from "../../context/render.ts";
import type { Entry } from "../../core/entry.ts";
import { whoseOf } from "../../core/memory.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import { displayable, displayableLine } from "../../text/displayable.ts";
import { sliceWhole } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";

/** An entry of the log for a person: plain text without control characters. */
export interface DescribedEntry {
  /** On one line; in brackets if it is no person. */
  readonly speaker: string;
  /** What happened to it, in words. */
  readonly marks: readonly string[];
  /** Of a deleted entry empty. */
  readonly text: string;
  /** UTF-16 units of the whole text. */
  readonly length: number;
}

/**
 * @param channel its own agent, and up to where its entries are settled, covered and omitted
 * @param most longest text, in UTF-16 units: of a longer one its beginning. Default: the whole
 */
export function describeEntry(
  entry: Entry,
  channel: Pick<ChannelRow, "agent" | "settledTo" | "coveredTo" | "omittedTo">,
  time: TimeFormat,
  most = Infinity,
): DescribedEntry {
  const whole = body(entry, time);
  const marks = [
    entry.deleted ? "deleted" : "",
    entry.seq <= channel.coveredTo ? "covered" : "",
    entry.seq > channel.coveredTo && entry.seq <= channel.omittedTo ? "omitted" : "",
    entry.kind === "user" && entry.chain !== undefined ? "handed over" : "",
    entry.kind === "user" && entry.agent !== undefined ? `for ${displayableLine(entry.agent)}` : "",
    entry.kind === "user" && entry.addressed && entry.seq > channel.settledTo ? "waiting" : "",
    entry.kind === "user" && !entry.addressed ? "listened" : "",
    entry.kind === "assistant" && entry.stopped ? "stopped" : "",
  ].filter((mark) => mark !== "");
  return {
    speaker: displayableLine(speaker(entry, channel.agent)),
    marks,
    // Cut before it is made readable: that takes long for a long text.
    text: displayable(whole.length > most ? sliceWhole(whole, 0, most) : whole),
    length: whole.length,
  };
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
