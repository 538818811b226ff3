import type { ChannelAddress, Seq } from "./ids.ts";

export type ChannelKind = "dm" | "channel" | "thread";

export interface Author {
  /** The platform's identifier of the person; stable when the name changes. */
  readonly id: string;
  readonly name: string;
  readonly isBot: boolean;
}

/** Something said on a platform. */
export interface InboundMessage {
  readonly type: "message";
  readonly channel: ChannelAddress;
  readonly kind: ChannelKind;
  /** Guild, Slack team, or "" where the platform has no such thing. */
  readonly workspace: string;
  /** The platform's message id: a message is appended once per (channel, id). */
  readonly id: string;
  readonly author: Author;
  readonly text: string;
  /** When it was said, by the platform's clock. */
  readonly at: Date;
  /** True: it wants a turn (it becomes due). False: it was only listened to. */
  readonly addressed: boolean;
  /** The platform's id of the message that this one replies to. */
  readonly replyTo?: string;
}

/** A person changed what they had said. Without a channel, the id is looked up over the whole platform. */
export interface InboundEdit {
  readonly type: "edit";
  readonly platform: string;
  readonly channel?: ChannelAddress;
  readonly id: string;
  readonly text: string;
  readonly at: Date;
}

/** A person took back what they had said. Without a channel, the id is looked up over the whole platform. */
export interface InboundDeletion {
  readonly type: "deletion";
  readonly platform: string;
  readonly channel?: ChannelAddress;
  readonly id: string;
  readonly at: Date;
}

export type InboundEvent = InboundMessage | InboundEdit | InboundDeletion;

/** What became of an inbound event, told once it is durable. */
export type Receipt =
  | { readonly outcome: "accepted"; readonly seq: Seq }
  /** It was in the log already: nothing was written. */
  | { readonly outcome: "duplicate"; readonly seq: Seq }
  /** An edit or a deletion of a message that the log does not have. */
  | { readonly outcome: "unknown_message" }
  /** No binding answers this channel: nothing was written. */
  | { readonly outcome: "unbound" };

/** A text on its way to people. */
export interface OutboundMessage {
  readonly channel: ChannelAddress;
  /** The same for every attempt to send the same text: a platform that takes it sends once. */
  readonly idempotencyKey: string;
  readonly text: string;
  /** False while the answer is still being written: more will come by `edit`. */
  readonly final: boolean;
  /** The messages that this one answers, by the platform's ids. */
  readonly inReplyTo: readonly string[];
  /** `answer` is the agent's word; `notice` is Weir's own. */
  readonly kind: "answer" | "notice";
  readonly timing?: DeliveryTiming;
}

export interface DeliveryTiming {
  /** From the oldest answered message being durable to the text being handed to the platform. */
  readonly turnMs: number;
  /** Spent waiting for the model, over all its calls. */
  readonly modelMs: number;
}
