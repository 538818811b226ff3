import type { CatchUpLedger, Gap } from "../../platform.ts";
import { shardOf } from "./shard-of.ts";

/**
 * The part of a ledger for one of several connections: the channels of its servers, with its own watermark.
 * @param openGaps the gaps of all connections
 */
export function shardLedger(
  ledger: CatchUpLedger,
  shard: number,
  shards: number,
  openGaps: (which: "all" | "recorded") => Promise<readonly Gap[]>,
): CatchUpLedger {
  if (shards === 1) return ledger;
  const own = (account: string): string => `${account}/${shard}-${shards}`;
  return {
    refuses: (message) => ledger.refuses(message),
    policyOf: async (channel) => ledger.policyOf(channel),
    openGaps: async (_platform, which = "all"): Promise<readonly Gap[]> => {
      const gaps = await openGaps(which);
      return gaps.filter(({ workspace }) => shardOf(workspace, shards) === shard);
    },
    gapOf: async (channel) => ledger.gapOf(channel),
    keepGap: async (gap) => ledger.keepGap(gap),
    advanceGap: async (channel, step) => ledger.advanceGap(channel, step),
    closeGap: async (channel) => ledger.closeGap(channel),
    noteAbsence: async (channel, key, absence) => ledger.noteAbsence(channel, key, absence),
    hasMessage: async (channel, id) => ledger.hasMessage(channel, id),
    newestMessageIds: async (channel, limit) => ledger.newestMessageIds(channel, limit),
    isCrowded: (channel) => ledger.isCrowded(channel),
    // Before the servers were divided, or with another division, the bot listened on one connection.
    watermark: async (platform, account) =>
      (await ledger.watermark(platform, own(account))) ?? (await ledger.watermark(platform, account)),
    moveWatermark: async (platform, account, to) => ledger.moveWatermark(platform, own(account), to),
    keptSession: async (platform, one) => ledger.keptSession(platform, one),
    keepSession: async (platform, place, epoch) => ledger.keepSession(platform, place, epoch),
  };
}
