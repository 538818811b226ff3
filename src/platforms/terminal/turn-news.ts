import { z } from "zod";

/** As `formatAddress` writes it; channels of other platforms are ignored. */
const channel = z.string();

export const settledTurnSchema = z.object({
  channel,
  outcome: z.enum(["answered", "skipped", "stopped", "failed"]),
  /** Of `failed`: for the operator, such as the person at the terminal. */
  reason: z.string().nullable(),
  /** The platform's ids of the messages that the turn owned. */
  inReplyTo: z.array(z.string()).readonly(),
});

const emergency = z.object({
  channel,
  /** Entries that are out of the view now. */
  omitted: z.number(),
});

const compaction = z.object({
  channel,
  phase: z.enum(["started", "written", "committed", "failed", "stale"]),
  /** `leaf`: of messages; `merge`, `redo`: of summaries. */
  kind: z.enum(["leaf", "merge", "redo"]),
  tier: z.enum(["background", "aggressive", "emergency", "forced"]),
  fromSeq: z.number(),
  toSeq: z.number(),
  /** Estimated tokens of the covered entries, and of the summary; null: no summary was committed. */
  tokensBefore: z.number(),
  tokensAfter: z.number().nullable(),
  /** Statements that were kept. */
  memories: z.number(),
  ms: z.number(),
});

/** A call of a turn's model failed, and the model is asked again. */
const retry = z.object({
  channel,
  /** 2 or more. */
  attempt: z.number(),
  /** Attempts at most. */
  of: z.number(),
});

/** A terminal's news of turns: a turn may end without a text, and then `send` is not called. */
export const TURN_NEWS = [
  z.object({ type: z.literal("settled"), news: settledTurnSchema }),
  z.object({ type: z.literal("emergency"), news: emergency }),
  z.object({ type: z.literal("compaction"), news: compaction }),
  z.object({ type: z.literal("retry"), news: retry }),
] as const;

export type TurnNews = z.output<(typeof TURN_NEWS)[number]>;
export type SettledTurn = z.output<typeof settledTurnSchema>;
export type CompactionNews = z.output<typeof compaction>;
export type RetryNews = z.output<typeof retry>;

/** Where a terminal hears of turns. */
export interface TurnFeed {
  /** @returns a function that ends the listening */
  on(listener: (news: TurnNews) => void): () => void;
}
