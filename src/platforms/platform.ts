import type { Card, CommandAnswer } from "../core/card.ts";
import type { Absence } from "../core/entry.ts";
import type { GatewayPlace, KeptSession } from "../core/gateway.ts";
import type { ChannelAddress } from "../core/ids.ts";
import type {
  Author,
  ChannelOnPlatform,
  ChannelPrivacy,
  ChannelRename,
  GapStep,
  InboundEvent,
  InboundMessage,
  OutboundMessage,
  Place,
  Receipt,
  Server,
} from "../core/message.ts";
import { WeirError } from "../core/errors.ts";

/**
 * The port between Weir and one chat platform. An adapter translates both ways and decides nothing: it hands events to its
 * inbox in the platform's order, and sends and edits texts as requested.
 */
export interface Platform extends AsyncDisposable {
  /** `terminal`, `loopback`, …: the `platform` of every address it speaks for. */
  readonly name: string;
  readonly capabilities: PlatformCapabilities;
  /**
   * Opens the intake. Resolves once the platform is connected; events may reach the inbox before that.
   * @throws OperatorError if the operator has to change something (a token, an address)
   */
  start(inbox: PlatformInbox, ledger: CatchUpLedger): Promise<void>;
  /**
   * Stops the intake; sending still works, so that a drain can deliver.
   * @param deadline until then it may wait for the answers to commands that are under way
   */
  stopIntake(deadline: AbortSignal): Promise<void>;
  /**
   * Sends a text. Resolves when the platform acknowledged it, with the platform's id of the new message. A second call with the
   * same idempotency key sends nothing new where the platform recognises it (`capabilities.takesIdempotencyKeys`), and resolves
   * with the id of the first.
   * @throws PlatformError
   */
  send(message: OutboundMessage): Promise<string>;
  /**
   * Replaces the text of a message that `send` returned.
   * @throws PlatformError, with `isMessageGone` if it was deleted
   */
  edit(messageId: string, message: OutboundMessage): Promise<void>;
  /**
   * Deletes a message that `send` returned: a draft of an answer that never came. Idempotent. Default: the platform cannot.
   * @throws PlatformError
   */
  remove?(channel: ChannelAddress, messageId: string): Promise<void>;
  /**
   * Adds an emoji to a message. Idempotent. Default: the platform has no reactions.
   * @param emoji a Unicode emoji, or the platform's name of one of its own, without colons
   * @throws PlatformError
   */
  react?(channel: ChannelAddress, messageId: string, emoji: string): Promise<void>;
  /**
   * Shows a text to one person only; it does not last. Default: the platform cannot.
   * @param person the platform's id
   * @param card drawn in place of the text, if the platform draws cards
   * @throws PlatformError
   */
  tellAlone?(channel: ChannelAddress, person: string, text: string, card?: Card): Promise<void>;
  /**
   * The channel of the direct messages with a person, for a text without a request of theirs. Default: the bot cannot open one.
   * @param person the platform's id
   * @throws PlatformError
   */
  directChannel?(person: string): Promise<ChannelAddress>;
  /**
   * The web address of a message; null: it has no address. Must not throw. Default: the platform has no such addresses.
   * @param messageId the platform's id, of a message of that channel or of one that it shows
   */
  linkTo?(channel: LinkedChannel, messageId: string): Promise<string | null>;
  /**
   * Shows that an answer to these messages is being made, until the next text, or `isWorking` false, or for some seconds: call
   * it again as long as the work lasts. Best effort: it does not throw, and failures are not reported.
   */
  showTyping?(channel: ChannelAddress, inReplyTo: readonly string[], isWorking: boolean): void;
  /** The state of its connection. Must not throw. Default: it has no connection. */
  connection?(): ConnectionState;
}

export interface ConnectionState {
  /** `interrupted`: the platform's own client recovers it; `waiting`: it has ended, and is opened again after a pause. */
  readonly kind: "connecting" | "connected" | "interrupted" | "waiting";
  readonly since: Date;
  /** Why the last connection could not be opened, or ended; null: it is connected, or has not been yet. */
  readonly why: string | null;
  /** Of `waiting`: an operator has to mend something. */
  readonly isOperators: boolean;
  /** Of `connected`: account and place, as `weir in 3 servers`. Default: unknown. */
  readonly as?: string | undefined;
}

