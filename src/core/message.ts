import type { Card } from "./card.ts";
import type { ChannelAddress, Seq } from "./ids.ts";
import type { ImageBytes } from "./image.ts";

/**
 * A reaction is stored and deleted as a message. Its id is this prefix, the platform's id of the message with the
 * reaction, the person's id, and the emoji, separated by slashes.
 */
export const REACTION_PREFIX = "reaction/";

/** A message that a command of Weir's writes, with an id that no platform knows: this prefix and a unique number. */
export const COMMAND_PREFIX = "command/";

/**
 * An edit that makes a message one to answer is a message of its own: this prefix, and the platform's id of the edited message. It has
 * none of its words, so that a deletion has one place.
 */
export const MENTION_PREFIX = "mention/";

/**
 * Weir's own due work: a message without a human author that needs an answer. Its id begins with the kind and the number of its
 * origin, so that it is appended once: `reminder/3/2026-11-21T14:05Z`.
 */
const DUE_PREFIXES: readonly string[] = ["reminder/", "subagent/", "handoff/", "approval/"];

/** The author's id of messages without a person. */
export const OWN_AUTHOR = "weir";

/** Whether a message is work of Weir's own, without a human author. */
export function isDueWork(messageId: string): boolean {
  return DUE_PREFIXES.some((prefix) => messageId.startsWith(prefix));
}

/**
 * Prefixes of ids that Weir assigns itself. They have no place in a platform's order or history, so they must not be used to
 * find gaps or deletions.
 */
export const OWN_PREFIXES: readonly string[] = [
  REACTION_PREFIX,
  COMMAND_PREFIX,
  MENTION_PREFIX,
  ...DUE_PREFIXES,
];

/** Whether Weir gave a message its id: there is nothing on the platform to reply to, or to react to. */
function isOwnId(messageId: string): boolean {
  return OWN_PREFIXES.some((prefix) => messageId.startsWith(prefix));
}

/** The id of the entry that asks for an answer to an edited message. */
export function mentionId(messageId: string): string {
  return `${MENTION_PREFIX}${messageId}`;
}

/** The platform's id of the message that an entry is about, to reply or react to; null: there is none. */
export function platformIdOf(messageId: string): string | null {
  if (messageId.startsWith(MENTION_PREFIX)) return messageId.slice(MENTION_PREFIX.length);
  return isOwnId(messageId) ? null : messageId;
}

/** The id of a reaction as a message. If it is added again after its removal, the count of additions follows. */
export function reactionId(messageId: string, person: string, emoji: string): string {
  return `${REACTION_PREFIX}${messageId}/${person}/${emoji}`;
}

export type ChannelKind = "dm" | "channel" | "thread";

export interface Author {
  /** The platform's identifier of the person; stable when the name changes. */
  readonly id: string;
  readonly name: string;
  readonly isBot: boolean;
  /** Ids of the person's roles here; left out if the platform has no roles. */
  readonly roles?: readonly string[];
  /** Their names, which are not unique: people can create roles with any name. */
  readonly roleNames?: readonly string[];
}

/** The place of a channel in the platform's words, by which bindings and people name it. */
export interface Place {
  /** Name of the guild or team; empty without one. */
  readonly workspace: string;
  /** Name of the channel, without `#`; of a thread its title; of a DM the person's name. */
  readonly channel: string;
  /** Of a thread: the channel that it belongs to. */
  readonly parent: { readonly id: string; readonly name: string } | null;
  /** Of a channel that has another id since, or of a thread of one: that id. */
  readonly newestId?: string;
  /** People of other workspaces read it, too: nothing that its own workspace shares shows there. */
  readonly isExternal?: true;
}

/** Another id of a channel, on its platform. */
export interface ChannelRename {
  readonly id: string;
  /** By which Weir knows it. */
  readonly firstId: string;
}

/** A server (guild, team) of a platform. */
export interface Server {
  readonly id: string;
  readonly name: string;
}

