import { randomUUID } from "node:crypto";
import type { ChannelAddress } from "../../core/ids.ts";
import type { Platform, PlatformCapabilities } from "../../platforms/platform.ts";
import { PLATFORM_NAME } from "../../platforms/terminal/intake.ts";

/** Accepts replies and drops them: a replay is about the pipeline. */
export class ReplayPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  constructor(channels: ReadonlySet<string>) {
    const serves = ({ platform, name }: ChannelAddress): boolean =>
      platform === PLATFORM_NAME && channels.has(name);
    this.capabilities = {
      streaming: false,
      takesIdempotencyKeys: false,
      maxTextLength: Number.MAX_SAFE_INTEGER,
      isHere: true,
      serves,
    };
  }

  /** Resolves when the turn that owns the message is settled. */
  async untilSettled(messageId: string): Promise<void> {
    const waiting = Promise.withResolvers<void>();
    this.#waiting.set(messageId, waiting);
    return waiting.promise;
  }

  async allSettled(): Promise<void> {
    await Promise.all([...this.#waiting.values()].map(async ({ promise }) => promise));
  }

  settled(messageIds: readonly string[]): void {
    for (const id of messageIds) this.forget(id);
  }

  forget(messageId: string): void {
    this.#waiting.get(messageId)?.resolve();
    this.#waiting.delete(messageId);
  }

  async start(): Promise<void> {
    // Nothing comes in here: the replay hands its messages to the inbox itself.
  }

  async stopIntake(): Promise<void> {
    // As above.
  }

  async send(): Promise<string> {
    return randomUUID();
  }

  async edit(): Promise<void> {
    // Nothing is shown.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#waiting.keys()) this.forget(id);
  }
}