/** Before the first attempt. */
export function notConnectedYet(): ConnectionState {
  return { kind: "connecting", since: new Date(), why: null, isOperators: false };
}

export interface LinkedChannel {
  readonly address: ChannelAddress;
  /** Id of the server or team; "" in direct messages. */
  readonly workspace: string;
  /** Null: its platform gave no names. */
  readonly place: Place | null;
}

export interface PlatformCapabilities {
  /** Answers can be shown while they are written. */
  readonly streaming: false | PieceTiming;
  readonly takesIdempotencyKeys: boolean;
  /** Longest text of one message, in UTF-16 units: the platform's limit less the room for its markup. */
  readonly maxTextLength: number;
  /**
   * People type commands into their messages, as `/status` after a mention: the router looks for them. Default: the adapter
   * recognises commands itself.
   */
  readonly hasTextCommands?: true;
  /** Prefix of a command's name in typed text; default: `/`. */
  readonly commandPrefix?: string;
  /**
   * Ordinary text is shown in a proportional font, so aligned columns must stand in a code block. Default: all text is
   * fixed-width.
   */
  readonly isProportional?: true;
  /** A message shows the name of the agent that says it. Default: that name stands in the text. */
  readonly showsSpeakers?: true;
  /** Cards are drawn. One that the platform does not take is an error that is not retryable. Default: they are not. */
  readonly drawsCards?: true;
  /** Actions of a message are drawn, as buttons. Default: they are not, and people type the commands. */
  readonly drawsActions?: true;
  /** A message may have a file. Default: it may not. */
  readonly takesFiles?: true;
  /** Its people sit before this process: no other daemon can reach them. Default: any daemon with the same configuration can. */
  readonly isHere?: true;
  /**
   * Which channels this adapter can deliver to just now. A daemon leaves alone what is due in the others
   * (a terminal session answers the channel that it shows).
   */
  serves(channel: ChannelAddress): boolean;
}

/** How often pieces of an answer that is being written may be shown. */
export interface PieceTiming {
  /** The least time between two of them. */
  readonly intervalMs: number;
  /** Delay of the first piece: an answer that is complete by then is sent once. Default: no delay. */
  readonly firstAfterMs?: number;
  /**
   * Called before each piece, with the key of its answer; false: the piece is left out, because the platform's rate is needed
   * elsewhere. Left out: only the interval limits pieces; it is not 0 where this is given.
   */
  readonly mayShow?: (idempotencyKey: string) => boolean;
  /** Whether an unfinished answer in a channel can show its steps. Default: none can. */
  readonly showsSteps?: (channel: ChannelAddress) => boolean;
  /** Called if a piece that `mayShow` allowed was not shown under that key, and no later piece follows. */
  readonly ended?: (idempotencyKey: string) => void;
}

/** A voice message, or another sound that was attached. */
export interface InboundSound {
  /** With an ending for its format. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** s; null: the platform does not say. */
  readonly durationS: number | null;
}

export type Transcript =
  | { readonly kind: "words"; readonly text: string }
  /** `why`: for the message's readers; null: nobody may know. */
  | { readonly kind: "none"; readonly why: string | null };

export interface Transcripts {
  /** Takes a bounded time, in which later messages of the channel wait. Does not throw. */
  of(where: ChannelOnPlatform, author: Author, sound: InboundSound): Promise<Transcript>;
}

