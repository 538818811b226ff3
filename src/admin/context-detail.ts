import leven from "leven";
import type { Context, ModelMessage, ToolSpec } from "../core/context.ts";
import { counted, truncateMiddle } from "../text/text.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import type { Typed } from "./command-table.ts";
import type { ContextReport } from "./context-report.ts";

type Part = ContextReport["segments"][number];

/** Characters of a part that are shown. */
const SHOWN_LENGTH = 3000;

/** The parts of the next model call, one a line: key, what it is, tokens, share of what is usable. Pure. */
export function formatSegments(report: ContextReport, typed: Typed): string {
  const { channel, agent, model, tokens, usable, segments } = report;
  const head = displayableLine(`${channel} · agent ${agent} · model ${model}`);
  const rows = segments.map((part) => {
    const count = part.tokens.toLocaleString("en-US").padStart(9);
    return `  ${part.key.padEnd(10)} ${part.label.padEnd(24)} ${count} tokens  ${shareOf(part, report).padStart(6)}`;
  });
  const total = `${tokens.toLocaleString("en-US")} of ${usable.toLocaleString("en-US")} usable tokens. ${typed("context detail KEY")} shows one in full.`;
  return [head, "", ...rows, "", total].join("\n");
}

/**
 * One part in full, cut to a length that a person can read. Pure.
 * @param masked the text without secrets: a cut must not leave a piece of one
 */
export function formatSegment(
  part: Part,
  report: ContextReport,
  context: Context,
  masked: (text: string) => string,
): string {
  const { key, label, tokens, count } = part;
  const head = `${key}: ${label}, ${counted(count, "item")}, ${counted(tokens, "token")}, ${shareOf(part, report)} of what is usable`;
  const messages = context.segments.find((segment) => segment.key === key)?.messages ?? [];
  const items = key === "tools" ? context.tools.map(describeTool) : messages.map(describeMessage);
  const text = masked(items.join("\n\n"));
  if (text === "") return `${head}\n\nThere is nothing in it.`;
  const shown = displayable(truncateMiddle(text, SHOWN_LENGTH));
  const cut = text.length - Math.floor(SHOWN_LENGTH * 0.7) - Math.floor(SHOWN_LENGTH * 0.2);
  const foot =
    text.length <= SHOWN_LENGTH
      ? ""
      : `\n\n${cut.toLocaleString("en-US")} of its ${text.length.toLocaleString("en-US")} characters are cut from the middle.`;
  return `${head}\n\n${shown}${foot}`;
}

/** What to say of a key that there is not. Pure. */
export function unknownKey(key: string, { segments }: ContextReport): string {
  const keys = segments.map((segment) => segment.key);
  const all = `The keys are ${keys.join(", ")}.`;
  if (key === "") return `Of which part? ${all}`;
  const near = keys
    .map((known) => ({ known, distance: leven(key.slice(0, 60), known) }))
    .toSorted((a, b) => a.distance - b.distance)
    .find(({ known, distance }) => distance <= Math.max(1, Math.floor(known.length / 3)));
  const guess = near === undefined ? "" : ` Did you mean ${near.known}?`;
  return `There is no part "${displayableLine(key.slice(0, 60))}".${guess} ${all}`;
}

function shareOf({ tokens }: Part, { usable }: ContextReport): string {
  return `${((tokens / usable) * 100).toFixed(1)} %`;
}

function describeTool({ name, description, parameters }: ToolSpec): string {
  return `${name}: ${description}\n${JSON.stringify(parameters)}`;
}

function describeMessage(message: ModelMessage): string {
  const calls = message.role === "assistant" ? message.calls : [];
  const lines = calls.map((call) => `calls ${call.name}(${call.arguments})`);
  return [`<${message.role}>`, ...(message.text === "" ? [] : [message.text]), ...lines].join("\n");
}
