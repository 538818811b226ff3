import type { Logger } from "pino";
import { backoffMs } from "../async/backoff.ts";
import { retry } from "../async/retry.ts";
import { errorMessage } from "../core/errors.ts";
import { formatAddress } from "../core/ids.ts";
import type { ChannelPrivacy } from "../core/message.ts";
import type { Store } from "../store/store.ts";

const BACKOFF = { fromMs: 100, toMs: 20_000 };

/**
 * Stores the latest privacy of channels, and retries until it is stored: platforms report it only once, and a memory of a
 * private channel must not show elsewhere.
 */
export class ChannelPrivacyNotes implements AsyncDisposable {
  readonly #store: Pick<Store, "channels">;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  /** By address. */
  #pending = new Map<string, ChannelPrivacy>();
  #running: Promise<void> | null = null;

  constructor(store: Pick<Store, "channels">, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Resolves when all is stored, or this was disposed of. */
  async note(channels: readonly ChannelPrivacy[]): Promise<void> {
    for (const one of channels) this.#pending.set(formatAddress(one.channel), one);
    if (this.#pending.size > 0) this.#running ??= this.#run();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  /** Must not throw. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    const waitMs = (error: unknown, failures: number): number => {
      this.#log.warn({ why: errorMessage(error) }, "privacy_not_stored_yet");
      return backoffMs(BACKOFF, failures);
    };
    while (this.#pending.size > 0 && !signal.aborted)
      await retry(async () => this.#write(), waitMs, signal).catch(() => undefined);
    this.#running = null;
  }

  async #write(): Promise<void> {
    const batch = [...this.#pending];
    for (const [platform, channels] of Map.groupBy(batch, ([, { channel }]) => channel.platform))
      await this.#store.channels.tellPrivacy(
        platform,
        channels.map(([, one]) => one),
      );
    // A newer state may have been noted during the write.
    for (const [address, one] of batch) if (this.#pending.get(address) === one) this.#pending.delete(address);
  }
}
