import type { Entry } from "../../core/entry.ts";

/**
 * Makes an extract without a model: of entries, or of the summaries that a merged one was made of. It takes its time, a
 * second for some thousands, in slices: only who waits for its result waits.
 */
export interface Digester {
  /** @param focus what is asked: what has to do with it goes before other things */
  ofEntries(entries: readonly Entry[], maxTokens: number, focus?: string): Promise<Extract>;
  ofTexts(texts: readonly string[], maxTokens: number): Promise<Extract>;
}

export interface Extract {
  readonly text: string;
  /** Estimated. */
  readonly tokens: number;
}

export interface SummaryRange {
  readonly id: number;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly tokens: number;
}

/** An extract may always be so long, tokens. */
const MIN_DIGEST_TOKENS = 64;

/** Longest extract in the place of a summary, estimated tokens. */
export function mostTokens({ tokens }: Pick<SummaryRange, "tokens">): number {
  return Math.max(tokens, MIN_DIGEST_TOKENS);
}
