import { PollLoop } from "../async/poll-loop.ts";
import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../core/ids.ts";
import type { Store } from "../store/store.ts";
import { redactMessages, REDACTED_AT_ONCE, type RedactionParts } from "./redact-messages.ts";

export interface ChannelErasureParts extends RedactionParts {
  readonly store: Store;
  readonly log: Logger;
}

const CHANNELS = 20;
const AGAIN_MS = 5000;

/**
 * Blanks the messages of deleted channels in the background: one channel after another, in batches. The remaining work follows
 * from the log, so a crash in the middle loses nothing.
 */
export class ChannelErasure implements AsyncDisposable {
  readonly #parts: ChannelErasureParts;
  readonly #looks = new PollLoop(async () => this.#look());
  #isClosing = false;

  constructor(parts: ChannelErasureParts) {
    this.#parts = parts;
  }

  /** Starts the remaining work. Returns at once. */
  begin(): void {
    this.#looks.now();
  }

  /** Resolves when the batch under way is done. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await this.#looks[Symbol.asyncDispose]();
  }

  /** Must not throw. */
  async #look(): Promise<number | null> {
    try {
      const channels = await this.#parts.store.erasures.open(CHANNELS);
      let taken = 0;
      for (const channel of channels) taken += await this.#erase(channel);
      return taken > 0 ? 0 : null;
    } catch (error) {
      this.#parts.log.warn({ why: errorMessage(error) }, "channel_not_erased_yet");
      return AGAIN_MS;
    }
  }

  /** @returns number of blanked messages */
  async #erase(address: ChannelAddress): Promise<number> {
    const { store, log } = this.#parts;
    const channel = await store.channels.find(address);
    if (channel === undefined) return 0;
    let messages = 0;
    for (let isLeft = true; isLeft && !this.#isClosing;) {
      const ids = await store.erasures.left(address, REDACTED_AT_ONCE);
      const { seqs } = await redactMessages(this.#parts, channel, ids);
      messages += seqs.length;
      isLeft = seqs.length > 0;
    }
    log.info({ channel: formatAddress(address), messages }, "channel_erased");
    return messages;
  }
}
