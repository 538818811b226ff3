import { lastingDynamicTokens } from "../../context/usage.ts";
import { reportChannel } from "../../admin/reports/channel-report.ts";
import { expectedRecall } from "../../channel/compaction/compaction-target.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import { DEMO_CHANNEL } from "./demo-platform.ts";

/** How full the window is. */
export interface Level {
  /**
   * Share of the usable window, as the compactor measures it: with what left the view without a summary, and with as much
   * recalled text as the last answer had.
   */
  readonly usage: number;
  /** Tokens. */
  readonly usable: number;
  /** Where summaries in the background, urgent ones and the emergency begin; shares, ascending. */
  readonly marks: readonly number[];
  /** Messages that left the view and have no summary yet. */
  readonly omitted: number;
  /** The last entry that a summary covers; 0: none. */
  readonly coveredTo: number;
  readonly summaries: number;
  readonly memories: number;
}

/** Reads the level from the log. @returns null: nothing has been said yet */
export async function readLevel(daemon: Daemon, now: Date): Promise<Level | null> {
  const { store, features } = daemon;
  const channel = await store.channels.find(DEMO_CHANNEL);
  if (channel === undefined) return null;
  const { agent, guests } = daemon.staffOf(channel);
  const digester = daemon.digesterOf(channel);
  const { activeTexts, channelFiles, readWaitedFor } = features;
  const parts = { store, agent, guests, digester, activeTexts, channelFiles, readWaitedFor };
  const report = await reportChannel({ ...parts, now, isFresh: false }, channel);
  const last = await store.contextRecords.find(channel.id, null);
  const dynamic = lastingDynamicTokens(report);
  const { usable, thresholds, monitor } = report;
  const dynamicTokens = last === undefined ? 0 : lastingDynamicTokens(last);
  const recall = expectedRecall({ dynamic }, { dynamicTokens }, monitor.keptForRecall);
  const { background, aggressive, emergency } = thresholds;
  return {
    usage: report.usage,
    usable,
    marks: [background - recall / usable, aggressive, emergency],
    omitted: report.omission?.count ?? 0,
    coveredTo: report.log.coveredTo,
    summaries: report.summaries.length,
    memories: report.memories.length,
  };
}
