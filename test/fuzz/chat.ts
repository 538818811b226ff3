import type { ChannelAddress } from "../../src/core/ids.ts";
import type { OutboundMessage } from "../../src/core/message.ts";
import { type Platform, PlatformError, type PlatformCapabilities } from "../../src/platforms/platform.ts";

export const PLATFORM = "fuzz";
/** Another platform, which another agent answers. */
export const ANNEX = "annex";

/** What people see: one for all incarnations. It takes idempotency keys. */
export class Chat {
  /** Messages that two of ours answer, as they are found. */
  readonly answeredTwice: string[] = [];
  readonly #keys = new Map<string, string>();
  /** Message id → ours that answers it. */
  readonly #answers = new Map<string, string>();
  readonly #notices = new Set<string>();
  /**
   * Ids of messages that show a piece of an answer, and not the whole. Left out is what is shown while two of ours live: no
   * platform fences an edit, and one that stands still between the log's answer, that the channel is its own, and its edit
   * shows its piece over what the other has sent meanwhile.
   */
  readonly unfinished = new Set<string>();
  hasRivals: () => boolean = () => false;
  #drafts = 0;
  /** Ids of drafts that a moderator has deleted. */
  readonly moderated = new Set<string>();
  /** So many of the next sends and removals are refused for now. */
  refuseSends = 0;

  /** Notices of compactions that were shown. */
  get notices(): number {
    return this.#notices.size;
  }

  send(message: OutboundMessage): string {
    this.#refuse();
    const known = this.#keys.get(message.idempotencyKey);
    if (known !== undefined) return known;
    const id = `out-${this.#keys.size + 1}`;
    this.#keys.set(message.idempotencyKey, id);
    if (message.idempotencyKey.startsWith("compaction-")) this.#notices.add(message.idempotencyKey);
    // A moderator deletes every other draft before more of it is shown: in many schedules there are few.
    if (!message.final && this.#drafts++ % 2 === 0) this.moderated.add(id);
    else this.#show(id, message);
    return id;
  }

  edit(id: string, message: OutboundMessage): void {
    if (this.moderated.has(id))
      throw new PlatformError(PLATFORM, "gone", "the message is gone", { isMessageGone: true });
    this.#show(id, message);
  }

  remove(id: string): void {
    this.#refuse();
    this.unfinished.delete(id);
  }

  #refuse(): void {
    if (this.refuseSends === 0) return;
    this.refuseSends--;
    throw new PlatformError(PLATFORM, "unavailable", "not now", { retryAfterMs: 1 });
  }

  #show(id: string, { final, inReplyTo }: OutboundMessage): void {
    if (!final && !this.hasRivals()) this.unfinished.add(id);
    else this.unfinished.delete(id);
    if (!final) return;
    for (const asked of inReplyTo) {
      const known = this.#answers.get(asked) ?? id;
      if (known !== id) this.answeredTwice.push(asked);
      this.#answers.set(asked, id);
    }
  }
}

/** Stops the call for ever where the incarnation is dead or dies. */
export type Gate = (when: "before" | "after") => Promise<void>;

/** The chat as one incarnation reaches it. */
export class ChatFront implements Platform {
  readonly name: string;
  readonly capabilities: PlatformCapabilities;
  readonly #chat: Chat;
  readonly #gate: Gate;

  constructor(name: string, chat: Chat, isStreaming: boolean, gate: Gate) {
    this.name = name;
    this.#chat = chat;
    this.#gate = gate;
    this.capabilities = {
      streaming: isStreaming ? { intervalMs: 0 } : false,
      takesIdempotencyKeys: true,
      maxTextLength: 4000,
      serves: ({ platform }) => platform === name,
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

  async remove(_: ChannelAddress, id: string): Promise<void> {
    await this.#gate("before");
    this.#chat.remove(id);
    await this.#gate("after");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Holds nothing open.
  }
}
