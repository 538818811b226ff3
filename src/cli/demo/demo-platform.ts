import { randomUUID } from "node:crypto";
import type { ChannelAddress } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import type { Platform, PlatformCapabilities } from "../../platforms/platform.ts";
import { PLATFORM_NAME } from "../../platforms/terminal/intake.ts";

/** Where the recording is said: all in one channel. */
export const DEMO_CHANNEL: ChannelAddress = { platform: PLATFORM_NAME, name: "hut" };

/** Hands the agent's answers to the stage. */
export class DemoPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities = {
    streaming: false,
    takesIdempotencyKeys: false,
    maxTextLength: Number.MAX_SAFE_INTEGER,
    isHere: true,
    serves: ({ platform, name }) => platform === DEMO_CHANNEL.platform && name === DEMO_CHANNEL.name,
  };
  readonly #onSent: (message: OutboundMessage) => void;

  constructor(onSent: (message: OutboundMessage) => void) {
    this.#onSent = onSent;
  }

  async start(): Promise<void> {
    // Nothing comes in here: the demo hands its messages to the inbox itself.
  }

  async stopIntake(): Promise<void> {
    // As above.
  }

  async send(message: OutboundMessage): Promise<string> {
    this.#onSent(message);
    return randomUUID();
  }

  async edit(_messageId: string, message: OutboundMessage): Promise<void> {
    this.#onSent(message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It holds nothing.
  }
}
