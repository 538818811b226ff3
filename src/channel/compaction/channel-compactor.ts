import { ChannelCompactor } from "../../compactor/compactor.ts";
import { JobRunner } from "../../compactor/job-runner.ts";
import { formatAddress } from "../../core/ids.ts";
import { type CompactionTargetParts, createCompactionTarget } from "./compaction-target.ts";
import { billLine, storeBillLine } from "../model-bill.ts";

/** The compactor of one channel, joined with its parts. */
export function createChannelCompactor(parts: CompactionTargetParts, isLeftOver: boolean): ChannelCompactor {
  const { store, events, compaction, compactorAgent, address } = parts;
  const channel = formatAddress(address);
  const runner = new JobRunner({
    store,
    agent: compactorAgent,
    breaker: compaction.breaker,
    onRefused: (job, why) => events.emit({ type: "compaction_refused", channel, job: job.id, why }),
    onCall: (record, estimatedTokens) => storeBillLine(parts, billLine(parts, null, record, estimatedTokens)),
  });
  return new ChannelCompactor(
    {
      target: createCompactionTarget(parts),
      jobs: store.jobs,
      runner,
      queue: compaction.queue,
      breaker: compaction.breaker,
      summarisers: compactorAgent.modelNames(),
      events,
      timing: compaction.timing,
      ...(compaction.decide === undefined ? {} : { decide: compaction.decide }),
    },
    isLeftOver,
  );
}
