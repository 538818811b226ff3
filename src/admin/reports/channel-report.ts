import { inSlices } from "../../async/cooperative.ts";
import type { FolderTexts } from "../../channel/channel-context.ts";
import type { Job, JobPlan } from "../../core/compaction.ts";
import type { Summary } from "../../core/history.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { ChannelSnapshot } from "../../store/channels/snapshot.ts";
import type { MemoryRecord } from "../../store/memory/memories.ts";
import type { TimeFormat } from "../../text/time.ts";
import type { WaitedFor } from "../../turn/context-sources.ts";
import { type Answerer, type AnswererParts, lastAnswerer } from "./answerer.ts";
import { type ContextReport, reportContext, type ReportSituation } from "./context-report.ts";

/** The next request of a channel, and its summaries, job and memories. */
export interface ChannelReport extends ContextReport {
  /** Live, oldest first. */
  readonly summaries: readonly (Summary & { readonly entries: number })[];
  readonly job:
    | (Omit<JobPlan, "level" | "isAhead"> &
        Pick<Job, "attempt"> & { readonly since: Date; readonly ms: number })
    | null;
  /** The newest first, at most {@link MAX_MEMORIES}. */
  readonly memories: readonly MemoryRecord[];
}

export const MAX_MEMORIES = 1000;

export type ReadWaitedFor = (channel: ChannelId, time: TimeFormat) => Promise<readonly WaitedFor[]>;

export interface ChannelReportParts extends AnswererParts, FolderTexts {
  readonly readWaitedFor: ReadWaitedFor;
  readonly now: Date;
  /** This process has counted no call yet: the log's last token count of the model is used. */
  readonly isFresh: boolean;
}

export async function readRequest(
  parts: Pick<ChannelReportParts, "store" | "agent" | "now" | "readWaitedFor" | keyof FolderTexts>,
  id: ChannelId,
  isGuest = false,
): Promise<{ readonly snapshot: ChannelSnapshot; readonly situation: ReportSituation }> {
  const { store, agent, now, activeTexts, channelFiles, readWaitedFor } = parts;
  const { models, config } = agent;
  const snapshot = await store.load(id);
  const [files, active, waitedFor, spent, compactions, model] = await Promise.all([
    channelFiles(snapshot.channel, agent),
    activeTexts(id, agent, isGuest ? config.id : undefined),
    snapshot.hasOpenWork ? readWaitedFor(id, agent.time) : [],
    store.modelCalls.totals(id),
    store.compactions.totals(id),
    // The report must not depend on a server that does not answer.
    models.resolve(config.model).catch(() => config.model),
  ]);
  return {
    snapshot,
    situation: { model, spent, compactions, now, channelFiles: files, activeTexts: active, waitedFor },
  };
}

/**
 * The parts of the report that depend on the agent, if another agent answered last: the log, its compactions and its costs are
 * the channel's.
 */
async function reportGuest(
  parts: Omit<ChannelReportParts, "agent">,
  { agent, seen }: Answerer,
  id: ChannelId,
): Promise<Omit<ContextReport, "log" | "monitor" | "omission" | "spent" | "compactions" | "channel">> {
  const { snapshot, situation } = await readRequest({ ...parts, agent }, id, true);
  const shown = await seen(snapshot);
  await inSlices(agent.renderer.ahead(shown.history.entries));
  const report = reportContext(agent, shown, situation);
  const { log: _log, monitor: _monitor, omission: _omission, ...rest } = report;
  const { spent: _spent, compactions: _compactions, channel: _channel, ...own } = rest;
  return own;
}

/** Builds the report from a channel's rows. Writes nothing. */
export async function reportChannel(
  parts: ChannelReportParts,
  { id }: Pick<ChannelRow, "id">,
): Promise<ChannelReport> {
  const { store, agent, now, isFresh } = parts;
  const [{ snapshot, situation }, answerer, job, memories] = await Promise.all([
    readRequest(parts, id),
    lastAnswerer(parts, { id }),
    store.compactions.liveJob(id),
    store.memories.list({ channel: id }, MAX_MEMORIES),
  ]);
  // Most of the report of a long channel is rendering: others have their turn meanwhile.
  await inSlices(agent.renderer.ahead(snapshot.history.entries));
  const { lastUsage } = snapshot;
  if (isFresh && lastUsage !== null) agent.models.learnFactor(lastUsage.model, lastUsage);
  return {
    ...reportContext(agent, snapshot, situation),
    ...(answerer.isGuest && (await reportGuest(parts, answerer, id))),
    summaries: snapshot.history.summaries.map((summary) => {
      return { ...summary, entries: summary.toSeq - summary.fromSeq + 1 };
    }),
    job: job && {
      kind: job.kind,
      tier: job.tier,
      fromSeq: job.fromSeq,
      toSeq: job.toSeq,
      sourceTokens: job.sourceTokens,
      attempt: job.attempt,
      since: job.createdAt,
      ms: Math.max(0, now.getTime() - job.createdAt.getTime()),
    },
    memories,
  };
}
