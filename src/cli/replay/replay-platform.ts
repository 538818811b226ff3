import { QuietPlatform } from "../../platforms/absent-platform.ts";
import { PLATFORM_NAME } from "../../platforms/terminal/intake.ts";

/** Accepts replies and drops them: a replay is about the pipeline. */
export class ReplayPlatform extends QuietPlatform {
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();

  constructor(channels: ReadonlySet<string>) {
    const serves: QuietPlatform["capabilities"]["serves"] = ({ platform, name }) =>
      platform === PLATFORM_NAME && channels.has(name);
    super(PLATFORM_NAME, { isHere: true, serves });
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

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#waiting.keys()) this.forget(id);
  }
}
