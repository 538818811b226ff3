import type { Entry } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";

/**
 * Tool results whose quotations an edit has made untrue: it was noted behind what their turn answers, so they may have
 * been found before it. Only where the result or the note is new: all others were looked at when they were. Pure.
 * @param entries by seq
 * @param from the first new one
 * @returns their seqs
 */
export function staleReferences(entries: readonly Entry[], from: Seq): Seq[] {
  const isNew = ({ seq }: Entry): boolean => seq >= from;
  // Most often somebody has said something, and that is all.
  if (!entries.slice(entries.findLastIndex((entry) => !isNew(entry)) + 1).some(mayOutdate)) return [];
  const notes = new Map<Seq, Entry>();
  for (const entry of entries) {
    if (entry.kind === "notice" && entry.edits !== null) notes.set(entry.edits.seq, entry);
  }
  return entries.flatMap((entry) => {
    if (entry.kind !== "tool_result") return [];
    const isOutdated = entry.references.some(({ seq }) => {
      const note = notes.get(seq);
      return note !== undefined && note.seq > entry.after && (isNew(note) || isNew(entry));
    });
    return isOutdated ? [entry.seq] : [];
  });
}

function mayOutdate(entry: Entry): boolean {
  if (entry.kind === "tool_result") return entry.references.length > 0;
  return entry.kind === "notice" && entry.edits !== null;
}
