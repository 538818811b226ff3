import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { CompactionNews } from "./turn-news.ts";

/** A running compaction, in a few words for the status beside the prompt. */
export function describeRunning(news: CompactionNews): string {
  if (news.kind === "leaf") return `summarising ${counted(length(news), "older message")}`;
  return news.kind === "merge" ? "merging older summaries" : "writing a summary again";
}

/** The outcome of a compaction, on a line. Null: nothing has changed; it is tried again, and the log has the reason. */
export function describeCompaction(news: CompactionNews): string | null {
  const { phase, kind, tokensBefore, tokensAfter, memories, ms } = news;
  if (phase !== "committed" || tokensAfter === null) return null;
  const what = {
    leaf: `${counted(length(news), "older message")} summarised`,
    merge: "older summaries merged",
    redo: "a summary written again",
  }[kind];
  const kept = memories === 0 ? "" : `, ${counted(memories, "memory", "memories")}`;
  const tokens = `${formatNumber(tokensBefore)} → ${formatNumber(tokensAfter)} tokens`;
  return `(${what}: ${tokens}, ${(ms / 1000).toFixed(1)} s${kept})`;
}

/** Entries in the range: nearly all of them are messages. */
function length({ fromSeq, toSeq }: CompactionNews): number {
  return toSeq - fromSeq + 1;
}
