/** What the terminal wants to hear of turns: a turn may end without a text, and then nothing reaches `send`. */
export interface SettledTurns {
  /** @returns a function that ends the listening */
  onSettled(listener: (turn: SettledTurn) => void): () => void;
  /** @returns a function that ends the listening */
  onEmergency(listener: (emergency: EmergencyNews) => void): () => void;
  /** Left out where nothing compacts. @returns a function that ends the listening */
  onCompaction?(listener: (compaction: CompactionNews) => void): () => void;
  /** Left out where nobody tells. @returns a function that ends the listening */
  onRetry?(listener: (retry: RetryNews) => void): () => void;
}

/** A call of a turn's model failed, and the model is asked again. */
export interface RetryNews {
  readonly channel: string;
  /** 2 or more. */
  readonly attempt: number;
  /** Attempts at most. */
  readonly of: number;
}

export interface SettledTurn {
  /** As `formatAddress` writes it; channels of other platforms are ignored. */
  readonly channel: string;
  readonly outcome: "answered" | "skipped" | "stopped" | "failed";
  /** Of `failed`: for whoever runs Weir, as whoever sits before a terminal does. */
  readonly reason: string | null;
  /** The platform's ids of the messages that the turn owned. */
  readonly inReplyTo: readonly string[];
}

export interface EmergencyNews {
  readonly channel: string;
  /** Entries that are out of the view now. */
  readonly omitted: number;
}

export interface CompactionNews {
  readonly channel: string;
  readonly phase: "started" | "written" | "committed" | "failed" | "stale";
  /** `leaf`: of what was said; `merge`, `redo`: of summaries. */
  readonly kind: "leaf" | "merge" | "redo";
  readonly tier: "background" | "aggressive" | "emergency" | "forced";
  readonly fromSeq: number;
  readonly toSeq: number;
  /** Estimated tokens of what is covered, and of the summary; null: none was committed. */
  readonly tokensBefore: number;
  readonly tokensAfter: number | null;
  /** Statements that were kept. */
  readonly memories: number;
  readonly ms: number;
}
