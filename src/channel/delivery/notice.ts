import { errorMessage } from "../../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import type { ActorParts } from "../channel-context.ts";

/** What people of a channel are told in a message of its own. */
interface Notice {
  /** With the same one it is told once, however often it is sent. */
  readonly idempotencyKey: string;
  readonly text: string;
}

/** Pure. */
export function noticeMessage(channel: ChannelAddress, { idempotencyKey, text }: Notice): OutboundMessage {
  return { channel, idempotencyKey, text, mayBeThere: true, final: true, inReplyTo: [], kind: "notice" };
}

/**
 * Tells the people of a channel something in a message of its own, outside the log: the agent has not said it, and nothing is lost
 * where it does not arrive. Must not throw.
 * @param unsent what the daemon's log says where it does not arrive
 */
export function sendNotice(
  { platform, address, log }: Pick<ActorParts, "platform" | "address" | "log">,
  notice: Notice,
  unsent: "budget_notice_not_sent" | "compaction_notice_not_sent",
): void {
  platform.send(noticeMessage(address, notice)).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, unsent);
  });
}
