import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../core/ids.ts";
import type { Platform } from "../platforms/platform.ts";

/** What Weir says and shows of its own accord, outside the log. Nothing is lost where it does not arrive. */
export class Voice {
  readonly #platformOf: (address: ChannelAddress) => Platform | undefined;
  readonly #log: Logger;

  constructor(platformOf: (address: ChannelAddress) => Platform | undefined, log: Logger) {
    this.#platformOf = platformOf;
    this.#log = log;
  }

  /** Whether people type commands into their messages there. */
  hasTextCommands(channel: ChannelAddress): boolean {
    return this.#platformOf(channel)?.capabilities.hasTextCommands === true;
  }

  /** Answers a message with a text of Weir's own. Returns at once. */
  tell(channel: ChannelAddress, messageId: string, text: string): void {
    const sending = this.#platformOf(channel)?.send({
      channel,
      idempotencyKey: `notice-${formatAddress(channel)}-${messageId}`,
      mayBeThere: false,
      text,
      final: true,
      inReplyTo: [messageId],
      kind: "notice",
    });
    this.#unlessItFails(channel, "notice_not_sent", sending);
  }

  /** Puts an emoji under a message. Returns at once. */
  acknowledge(channel: ChannelAddress, messageId: string, emoji: string): void {
    const reacting = this.#platformOf(channel)?.react?.(channel, messageId, emoji);
    this.#unlessItFails(channel, "acknowledgement_not_shown", reacting);
  }

  #unlessItFails(channel: ChannelAddress, event: string, work: Promise<unknown> | undefined): void {
    work?.catch((error: unknown) => {
      this.#log.warn({ channel: formatAddress(channel), why: errorMessage(error) }, event);
    });
  }
}
