import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../core/ids.ts";
import type { InboundMessage } from "../core/message.ts";
import { splitText } from "../text/split-message.ts";
import type { Platform } from "../platforms/platform.ts";

/** Limit of messages per text: a channel is for people to talk in. */
const MAX_PARTS = 10;
const REST = "… the rest of this is too long to be shown here.";

/** Sends Weir's own texts and emoji, which are outside the log. A failure loses nothing. */
export class Notices {
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

  /** Answers a message with a text of Weir's own, in one or more messages. Returns at once. */
  tell(channel: ChannelAddress, messageId: string, text: string): void {
    const platform = this.#platformOf(channel);
    if (platform === undefined) return;
    const parts = partsOf(text, platform.capabilities.maxTextLength);
    this.#unlessItFails(channel, "notice_not_sent", sendAll(platform, channel, messageId, parts));
  }

  /**
   * Answers the author of a command: in private if the platform can, else in the channel. Returns at once.
   * @param sign an emoji that replaces an answer in the channel; null: the answer needs words
   */
  answer(
    channel: ChannelAddress,
    { id, author, kind }: Pick<InboundMessage, "id" | "author" | "kind">,
    text: string,
    sign: string | null,
  ): void {
    const platform = this.#platformOf(channel);
    if (platform === undefined) return;
    // In a direct message nobody else reads, and a private answer does not last.
    if (platform.tellAlone !== undefined && kind !== "dm") {
      const parts = partsOf(text, platform.capabilities.maxTextLength);
      this.#unlessItFails(channel, "notice_not_sent", tellAll(platform, channel, author.id, parts));
    } else if (sign !== null && platform.react !== undefined) this.acknowledge(channel, id, sign);
    else this.tell(channel, id, text);
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

function partsOf(text: string, limit: number): readonly string[] {
  const parts = splitText(text, limit);
  return parts.length <= MAX_PARTS ? parts : [...parts.slice(0, MAX_PARTS - 1), REST];
}

async function tellAll(
  platform: Platform,
  channel: ChannelAddress,
  person: string,
  parts: readonly string[],
): Promise<void> {
  for (const text of parts) await platform.tellAlone?.(channel, person, text);
}

/** In order: without a part that failed, the parts after it would make no sense. */
async function sendAll(
  platform: Platform,
  channel: ChannelAddress,
  messageId: string,
  parts: readonly string[],
): Promise<void> {
  for (const [index, text] of parts.entries()) {
    await platform.send({
      channel,
      idempotencyKey: `notice-${formatAddress(channel)}-${messageId}-${index}`,
      mayBeThere: false,
      text,
      final: true,
      inReplyTo: [messageId],
      kind: "notice",
    });
  }
}
