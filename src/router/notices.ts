import type { Logger } from "pino";
import { answerText, type Card, type CommandAnswer } from "../core/card.ts";
import { errorMessage } from "../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../core/ids.ts";
import type { InboundMessage, OutboundMessage } from "../core/message.ts";
import { splitText } from "../text/split-message.ts";
import { type Platform, PlatformError } from "../platforms/platform.ts";

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
   * Answers the author of a command: in private if the platform can, otherwise in the channel. Returns at once.
   * @param sign an emoji that replaces an answer in the channel; null: the answer needs words
   */
  answer(
    channel: ChannelAddress,
    { id, author, kind }: Pick<InboundMessage, "id" | "author" | "kind">,
    answer: CommandAnswer,
    sign: string | null,
  ): void {
    const platform = this.#platformOf(channel);
    if (platform === undefined) return;
    const parts = partsOf(answerText(answer), platform.capabilities.maxTextLength);
    const card = typeof answer === "string" ? null : answer;
    // A direct message is private already, and a private answer does not last.
    const isAlone = platform.tellAlone !== undefined && kind !== "dm";
    if (!isAlone && sign !== null && platform.react !== undefined) return this.acknowledge(channel, id, sign);
    const drawn = async (one: Card): Promise<unknown> =>
      isAlone
        ? platform.tellAlone?.(channel, author.id, one.summary, one)
        : platform.send({ ...noticeOf(channel, id, "card", one.summary), card: one });
    const written = async (): Promise<void> => {
      if (!isAlone) return sendAll(platform, channel, id, parts);
      for (const text of parts) await platform.tellAlone?.(channel, author.id, text);
    };
    this.#unlessItFails(channel, "notice_not_sent", this.#draw(platform, channel, card, drawn, written));
  }

  /** Shows a card, or its text if the platform does not draw cards or rejects this one. */
  async #draw(
    { capabilities }: Platform,
    channel: ChannelAddress,
    card: Card | null,
    drawn: (card: Card) => Promise<unknown>,
    written: () => Promise<unknown>,
  ): Promise<void> {
    if (card !== null && capabilities.drawsCards === true) {
      try {
        await drawn(card);
        return;
      } catch (error) {
        // A card that may have come through must not be followed by its text.
        if (!(error instanceof PlatformError) || error.retryable) throw error;
        this.#log.info({ channel: formatAddress(channel), why: errorMessage(error) }, "card_refused");
      }
    }
    await written();
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

/** In order: without a part that failed, the parts after it would make no sense. */
async function sendAll(
  platform: Platform,
  channel: ChannelAddress,
  messageId: string,
  parts: readonly string[],
): Promise<void> {
  for (const [index, text] of parts.entries()) {
    await platform.send(noticeOf(channel, messageId, String(index), text));
  }
}

/** @param part of the answer to this message */
function noticeOf(channel: ChannelAddress, messageId: string, part: string, text: string): OutboundMessage {
  return {
    channel,
    idempotencyKey: `notice-${formatAddress(channel)}-${messageId}-${part}`,
    mayBeThere: false,
    text,
    final: true,
    inReplyTo: [messageId],
    kind: "notice",
  };
}
