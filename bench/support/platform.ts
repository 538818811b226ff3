import { randomUUID } from "node:crypto";
import type { InboundMessage, OutboundMessage } from "../../src/core/message.ts";
import type { Platform, PlatformCapabilities, PlatformInbox } from "../../src/platforms/platform.ts";
import { machineNow } from "./figure.ts";

/** One answered message; times in ms by `machineNow`. */
export interface Asked {
  /** When the message was passed to Weir. */
  readonly handedInAt: number;
  /** When Weir reported that it is durable. */
  readonly acceptedAt: number;
  /** When its answer was passed to the platform. */
  readonly answeredAt: number;
  readonly isAnswer: boolean;
}

interface Outcome {
  readonly at: number;
  readonly isAnswer: boolean;
}

/** A platform that accepts everything at once. */
export class BenchPlatform implements Platform {
  readonly name: string;
  readonly capabilities: PlatformCapabilities;
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  #inbox: PlatformInbox | null = null;
  #sent = 0;

  constructor(name: string) {
    this.name = name;
    this.capabilities = {
      streaming: false,
      takesIdempotencyKeys: true,
      maxTextLength: 4000,
      serves: ({ platform }) => platform === name,
    };
  }

  async start(inbox: PlatformInbox): Promise<void> {
    this.#inbox = inbox;
  }

  async stopIntake(): Promise<void> {
    // It sends no events by itself.
  }

  /** A message in this platform's form. */
  message(room: string, text: string, addressed: boolean): InboundMessage {
    return {
      type: "message",
      channel: { platform: this.name, name: room },
      kind: "channel",
      workspace: "",
      id: randomUUID(),
      author: { id: "u1", name: "Mira", isBot: false },
      text,
      at: new Date(),
      addressed,
    };
  }

  /** Says something that needs an answer. Resolves with the answer's first part. */
  async ask(
    room: string,
    text: string,
    said: Partial<Pick<InboundMessage, "author" | "at" | "kind" | "place">> = {},
  ): Promise<Asked> {
    const message = { ...this.message(room, text, true), ...said };
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#waiting.set(message.id, resolve);
    const handedInAt = machineNow();
    await this.inbox.receive(message);
    const acceptedAt = machineNow();
    const { at: answeredAt, isAnswer } = await promise;
    return { handedInAt, acceptedAt, answeredAt, isAnswer };
  }

  get inbox(): PlatformInbox {
    if (this.#inbox === null) throw new Error("the platform is not open");
    return this.#inbox;
  }

  async send(message: OutboundMessage): Promise<string> {
    const at = machineNow();
    for (const id of message.inReplyTo) {
      this.#waiting.get(id)?.({ at, isAnswer: message.kind === "answer" });
      this.#waiting.delete(id);
    }
    this.#sent++;
    return `m${this.#sent}`;
  }

  async edit(): Promise<void> {
    // It does not stream.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing to close.
  }
}
