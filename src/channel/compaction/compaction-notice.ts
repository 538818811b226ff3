import type { JobPlan } from "../../core/compaction.ts";
import { errorMessage } from "../../core/errors.ts";
import { formatAddress } from "../../core/ids.ts";
import type { ActorParts } from "../channel-context.ts";

/**
 * Tells people in the channel that older messages were summarised, where the agent is set up so. It is a message of
 * its own, outside the log: the agent has not said it, and nothing is lost where it does not arrive. Must not throw.
 */
export function tellCompaction(parts: ActorParts, plan: JobPlan, messages: number): void {
  const { agent, platform, address, log, owner, compactorAgent } = parts;
  if (agent.config.compaction.notify !== "channel") return;
  const message = {
    channel: address,
    // One for each covered range, however often it is sent.
    idempotencyKey: `compaction-${owner.channel}-${plan.fromSeq}-${plan.toSeq}`,
    text: compactorAgent.noticeText(messages),
    mayBeThere: true,
    final: true,
    inReplyTo: [],
    kind: "notice" as const,
  };
  platform.send(message).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, "compaction_notice_not_sent");
  });
}