/** Receives a platform's messages and commands. Every adapter needs it. */
export interface PlatformInbox {
  /** Words of sounds, for the text of their message. Default: no model makes them. */
  readonly transcripts?: Transcripts | undefined;
  /**
   * Appends the event to the log, and wakes its channel. Resolves once the event is durable.
   * @throws WeirError if the event could not be made durable: the adapter must not acknowledge it. UnstorableError if it never
   *   can be, which is the only reason to leave it out
   */
  receive(event: InboundEvent): Promise<Receipt>;
  /**
   * Tells Weir which servers the bot is in, before the first event of a connection. Needed if strangers can bring the bot into
   * their servers: the list decides what a name in the configuration refers to.
   * @param list called only if the configuration has names
   * @throws what `list` throws; WeirError if the database does not answer
   */
  meetServers(platform: string, list: () => Promise<readonly Server[]>): Promise<void>;
  /** Stores whether channels are private now, the latest state of each. Resolves when that is stored, or Weir ends; must not reject. */
  meetChannels(platform: string, channels: readonly ChannelPrivacy[]): Promise<void>;
  /** What the agent of a channel suggests to ask it, for a person who may ask it. Must not throw. Default: nothing. */
  promptsFor?(where: ChannelOnPlatform, person: Author): readonly SuggestedPrompt[];
  /** Runs a command (`status`, `stop`, …) that bypasses the mailbox. Resolves with an answer for the asker alone. */
  command(command: InboundCommand): Promise<CommandAnswer>;
}

export interface SuggestedPrompt {
  readonly title: string;
  /** Said for the person who chooses it. */
  readonly message: string;
}

/**
 * The log's state of each channel, and its gaps. For adapters that read a platform's history to catch up on messages from while
 * the bot was offline.
 */
export interface CatchUpLedger {
  /** True: the message's author is not heard in this channel, and nothing of the message is stored. */
  refuses(message: InboundMessage): boolean;
  /** How the configuration treats a channel, and whether the log has messages of it. */
  policyOf(channel: ChannelOnPlatform): Promise<ChannelPolicy>;
  /**
   * The channels in which messages may be missing. To be called at the start and after each interruption, before any later
   * event is handed in.
   * @param which `recorded`: only those that were left with `keepGap`, for a connection that replays later events. Default: all
   * @returns the channels with the newest activity, at most some thousand, the newest first
   */
  openGaps(platform: string, which?: "all" | "recorded"): Promise<readonly Gap[]>;
  /** The gap of one channel; null: the log has nothing of the channel, or no binding answers it. */
  gapOf(channel: ChannelAddress): Promise<Gap | null>;
  /** Records a gap until `closeGap`, so that later events of the channel can be stored before the gap is filled. */
  keepGap(gap: Gap): Promise<void>;
  /** Notes that the beginning of a recorded gap was filled. */
  advanceGap(channel: ChannelAddress, step: GapStep): Promise<void>;
  /** Removes the record of a gap: the missing messages were handed in, or never can be. */
  closeGap(channel: ChannelAddress): Promise<void>;
  /** Appends an entry to the log that says that messages of some time are missing. At most one entry per key. */
  noteAbsence(channel: ChannelOnPlatform, key: string, absence: Absence): Promise<void>;
  hasMessage(channel: ChannelAddress, id: string): Promise<boolean>;
  /** The platform's ids of the newest messages of people in the log that are not deleted, at most `limit`. */
  newestMessageIds(channel: ChannelAddress, limit: number): Promise<readonly string[]>;
  /** True: the channel's view is nearly full and is being summarised, so messages that need no answer should come later. */
  isCrowded(channel: ChannelOnPlatform): boolean;
  /**
   * The time up to which everything addressed to a bot was received; null: the bot has never listened.
   * @param account the platform's id of the bot
   */
  watermark(platform: string, account: string): Promise<Date | null>;
  /** Moves the watermark forward. An earlier time changes nothing, unless the stored time lies in the future. */
  moveWatermark(platform: string, account: string, to: Date): Promise<void>;
  /** Ids that the platform has given to channels since the log has them; the oldest first. */
  channelRenames(platform: string): Promise<readonly ChannelRename[]>;
  /** Notes that a channel has another id from now on. */
  renameChannel(platform: string, from: string, to: string): Promise<void>;
  /** The last received position of a connection, if the platform replays later events; null: unknown. */
  keptSession(platform: string, shard: number): Promise<KeptSession | null>;
  /**
   * Replaces the stored position of that connection. Everything up to its sequence must be in the log by then.
   * @param epoch with which this daemon has the connection; null: it belongs to no cluster
   * @returns false: another daemon has it, and its stored position stays
   */
  keepSession(platform: string, place: GatewayPlace, epoch: number | null): Promise<boolean>;
}

