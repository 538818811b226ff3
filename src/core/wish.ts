import type { ChannelId, Seq, TurnId } from "./ids.ts";

/** Subjects of a wish about answers: only the manner of an answer. */
export const WISH_TOPICS = ["language", "length", "format", "tone", "names"] as const;
export type WishTopic = (typeof WISH_TOPICS)[number];

/** One message's wish about how its author wants to be answered. */
interface Said {
  /** The message. */
  readonly seq: Seq;
  /** `stop`: the person withdraws it. */
  readonly act: "want" | "stop";
  readonly topic: WishTopic;
  /** Id of the person whom it is for, who has said it; null: it is for everybody in the channel. */
  readonly person: string | null;
  /** Id of the person who said it. */
  readonly asker: string;
  /** In English, as one sentence: `Answer in Spanish.` */
  readonly wish: string;
  /** Words of the message, as they stand there. */
  readonly quote: string;
}

/** A wish that has passed the gates; it is kept in the transaction that commits its summary. */
export interface WishDraft extends Said {
  /** When it was said, ISO 8601. */
  readonly at: string;
}

/** Somebody has ended for themselves what others wish for. */
export interface Refusal {
  readonly person: string;
  readonly at: Date;
}

export interface Wish extends Said {
  readonly id: number;
  /** The platform's id of the message: in a thread its root has the same as in the channel. */
  readonly message: string;
  /** By the persons' ids. */
  readonly refusals: readonly Refusal[];
  /** Where it was said: a thread knows those of its channel. */
  readonly channel: ChannelId;
  readonly askerName: string;
  readonly at: Date;
  /** When it was stored: before that, no answer followed it. */
  readonly learnedAt: Date;
}

/** Somebody has marked an answer as a bad one. */
export interface Rejection {
  /** Whose the answer is. */
  readonly turn: TurnId;
  /** When that turn began: what it was shown was learned before. */
  readonly at: Date;
  readonly person: string;
}
