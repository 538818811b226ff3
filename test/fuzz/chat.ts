import type { OutboundMessage } from "../../src/core/message.ts";
import { type Platform, PlatformError, type PlatformCapabilities } from "../../src/platforms/platform.ts";

export const PLATFORM = "fuzz";
export const ROOM = { platform: PLATFORM, name: "room" };

/** What people see: one for all incarnations. It takes idempotency keys. */
export class Chat {
  /** Message id → what it shows now. */
  readonly shown = new Map<string, OutboundMessage>();
  readonly #keys = new Map<string, string>();
  /** So many of the next sends are refused for now. */
  refuseSends = 0;

  send(message: OutboundMessage): string {
    if (this.refuseSends > 0) {
      this.refuseSends--;
      throw new PlatformError(PLATFORM, "unavailable", "not now", { retryAfterMs: 1 });
    }
    const known = this.#keys.get(message.idempotencyKey);
    if (known !== undefined) return known;
    const id = `out-${this.#keys.size + 1}`;
    this.#keys.set(message.idempotencyKey, id);
    this.shown.set(id, message);
    return id;
  }

  edit(id: string, message: OutboundMessage): void {
    this.shown.set(id, message);
  }
}

/** Stops the call for ever where the incarnation is dead or dies. */
export type Gate = (when: "before" | "after") => Promise<void>;

/** The chat as one incarnation reaches it. */
export class ChatFront implements Platform {
  readonly name = PLATFORM;
  readonly capabilities: PlatformCapabilities;
  readonly #chat: Chat;
  readonly #gate: Gate;

  constructor(chat: Chat, isStreaming: boolean, gate: Gate) {
    this.#chat = chat;
    this.#gate = gate;
    this.capabilities = {
      streaming: isStreaming ? { intervalMs: 0 } : false,
      takesIdempotencyKeys: true,
      maxTextLength: 4000,
      serves: ({ platform }) => platform === PLATFORM,
    };
  }

  async start(): Promise<void> {
    // The fuzz hands its events to the router itself.
  }

  async stopIntake(): Promise<void> {
    // As above.
  }

  async send(message: OutboundMessage): Promise<string> {
    await this.#gate("before");
    const id = this.#chat.send(message);
    await this.#gate("after");
    return id;
  }

  async edit(id: string, message: OutboundMessage): Promise<void> {
    await this.#gate("before");
    this.#chat.edit(id, message);
    await this.#gate("after");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Holds nothing open.
  }
}