export interface ChannelPolicy {
  /** Some binding answers the channel. */
  readonly isBound: boolean;
  /** Messages that are not answered are stored as context. */
  readonly listens: boolean;
  /** Messages are answered without a mention. */
  readonly answersAll: boolean;
  /** The log has messages of the channel. Always false, without a look-up, if it is no thread and no binding listens there. */
  readonly isKnown: boolean;
}

/** A channel whose messages after `afterId` may not all be in the log. */
export interface Gap extends ChannelOnPlatform {
  /** The platform's id of the last message before the gap. */
  readonly afterId: string;
  /**
   * True: the log has only the questions of this channel, and none of its gaps is recorded. So messages after `afterId` may have
   * been received without being stored.
   */
  readonly isSparse?: true;
}

/** A command that people can give, for platforms that list them. */
export interface PlatformCommand {
  /** Without the slash. */
  readonly name: string;
  /** One line. */
  readonly help: string;
  /** A short list of commands has it. Default: only the whole list. */
  readonly isCommon?: true | undefined;
  /** Its answer is a report, drawn in a box where a platform has boxes. Default: it is a sentence. */
  readonly isReport?: true | undefined;
  readonly argument: null | {
    /** Name of the argument's field, where the platform has fields: small letters, digits, `-` and `_`, at most 32. */
    readonly name: string;
    /** Form of the argument, as `NUMBER | me`. */
    readonly form: string;
    /** One line. */
    readonly help: string;
  };
  /** A form in which people write its text, where the platform has forms. Default: it has none. */
  readonly form?: CommandForm | undefined;
}

/** A form with one text. */
export interface CommandForm {
  /** At most 24 characters. */
  readonly title: string;
  /** Of the text; at most 45 characters. */
  readonly label: string;
  /** Longest text, in characters; at most 3,000. */
  readonly maxLength: number;
  /** The command alone, without an argument, opens it. Default: only buttons do. */
  readonly opensAlone?: true;
}

export interface InboundCommand {
  readonly channel: ChannelAddress;
  /** Without the slash. */
  readonly name: string;
  readonly argument: string;
  readonly asker: Asker;
  /** The message in which it was typed; default: it was no message, as a slash command. */
  readonly said?: Pick<InboundMessage, "id" | "text" | "at">;
  /** The channel as its messages describe it: a command may be the first stored event there. Default: unknown. */
  readonly where?: ChannelOnPlatform;
}

/** The answer to a `/stop` that has ended something: the ended answer says so itself. */
export const STOPPED = "Stopped.";

/** The answer to a choice that is made: the question's own message shows it. */
export const ANSWERED = "Your answer is noted.";

/** The answer to a command that failed. The reason is only logged: it may contain more than the asker may know. */
export const COMMAND_FAILED = "That did not work. The log of Weir says why.";

/** The person who gives a command. */
export interface Asker {
  /** The platform's identifier of the person. */
  readonly id: string;
  readonly name: string;
  /** Ids of the roles that the person has there. */
  readonly roles: readonly string[];
  readonly roleNames?: readonly string[];
}

/** A platform did not take a text. */
export class PlatformError extends WeirError {
  readonly platform: string;
  /** `unavailable`: try again later. `gone`: the channel or message was deleted. `rejected`: it will never accept this text. */
  readonly kind: "unavailable" | "gone" | "rejected";
  readonly retryAfterMs: number | undefined;
  /** Of `gone`: only the message was deleted; its channel still exists, by the platform's answer. */
  readonly isMessageGone: boolean;
  /** Of a `send` that found the message there: its id. The platform refuses to edit it. */
  readonly editOf: string | undefined;

  constructor(
    platform: string,
    kind: PlatformError["kind"],
    message: string,
    options: {
      cause?: unknown;
      retryAfterMs?: number | undefined;
      isMessageGone?: boolean;
      editOf?: string | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.platform = platform;
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.isMessageGone = options.isMessageGone ?? false;
    this.editOf = options.editOf;
  }

  get retryable(): boolean {
    return this.kind === "unavailable";
  }
}
