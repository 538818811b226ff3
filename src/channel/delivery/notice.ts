import { errorMessage } from "../../core/errors.ts";
import { formatAddress } from "../../core/ids.ts";
import type { ActorParts } from "../channel-context.ts";

/**
 * Tells the people of a channel something in a message of its own, outside the log: the agent has not said it, and nothing is lost
 * where it does not arrive. Must not throw.
 * @param notice.idempotencyKey with the same one it is told once, however often it is sent
 * @param unsent what the daemon's log says where it does not arrive
 */
export function sendNotice(
  { platform, address, log }: Pick<ActorParts, "platform" | "address" | "log">,
  { idempotencyKey, text }: { readonly idempotencyKey: string; readonly text: string },
  unsent: "budget_notice_not_sent" | "compaction_notice_not_sent",
): void {
  const message = {
    channel: address,
    idempotencyKey,
    text,
    mayBeThere: true,
    final: true,
    inReplyTo: [],
    kind: "notice" as const,
  };
  platform.send(message).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, unsent);
  });
}
