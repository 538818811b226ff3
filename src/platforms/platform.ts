import type { ChannelAddress } from "../core/ids.ts";
import type { InboundEvent, OutboundMessage, Receipt } from "../core/message.ts";
import { WeirError } from "../core/errors.ts";

/**
 * The port between Weir and one chat platform. An adapter translates both ways and decides nothing: it hands
 * events to its inbox in the order of the platform, and does what it is told with texts.
 */
export interface Platform extends AsyncDisposable {
  /** `terminal`, `loopback`, …: the `platform` of every address it speaks for. */
  readonly name: string;
  readonly capabilities: PlatformCapabilities;
  /**
   * Opens the intake. Resolves once the platform is connected; events may reach the inbox before that.
   * @throws OperatorError where the operator has to change something (a token, an address)
   */
  start(inbox: PlatformInbox): Promise<void>;
  /** Stops the intake; sending still works, so that a drain can deliver. */
  stopIntake(): Promise<void>;
  /**
   * Sends a text. Resolves when the platform acknowledged it, with the platform's id of the new message.
   * A second call with the same idempotency key sends nothing new where the platform can tell
   * (`capabilities.takesIdempotencyKeys`), and answers with the id of the first.
   * @throws PlatformError
   */
  send(message: OutboundMessage): Promise<string>;
  /**
   * Replaces the text of a message that `send` returned.
   * @throws PlatformError
   */
  edit(messageId: string, message: OutboundMessage): Promise<void>;
}

export interface PlatformCapabilities {
  /** Answers can be shown while they are written. `intervalMs`: the least time between two edits. */
  readonly streaming: false | { readonly intervalMs: number };
  readonly takesIdempotencyKeys: boolean;
  /** Longest text of one message, in UTF-16 units. */
  readonly maxTextLength: number;
  /**
   * Which channels this adapter can deliver to just now. A daemon leaves alone what is due in the others
   * (a terminal session answers the channel that it shows).
   */
  serves(channel: ChannelAddress): boolean;
}

/** What an adapter may ask of Weir. */
export interface PlatformInbox {
  /**
   * Appends the event to the log, and wakes its channel. Resolves once it is durable.
   * @throws WeirError where it could not be made durable: the adapter must not acknowledge it
   */
  receive(event: InboundEvent): Promise<Receipt>;
  /** Runs a command (`status`, `stop`, …) that bypasses the mailbox. Resolves with a text for the asker alone. */
  command(command: InboundCommand): Promise<string>;
}

export interface InboundCommand {
  readonly channel: ChannelAddress;
  /** Without the slash. */
  readonly name: string;
  readonly argument: string;
  /** The platform's identifier of the person who asks. */
  readonly askerId: string;
}

/** A platform did not take a text. */
export class PlatformError extends WeirError {
  readonly platform: string;
  /** `unavailable`: try again later. `gone`: the channel or message is no more. `rejected`: it will never take this text. */
  readonly kind: "unavailable" | "gone" | "rejected";
  readonly retryAfterMs: number | undefined;

  constructor(
    platform: string,
    kind: PlatformError["kind"],
    message: string,
    options: { cause?: unknown; retryAfterMs?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.platform = platform;
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }

  get retryable(): boolean {
    return this.kind === "unavailable";
  }
}
