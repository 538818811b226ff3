import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { MAX_LIVE_SUMMARIES, MERGE_AT } from "../../core/compaction.ts";
import type { History, Summary } from "../../core/history.ts";

/** What is known of a channel's requests without putting one together. */
export interface KnownRequest {
  /** Tokens of what is in every request, whatever was said; Infinity: not known yet. */
  readonly everyRequest: number;
  /** Tokens at which background begins. */
  readonly room: () => number;
  readonly maxRawMessages: number;
}

/** Under this share of the background threshold, by the stored estimates alone, nothing can be due. */
const SURE_SHARE = 0.9;

/** False: nothing can be due. Cheap, for it is asked at every append. Pure. */
export function mayBeFull(history: History, { everyRequest, room, maxRawMessages }: KnownRequest): boolean {
  const { omittedTo, coveredTo, entries, summaries } = history;
  if (omittedTo > coveredTo || entries.length >= maxRawMessages) return true;
  if (wantsSummaryWork(summaries)) return true;
  let tokens = everyRequest;
  for (const entry of entries) tokens += entry.tokens;
  for (const summary of summaries) tokens += summary.tokens + SUMMARY_LABEL_TOKENS;
  return tokens >= SURE_SHARE * room();
}

function wantsSummaryWork(summaries: readonly Summary[]): boolean {
  const live = summaries.filter(({ kind }) => kind !== "reset");
  if (live.length >= MAX_LIVE_SUMMARIES || live.some(({ needsRedo }) => needsRedo)) return true;
  const perLevel = new Map<number, number>();
  for (const { level } of live) perLevel.set(level, (perLevel.get(level) ?? 0) + 1);
  return [...perLevel.values()].some((count) => count >= MERGE_AT);
}
