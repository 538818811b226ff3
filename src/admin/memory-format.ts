import { formatAddress } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import { counted } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { displayable, displayableLine } from "../text/displayable.ts";
import type { MemoryRecord } from "../store/memory/memories.ts";

/** Memories that `/memory` shows. */
const SHOWN = 30;
/** How many to ask for, so that it shows whether there are more. */
export const MEMORIES_ASKED = SHOWN + 1;

/** What is remembered here, for the people of a channel: the newest first. Pure. */
export function formatMemories(memories: readonly Memory[], time: TimeFormat): string {
  if (memories.length === 0) return "Nothing is remembered here yet.";
  const isAll = memories.length < MEMORIES_ASKED;
  const shown = memories.slice(0, SHOWN);
  const head = isAll
    ? `Remembered here: ${counted(shown.length, "statement")}, the newest first.`
    : `The newest ${SHOWN} of what is remembered here:`;
  return [head, ...memoryLines(shown, time)].join("\n");
}

/** Each with the number by which it can be forgotten. */
export function memoryLines(memories: readonly Memory[], time: TimeFormat): string[] {
  return memories.map(({ id, type, statement, assertedBy, at, proofs }) => {
    const source = `${displayableLine(assertedBy)}, ${time.day(at)}, ${counted(proofs, "proof")}`;
    return `- #${id} ${displayableLine(statement)}\n  ${type} · ${source}`;
  });
}

/** A memory with its sources as a card, for whoever runs Weir. Pure. */
export function formatMemoryCard(memory: MemoryRecord, time: TimeFormat): string {
  const { id, type, scope, agent, channel, subject, assertedBy, at, proofs, importance, statement } = memory;
  const number = `#${id}`.padEnd(6);
  const about = `${type} about ${displayableLine(subject)}`;
  const where = `${scope} ${displayableLine(formatAddress(channel))}, agent ${displayableLine(agent)}`;
  const who = `${displayableLine(assertedBy)}, ${time.minute(at)}, ${counted(proofs, "proof")}, importance ${importance.toFixed(2)}`;
  const sources = memory.sources.map(
    ({ seq, at: saidAt, author, quote }) =>
      `        ${String(seq).padStart(6)}  ${time.minute(saidAt)}  ${displayableLine(author)}: "${displayableLine(quote)}"`,
  );
  const body = displayable(statement).replaceAll("\n", "\n        ");
  return [`${number}  ${about} · ${where}`, `        ${body}`, `        ${who}`, ...sources].join("\n");
}
