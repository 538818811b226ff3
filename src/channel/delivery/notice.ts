import type { Logger } from "pino";
import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import type { Platform } from "../../platforms/platform.ts";

/** A message of Weir to the people of a channel. */
interface Notice {
  /** The same key is shown once, however often it is sent. */
  readonly idempotencyKey: string;
  readonly text: string;
}

/** Pure. */
export function noticeMessage(channel: ChannelAddress, { idempotencyKey, text }: Notice): OutboundMessage {
  return { channel, idempotencyKey, text, mayBeThere: true, final: true, inReplyTo: [], kind: "notice" };
}

/**
 * Sends a message to the people of a channel, outside the log: it is not the agent's, and its loss does no harm. Must not throw.
 * @param unsent log message for a failure
 */
export function sendNotice(
  {
    platform,
    address,
    log,
  }: { readonly platform: Platform; readonly address: ChannelAddress; readonly log: Logger },
  notice: Notice,
  unsent: "budget_notice_not_sent" | "compaction_notice_not_sent",
): void {
  platform.send(noticeMessage(address, notice)).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, unsent);
  });
}
