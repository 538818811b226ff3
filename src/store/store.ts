import type { Summary } from "../core/history.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { AnswerProvenanceStore } from "./turns/answer-provenance.ts";
import { MessageFateStore } from "./turns/message-fate.ts";
import { ContextRecordStore } from "./turns/context-records.ts";
import { ChannelModelStore } from "./channels/channel-models.ts";
import { AttachmentStore } from "./log/attachments.ts";
import { ChannelStore } from "./channels/channels.ts";
import { CompactionStore } from "./compaction/compactions.ts";
import { type Coverage, loadCoverage, readMerged, readSummaries } from "./compaction/summaries.ts";
import { DeliveryStore } from "./turns/deliveries.ts";
import { CARRIERS } from "./deletion/carriers/carriers.ts";
import { DeletionEngine } from "./deletion/deletion-engine.ts";
import { ErasureStore } from "./deletion/erasures.ts";
import { TermKeys } from "./deletion/fingerprints.ts";
import { RetentionStore } from "./deletion/retention.ts";
import { GapStore, ListeningWatermarkStore } from "./channels/gaps.ts";
import { GatewaySessionStore, GatewayShardStore } from "./channels/gateway-shards.ts";
import { type ChannelSnapshot, loadSnapshot } from "./channels/snapshot.ts";
import { JobStore } from "./compaction/jobs.ts";
import { LearnedModelStore } from "./models/learned-models.ts";
import { RefusedFieldStore } from "./models/refused-fields.ts";
import { LogStore } from "./log/log.ts";
import { MemoryStore } from "./memory/memories.ts";
import { CitedMemoryStore } from "./memory/cited-memories.ts";
import { MemoryTransferStore } from "./memory/memory-transfer.ts";
import { SharedMemoryStore } from "./memory/shared-memories.ts";
import { type DoubtedWish, NO_SIGNING, readWishes, type WishReader, WishStore } from "./memory/wishes.ts";
import type { Signer } from "./database/signing-key.ts";
import { OverviewStore } from "./channels/overview.ts";
import { NameStore } from "./channels/confirmed-names.ts";
import { ModelCallStore } from "./turns/model-calls.ts";
import { PastStore } from "./turns/past.ts";
import { PersonalDataStore } from "./deletion/personal-data.ts";
import { RunCommandStore, RequestStore } from "./commands/requests.ts";
import type { Database } from "./database/database.ts";
import { ReactionStore } from "./log/reactions.ts";
import { MemberStore } from "./channels/members.ts";
import { PartitionStore } from "./channels/partitions.ts";
import { SpeakerStore } from "./channels/speakers.ts";
import { SearchStore } from "./search/search.ts";
import { TurnStore } from "./turns/turns.ts";
import { UsageStore } from "./turns/usage.ts";
import { VectorStore } from "./search/vectors.ts";

/** All rows of Weir, by what they are about. */
export type Store = ReturnType<typeof createStore>;

/** How the store signs rows, and who is told of rows whose signature fails. */
export interface StoreOptions {
  /** Default: nothing is signed, and no signed row is believed. */
  readonly signer?: Signer;
  /** Rows of a channel that were changed, or signed under another key. Default: no report. */
  readonly onDoubted?: (channel: ChannelId, wishes: readonly DoubtedWish[]) => void;
  readonly onUnsigned?: (why: string) => void;
}

export function createStore(db: Database, options: StoreOptions = {}) {
  const { signer = NO_SIGNING.signer, onDoubted, onUnsigned = NO_SIGNING.onUnsigned } = options;
  const believed: WishReader = async (client, channel) => {
    const wishes = await readWishes(client, channel, signer);
    if (wishes.doubted.length > 0) onDoubted?.(channel, wishes.doubted);
    return wishes.believed;
  };
  const keys = new TermKeys(signer);
  const engine = new DeletionEngine(CARRIERS, keys);
  return {
    channels: new ChannelStore(db),
    partitions: new PartitionStore(db),
    members: new MemberStore(db),
    log: new LogStore(db, engine),
    turns: new TurnStore(db),
    deliveries: new DeliveryStore(db),
    modelCalls: new ModelCallStore(db),
    usage: new UsageStore(db),
    learnedModels: new LearnedModelStore(db),
    refusedFields: new RefusedFieldStore(db),
    contextRecords: new ContextRecordStore(db),
    search: new SearchStore(db),
    vectors: new VectorStore(db),
    memories: new MemoryStore(db),
    cited: new CitedMemoryStore(db),
    transfer: new MemoryTransferStore(db),
    sharedMemories: new SharedMemoryStore(db),
    channelModels: new ChannelModelStore(db),
    wishes: new WishStore(db, signer),
    jobs: new JobStore(db, { signer, onUnsigned }),
    compactions: new CompactionStore(db),
    requests: new RequestStore(db),
    past: new PastStore(db),
    people: new PersonalDataStore(db, engine),
    runCommands: new RunCommandStore(db),
    answers: new AnswerProvenanceStore(db),
    fates: new MessageFateStore(db),
    attached: new AttachmentStore(db),
    gaps: new GapStore(db),
    watermarks: new ListeningWatermarkStore(db),
    gatewaySessions: new GatewaySessionStore(db),
    gatewayShards: new GatewayShardStore(db),
    erasures: new ErasureStore(db),
    retention: new RetentionStore(db, keys),
    reactions: new ReactionStore(db),
    overview: new OverviewStore(db),
    names: new NameStore(db),
    speakers: new SpeakerStore(db),
    load: async (channel: ChannelId): Promise<ChannelSnapshot> => loadSnapshot(db, channel, believed),
    /** What a commit changed, to be swapped into a history in memory. */
    coverage: async (channel: ChannelId): Promise<Coverage> => loadCoverage(db, channel, believed),
    /** The live summaries as whoever summarises reads them: without what was edited since they were written. */
    currentSummaries: async (channel: ChannelId): Promise<readonly Summary[]> =>
      readSummaries(db, channel, "current"),
    /** The summaries that a merged one was made of, as they were last. */
    mergedOf: async (
      channel: ChannelId,
      range: { readonly fromSeq: Seq; readonly toSeq: Seq },
    ): Promise<Summary[]> => readMerged(db, channel, range),
  };
}
