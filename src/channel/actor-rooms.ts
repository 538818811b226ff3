import { attachedBy, madeFiles } from "../core/attached-file.ts";
import type { OutboundFile } from "../core/message.ts";
import type { Store } from "../store/store.ts";
import type { Landed } from "../core/compaction.ts";
import { ChannelCompactor } from "../compactor/compactor.ts";
import type { StaleEpochError } from "../store/database/errors.ts";
import type { ChannelSnapshot } from "../store/channels/snapshot.ts";
import type { ActorParts } from "./channel-context.ts";
import { freezeTools } from "./frozen-tools.ts";
import { GuardedHistory } from "./guarded-history.ts";
import { CallMeter, LastRequest, storeCalls, UsageAnchor } from "./model-usage.ts";
import { Outbox } from "./delivery/outbox.ts";
import { TurnRunner } from "./turns/turn-runner.ts";
import { JobRunner } from "../compactor/job-runner.ts";
import { Reviser } from "../compactor/revision/reviser.ts";
import { type ChannelId, formatAddress, type Seq, type TurnId } from "../core/ids.ts";
import { type CompactionTargetParts, createCompactionTarget } from "./compaction/compaction-target.ts";
import type { Circuit } from "../compactor/breaker.ts";

/** Builds the parts of an actor from one snapshot of the log; its agent has this channel's tools. */
export function buildRooms(
  parts: ActorParts,
  snapshot: ChannelSnapshot,
  onLost: (error: StaleEpochError) => void,
  onNoticed: (seq: Seq) => void,
) {
  const { owner, address, platform, streams, events, store } = parts;
  const { lastUsage, hasLiveJob } = snapshot;
  if (lastUsage !== null) parts.agent.models.learnFactor(lastUsage.model, lastUsage);
  const history = new GuardedHistory(store, owner, snapshot, {
    mutex: parts.createMutex?.(),
    othersWrite: parts.othersWrite,
  });
  const frozen = freezeTools(parts.agent, () => history.current.coveredTo);
  const { agent } = frozen;
  const outbox = new Outbox({
    owner,
    address,
    platform,
    streams,
    deliveries: store.deliveries,
    events,
    nameOf: (id) => parts.guests.nameOf(id),
    owners: () => parts.ownersOf?.(platform.name) ?? [],
    filesOf: async (turn) => filesOf(store, owner.channel, turn),
    onLost,
    onNoticed,
  });
  const usage = new UsageAnchor(lastUsage);
  const { model } = agent.config;
  // The last request may have used a fallback, or an earlier chosen model.
  const last = new LastRequest(agent.models.nameOf(model) ?? lastUsage?.model ?? model, snapshot.turnTimes);
  const onRequest = (): void => compactor.consider();
  const onLanded = (landed: readonly Landed[], ms: number): void => compactor.landed(landed, ms);
  const own = { ...parts, agent };
  const { renewTools } = frozen;
  const runner = new TurnRunner(own, history, outbox, { usage, last, onRequest, onLanded, renewTools });
  const target = { ...own, history, usage, lastRequest: last, onLostBy: onLost };
  const compactor = createChannelCompactor({ ...target, running: () => runner.running }, hasLiveJob);
  const board = parts.features.boardOf(parts, outbox);
  return { agent, history, outbox, board, runner, compactor };
}

function createChannelCompactor(parts: CompactionTargetParts, isLeftOver: boolean): ChannelCompactor {
  const { store, events, compaction, compactorAgent, address } = parts;
  const channel = formatAddress(address);
  const breaker = withinBudget(parts, compaction.breaker);
  const meter = new CallMeter(parts);
  const runner = new JobRunner({
    store,
    agent: compactorAgent,
    breaker,
    onRefused: (job, why) => events.emit({ type: "compaction_refused", channel, job: job.id, why }),
    onAttempt: (job, model, estimatedTokens) => meter.begun({ job: job.id }, model, estimatedTokens),
    onCall: (job, record, estimatedTokens) =>
      storeCalls(parts, [meter.ended({ job: job.id }, record, estimatedTokens)]),
  });
  return new ChannelCompactor(
    {
      target: createCompactionTarget(parts),
      jobs: store.jobs,
      runner,
      reviser: new Reviser({
        revisions: store.revisions,
        agent: compactorAgent,
        breaker,
        onAttempt: (model, estimatedTokens) => meter.begun({ job: null }, model, estimatedTokens),
        onCall: (record, estimatedTokens) =>
          storeCalls(parts, [meter.ended({ job: null }, record, estimatedTokens)]),
      }),
      queue: compaction.queue,
      breaker,
      summarisers: compactorAgent.modelNames(),
      events,
      timing: compaction.timing,
      ...(compaction.decide === undefined ? {} : { decide: compaction.decide }),
    },
    isLeftOver,
  );
}

/**
 * A circuit for a channel's compactions that is open, as if all models had failed, while the budget is spent. Entries
 * that must leave the view then leave it without a model, and are summarised once there is a budget again.
 */
function withinBudget(
  { budgets, agent, owner }: Pick<ActorParts, "budgets" | "agent" | "owner">,
  breaker: Circuit,
): Circuit {
  if (budgets === undefined) return breaker;
  const isSpent = (): boolean =>
    budgets.spent({ agent: agent.config.id, channel: owner.channel, person: null }) !== null;
  return {
    mayTry: (model) => !isSpent() && breaker.mayTry(model),
    admit: (model) => !isSpent() && breaker.admit(model),
    succeeded: (model) => breaker.succeeded(model),
    failed: (model) => breaker.failed(model),
    whyNot: () => (isSpent() ? "what may be spent today is spent" : null),
  };
}

/** The files that go out behind a turn's answer; null: something of them was deleted. */
async function filesOf(
  { log, attached }: Pick<Store, "log" | "attached">,
  channel: ChannelId,
  turn: TurnId,
): Promise<readonly OutboundFile[] | null> {
  const files = attachedBy(await log.readCalls(channel, turn));
  if (files === null) return null;
  const seqs = files.flatMap(({ source }) => (source === null ? [] : [source.seq]));
  if (seqs.length === 0) return madeFiles(files, [], []);
  return madeFiles(files, await log.readAt(channel, seqs), await attached.picturesOf(channel, seqs));
}
