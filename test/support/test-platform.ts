import process from "node:process";
import type { ChannelAddress } from "../../src/core/ids.ts";
import type { OutboundMessage } from "../../src/core/message.ts";
import {
  type LinkedChannel,
  type Platform,
  type PlatformCapabilities,
  PlatformError,
} from "../../src/platforms/platform.ts";
import { Patience, workOf } from "./patience.ts";

/** Between two looks at whether waiting is of use, ms. */
const LOOK_EVERY_MS = 500;

/** One call that Weir made. */
export interface SentCall {
  readonly operation: "send" | "edit";
  readonly messageId: string;
  readonly message: OutboundMessage;
}

/** A platform in the test's own process: it keeps what it is told, takes idempotency keys, and fails when told to. */
export class TestPlatform implements Platform {
  readonly name = "test";
  readonly capabilities: PlatformCapabilities;
  readonly calls: SentCall[] = [];
  /** Message id → what it shows now. */
  readonly shown = new Map<string, OutboundMessage>();
  /** Asked before each call; what it throws, the call throws. */
  fail: (operation: "send" | "edit", message: OutboundMessage) => void = () => undefined;
  /** `message id emoji`. */
  readonly reactions: string[] = [];
  /** Delete it, and the platform has no reactions. */
  react?: NonNullable<Platform["react"]> = async (_, messageId, emoji) => {
    this.reactions.push(`${messageId} ${emoji}`);
  };
  /** Messages that were taken back. */
  readonly removed: string[] = [];
  /** Asked before each message is taken back; what it throws, `remove` throws. */
  failRemoval: () => void = () => undefined;
  /** Signs that an answer is being made. */
  readonly signs: boolean[] = [];
  readonly #keys = new Map<string, string>();
  readonly #deleted = new Set<string>();
  readonly #waiting = new Set<() => void>();

  constructor(capabilities: Partial<PlatformCapabilities> = {}) {
    const serves = ({ platform }: ChannelAddress): boolean => platform === "test";
    this.capabilities = {
      streaming: false,
      takesIdempotencyKeys: true,
      maxTextLength: 4000,
      serves,
      ...capabilities,
    };
  }

  async linkTo({ address }: LinkedChannel, messageId: string): Promise<string> {
    return `https://test.example/${address.name}/${messageId}`;
  }

  async start(): Promise<void> {
    // Tests hand their events to the inbox themselves.
  }

  async stopIntake(): Promise<void> {
    // As above.
  }

  async send(message: OutboundMessage): Promise<string> {
    this.fail("send", message);
    const known = this.#keys.get(message.idempotencyKey);
    const messageId = known ?? `m${this.#keys.size + 1}`;
    this.#keys.set(message.idempotencyKey, messageId);
    if (known === undefined) this.shown.set(messageId, message);
    this.#record("send", messageId, message);
    return messageId;
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    this.fail("edit", message);
    if (this.#deleted.has(messageId))
      throw new PlatformError("test", "gone", "the message is gone", { isMessageGone: true });
    this.shown.set(messageId, message);
    this.#record("edit", messageId, message);
  }

  async remove(_: ChannelAddress, messageId: string): Promise<void> {
    this.failRemoval();
    this.removed.push(messageId);
    this.shown.delete(messageId);
    this.#tell();
  }

  /** A moderator deletes what the bot has said. */
  moderate(messageId: string): void {
    this.#deleted.add(messageId);
    this.shown.delete(messageId);
    this.#tell();
  }

  showTyping(_: ChannelAddress, _inReplyTo: readonly string[], isWorking: boolean): void {
    this.signs.push(isWorking);
  }

  /** The texts that a channel shows now, final ones only, in order. */
  texts(channel = "room"): string[] {
    return [...this.shown.values()]
      .filter((message) => message.channel.name === channel && message.final)
      .map(({ text }) => text);
  }

  /** Waits until what is shown fulfils the condition. @throws Error with what is shown, if it is not to be expected any more */
  async until(condition: () => boolean): Promise<void> {
    const patience = new Patience(() => this.calls.length + workOf(process.pid));
    while (!condition()) {
      const change = Promise.withResolvers<void>();
      this.#waiting.add(change.resolve);
      // A timer holds the process: without one the runner would end a test whose daemon has nothing to do.
      const look = setTimeout(change.resolve, LOOK_EVERY_MS);
      await change.promise;
      clearTimeout(look);
      this.#waiting.delete(change.resolve);
      const why = patience.whyOver();
      if (why !== null)
        throw new Error(
          `${why}, and this is shown: ${JSON.stringify([...this.shown.values()].map(({ text }) => text))}`,
        );
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Holds nothing open.
  }

  #record(operation: SentCall["operation"], messageId: string, message: OutboundMessage): void {
    this.calls.push({ operation, messageId, message });
    this.#tell();
  }

  #tell(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
