import { randomUUID } from "node:crypto";
import type { OutboundMessage } from "../core/message.ts";
import { type Platform, type PlatformCapabilities, PlatformError } from "./platform.ts";

/** Brings in nothing by itself, and holds nothing open: whoever makes it hands the messages to the inbox. */
export class QuietPlatform implements Platform {
  readonly name: string;
  readonly capabilities: PlatformCapabilities;
  readonly #onText: (message: OutboundMessage) => void;

  /** @param onText called with each text for people; default: nobody sees it */
  constructor(
    name: string,
    capabilities: Pick<PlatformCapabilities, "serves" | "isHere">,
    onText: (message: OutboundMessage) => void = () => undefined,
  ) {
    this.name = name;
    this.#onText = onText;
    const most = {
      streaming: false,
      takesIdempotencyKeys: false,
      maxTextLength: Number.MAX_SAFE_INTEGER,
    } as const;
    this.capabilities = { ...most, ...capabilities };
  }

  async start(): Promise<void> {}

  async stopIntake(): Promise<void> {}

  async send(message: OutboundMessage): Promise<string> {
    this.#onText(message);
    return randomUUID();
  }

  async edit(_messageId: string, message: OutboundMessage): Promise<void> {
    this.#onText(message);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Stands for a platform that is not connected here: work on a channel's log goes on, and nothing can be sent. */
export class AbsentPlatform extends QuietPlatform {
  constructor() {
    super("absent", { serves: () => false }, () => {
      throw new PlatformError("absent", "unavailable", "This platform is not connected here.");
    });
  }
}
