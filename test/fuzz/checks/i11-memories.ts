import type { MemoryRow } from "../observe.ts";
import type { RowCheck } from "./row-check.ts";

/** A memory comes with its summary, from entries that are covered, and its quotes stand in them. */
export const checkI11: RowCheck = (_, after, ledger) =>
  after.memories.flatMap((memory) => {
    const wrong = sourcesOf(memory, after.channel.covered_to);
    if (memory.summary_id === null) wrong.push("belongs to no summary");
    if (memory.sources.length === 0) wrong.push("has no source");
    if (memory.statement.startsWith("unfounded")) wrong.push("should not have passed the gates");
    for (const { seq } of memory.sources) {
      const kind = ledger.entries.get(seq)?.kind;
      if (kind !== "user" && kind !== "assistant") wrong.push(`its source ${seq} is no message but ${kind}`);
    }
    return wrong.map((what) => `memory ${memory.id} ("${memory.statement}"): ${what}`);
  });

function sourcesOf({ sources }: MemoryRow, coveredTo: number): string[] {
  return sources.flatMap(({ seq, quote, texts }) => {
    if (seq > coveredTo) return [`its source ${seq} is not covered`];
    const isQuoted = texts.some((text) => plain(text).includes(plain(quote)));
    return isQuoted ? [] : [`"${quote}" does not stand in entry ${seq}`];
  });
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
