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

/** Interval of checks whether a wait is still of use, ms. */
const LOOK_EVERY_MS = 500;

/** One call by Weir. */
export interface SentCall {
  readonly operation: "send" | "edit";
  readonly messageId: string;
  readonly message: OutboundMessage;
}

/** A platform in the test's own process: it keeps all calls, takes idempotency keys, and fails on request. */
export class TestPlatform implements Platform {
  readonly name = "test";
  readonly capabilities: PlatformCapabilities;
  readonly calls: SentCall[] = [];
  /** Message id → its present content. */
  readonly shown = new Map<string, OutboundMessage>();
  /** Called before each call, which throws its errors. */
  fail: (operation: "send" | "edit", message: OutboundMessage) => void = () => undefined;
  /** `message id emoji`. */
  readonly reactions: string[] = [];
  /** Delete it for a platform without reactions. */
  react?: NonNullable<Platform["react"]> = async (_, messageId, emoji) => {
    this.reactions.push(`${messageId} ${emoji}`);
  };
  /** Deleted messages. */
  readonly removed: string[] = [];
  /** Called before each deletion; `remove` throws its errors. */
  failRemoval: () => void = () => undefined;
  /** Typing indicators. */
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
    // Tests pass their events to the inbox themselves.
  }

  async stopIntake(_deadline: AbortSignal): Promise<void> {
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

  /** A moderator deletes a message of the bot's. */
  moderate(messageId: string): void {
    this.#deleted.add(messageId);
    this.shown.delete(messageId);
    this.#tell();
  }

  showTyping(_: ChannelAddress, _inReplyTo: readonly string[], isWorking: boolean): void {
    this.signs.push(isWorking);
  }

  /** The final texts that a channel shows now, in order. */
  texts(channel = "room"): string[] {
    return [...this.shown.values()]
      .filter((message) => message.channel.name === channel && message.final)
      .map(({ text }) => text);
  }

  /** Waits until the shown texts meet the condition. @throws Error with the shown texts, if that can no longer be expected */
  async until(condition: () => boolean): Promise<void> {
    const patience = new Patience(() => this.calls.length + workOf(process.pid));
    while (!condition()) {
      const change = Promise.withResolvers<void>();
      this.#waiting.add(change.resolve);
      // A timer keeps the process alive: otherwise the runner would end a test whose daemon is idle.
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
    // Nothing to close.
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