export interface ChannelOnPlatform {
  readonly channel: ChannelAddress;
  readonly kind: ChannelKind;
  /** Id of the guild or Slack team; empty if the platform has no such thing. */
  readonly workspace: string;
  /** Left out if the platform has no names beside its ids. */
  readonly place?: Place;
  /** Whether some members of the workspace cannot read it; left out: unknown, and it counts as private. */
  readonly isPrivate?: boolean;
}

/** Whether a channel is private, by its platform. */
export interface ChannelPrivacy {
  readonly channel: ChannelAddress;
  readonly isPrivate: boolean;
  /** The time of the change, by the platform's clock; left out: the platform gives only the current state. */
  readonly at?: Date;
}

/** A picture that belongs to a message, for models that see. */
export interface InboundImage extends ImageBytes {
  readonly name: string;
}

export interface InboundMessage extends ChannelOnPlatform {
  readonly type: "message";
  /**
   * The platform's message id: a message is appended once per (channel, id). If the same message is background of
   * a thread, too, it has the same id there.
   */
  readonly id: string;
  readonly author: Author;
  readonly text: string;
  /** When it was said, by the platform's clock. */
  readonly at: Date;
  /** True: it is meant for the bot (a mention, a reply to it, a DM), and asks for a turn. False: it is only read. */
  readonly addressed: boolean;
  /** True: it was said before the bot could see it. It is context, whatever the binding. */
  readonly isBackground?: boolean;
  /** True: it was received later than it was said, and the channel's readers at that time are unknown. */
  readonly isLate?: boolean;
  /** The platform's id of the message that this one replies to. */
  readonly replyTo?: string;
  /** The platform's id of the message that was deleted because this one repeats it: it was its author's, and a proxy speaks for them. */
  readonly replaces?: string;
  /** That message as the platform brings it with this one; left out: it does not. */
  readonly quote?: QuotedMessage;
  /** The pictures among its attachments; the text names all attachments. */
  readonly images?: readonly InboundImage[];
  /** Names in the text, after an `@`, that stand for the platform's own mentions of people, the bot among them. */
  readonly mentions?: readonly string[];
  readonly mentionedRoles?: readonly string[];
}

export interface QuotedMessage {
  readonly id: string;
  readonly author: Pick<Author, "id" | "name">;
  readonly text: string;
  readonly at: Date;
  /** When its text became this one: its last edit. */
  readonly asOf: Date;
}

/** A person edited a message. Without a channel: in each of the platform's channels that has the message. */
export interface InboundEdit {
  readonly type: "edit";
  readonly platform: string;
  readonly channel?: ChannelAddress;
  readonly id: string;
  readonly text: string;
  readonly at: Date;
  /** True: it was received later than it was made, and the channel's readers at that time are unknown. */
  readonly isLate?: boolean;
  /**
   * The message as it is since the edit, which may be meant for the bot now. Left out: it asks for nothing, as in direct messages, where
   * all is meant for the bot anyway, or because the edit is old.
   */
  readonly said?: InboundMessage;
}

/** A person deleted a message. Without a channel: in each of the platform's channels that has the message. */
export interface InboundDeletion extends Pick<InboundEdit, "platform" | "channel" | "id" | "at"> {
  readonly type: "deletion";
  /** Set: these reactions were removed; `id` names them in the daemon's log. */
  readonly reactions?: Reactions;
}

export interface Reactions {
  readonly messageId: string;
  /** Default: everybody's. */
  readonly person?: string;
  /** Default: all. */
  readonly emoji?: string;
}

/** A channel or a thread was deleted on its platform, with its messages. The bot's departure does not count. */
export interface InboundChannelDeletion extends Pick<InboundEdit, "platform" | "id" | "at"> {
  readonly type: "channel_deletion";
  readonly channel: ChannelAddress;
}

/** A change or deletion by people. It names its message, which is found only if it is recent. */
export type InboundChange = InboundEdit | InboundDeletion | InboundChannelDeletion;

