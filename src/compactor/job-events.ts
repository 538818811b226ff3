import type { Job, SummaryDraft } from "../core/compaction.ts";
import type { Events, WeirEvent } from "../telemetry/events.ts";

/** What there is to tell of a job at a step. */
export interface JobNews {
  readonly phase: Extract<WeirEvent, { type: "compaction" }>["phase"];
  /** Since it was begun here; default: 0. */
  readonly ms?: number;
  /** Default: it has none. */
  readonly summary?: SummaryDraft;
  /** How many were committed with it; default: none. */
  readonly memories?: number;
  /** Why it has ended without a summary. */
  readonly reason?: string;
}

/** Tells whoever listens of a step of a channel's job. @param channel as `formatAddress` writes it */
export function tellOfJob(
  events: Events,
  channel: string,
  { id, kind, tier, fromSeq, toSeq, sourceTokens }: Job,
  { phase, ms = 0, summary, memories = 0, reason }: JobNews,
): void {
  events.emit({
    type: "compaction",
    channel,
    job: id,
    phase,
    kind,
    tier,
    fromSeq,
    toSeq,
    tokensBefore: sourceTokens,
    tokensAfter: summary?.tokens ?? null,
    memories,
    model: summary === undefined ? null : (summary.model ?? summary.kind),
    ms,
    reason: reason ?? null,
  });
}
