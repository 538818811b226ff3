import type { ChannelId } from "./ids.ts";

/** The answer for which a model is shown what was learned. */
export interface LearnedFor {
  /** The authors of the messages that it answers. */
  readonly asked: readonly { readonly authorId: string; readonly authorName: string }[];
  /** One person's direct conversation: due work there is answered to that person. */
  readonly isDirect: boolean;
  readonly now: Date;
}

/** What a channel's agent has learned, beside memories, from entries that summaries cover. */
export interface Learned {
  /** The lines for an answer, the most important first. Pure. */
  lines(answer: LearnedFor): readonly string[];
  /** Whether some of it was said in another channel than this, where it may be deleted without notice. */
  isSaidElsewhere(channel: ChannelId): boolean;
}

export const NOTHING_LEARNED: Learned = { lines: () => [], isSaidElsewhere: () => false };