export type InboundEvent = InboundMessage | InboundChange;

/** The outcome of an inbound event, once it is durable. */
export type Receipt =
  | { readonly outcome: "accepted"; readonly seq: Seq }
  /** It was in the log already: nothing was written. */
  | { readonly outcome: "duplicate"; readonly seq: Seq }
  /** An edit or a deletion of a message that the log does not have. */
  | { readonly outcome: "unknown_message" }
  /** No binding answers this channel: nothing was written. */
  | { readonly outcome: "unbound" }
  /** A binding answers this channel, and does not want this message: nothing was written. */
  | { readonly outcome: "ignored" }
  /** It was a command: it was run, and its answer is on its way. */
  | { readonly outcome: "command" };

/** A piece of work for an answer that is being written. It has no arguments and no results, which may not be for everybody. */
export interface WorkStep {
  readonly id: string;
  /** One line. */
  readonly title: string;
  readonly state: "running" | "done" | "failed";
  /** Another agent does it. */
  readonly isDelegated: boolean;
}

export interface OutboundFile {
  readonly name: string;
  /** MIME type. */
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** A text on its way to people. */
export interface OutboundMessage {
  readonly channel: ChannelAddress;
  /** The same for every attempt to send the same text: a platform that supports keys sends once. */
  readonly idempotencyKey: string;
  /** An earlier attempt may have succeeded without an acknowledgement: a platform that forgets keys looks for it first. */
  readonly mayBeThere: boolean;
  /** The existing message may be only the beginning: a draft of it was shown. Default: it is the whole text or another message. */
  readonly mayBeInPart?: boolean;
  readonly text: string;
  /** The text has no markup and is shown as it is: the platform has refused it with markup. Default: it is Markdown. */
  readonly plain?: true;
  /** Sent with it. Default: none. Such a message is final, and is not edited. */
  readonly file?: OutboundFile;
  /** Drawn with the text, which sums it up; only where the platform draws cards. */
  readonly card?: Card;
  /** Drawn below it, if the platform draws buttons. An edit of a message with actions has a list, too; an empty one removes them. */
  readonly actions?: readonly MessageAction[];
  /** Shown with an unfinished answer, whose text may be empty then; only where the platform shows steps. */
  readonly steps?: readonly WorkStep[];
  /** The last of an answer: people may be asked whether it was a good one. */
  readonly asksFeedback?: true;
  /** False while the answer is still being written: more will come by `edit`. */
  readonly final: boolean;
  /** The messages that this one answers, by the platform's ids. */
  readonly inReplyTo: readonly string[];
  /** `answer` is the agent's word; `notice` is Weir's own. */
  readonly kind: "answer" | "notice";
  /**
   * The name of the author, if it is another agent than the channel's own; the text has the name, unless the platform shows it
   * itself.
   */
  readonly speaker?: string;
  readonly timing?: DeliveryTiming;
}

/** An action on a message at a press: the same as typing the command. */
export interface MessageAction {
  readonly label: string;
  readonly style: "primary" | "plain" | "danger";
  /** Without the slash. */
  readonly command: string;
  readonly argument: string;
  /** A press opens the command's form first; its words follow the argument. Default: it runs the command. */
  readonly takesWords?: true;
}

export interface DeliveryTiming {
  /** From the oldest answered message being durable to the text being handed to the platform. */
  readonly turnMs: number;
  /** Spent waiting for the model, over all its calls. */
  readonly modelMs: number;
}

/** How far a gap, a run of a channel's messages that the log lacks, was filled from its beginning. */
export interface GapStep {
  /** The gap began after the message `fromId`, and begins after `toId` from now on. */
  readonly fromId: string;
  readonly toId: string;
  readonly read: number;
  /** When the last of them was said; null: there were no messages. */
  readonly readTo: Date | null;
  /** When the gap ends, and the message at which it ends. */
  readonly until: Date;
  readonly untilId: string;
}
