import type { Logger } from "pino";
import type { Summary } from "../core/history.ts";
import type { ChannelId } from "../core/ids.ts";
import { AnswerProvenanceStore } from "./turns/answer-provenance.ts";
import { MessageFateStore } from "./turns/message-fate.ts";
import { ContextRecordStore } from "./turns/context-records.ts";
import { ChannelModelStore } from "./channels/channel-models.ts";
import { AttachmentStore } from "./log/attachments.ts";
import { ChannelStore } from "./channels/channels.ts";
import { CompactionStore } from "./compaction/compactions.ts";
import { type Coverage, loadCoverage, readMerged, readSummaries } from "./compaction/summaries.ts";
import { DeliveryStore } from "./turns/deliveries.ts";
import type { Carrier } from "./deletion/carrier.ts";
import { allCarriers } from "./deletion/carriers/carriers.ts";
import { DeletionEngine } from "./deletion/deletion-engine.ts";
import { ErasureStore } from "./deletion/erasures.ts";
import { TermKeys } from "./deletion/fingerprints.ts";
import { QuoteStore } from "./deletion/quotes.ts";
import { RetentionStore } from "./deletion/retention.ts";
import { GapStore, ListeningWatermarkStore } from "./channels/gaps.ts";
import { GatewaySessionStore, GatewayShardStore } from "./channels/gateway-shards.ts";
import { type ChannelSnapshot, loadSnapshot } from "./channels/snapshot.ts";
import { JobStore } from "./compaction/jobs.ts";
import { LearnedModelStore, RefusedFieldStore } from "./models/learned-models.ts";
import { LogStore } from "./log/log.ts";
import { MemoryStore } from "./memory/memories.ts";
import { RevisionStore } from "./memory/revisions.ts";
import { CitedMemoryStore } from "./memory/cited-memories.ts";
import { MemoryTransferStore } from "./memory/memory-transfer.ts";
import { SharedMemoryStore } from "./memory/memory-scope.ts";
import { NO_SIGNER, type Signer } from "./database/signing-key.ts";
import type { LearnedRows, LearnedRowsParts } from "./compaction/learned-rows.ts";
import { OverviewStore } from "./channels/overview.ts";
import { ChannelRenameStore, NameStore, SpeakerStore } from "./channels/names.ts";
import { ModelCallStore } from "./turns/model-calls.ts";
import { PastStore } from "./turns/past.ts";
import { PublicTextStore } from "./channels/public-texts.ts";
import { PersonalDataStore } from "./deletion/personal-data.ts";
import { RunCommandStore, RequestStore } from "./commands/requests.ts";
import type { Database } from "./database/database.ts";
import { ReactionStore } from "./log/reactions.ts";
import { MemberStore } from "./channels/members.ts";
import { PartitionStore } from "./channels/partitions.ts";
import { ReplayStore } from "./channels/replay.ts";
import { TimelineStore } from "./channels/timeline.ts";
import { SearchStore } from "./search/search.ts";
import { TurnDetailStore } from "./turns/turn-details.ts";
import { TurnStore } from "./turns/turns.ts";
import { UsageStore } from "./turns/usage.ts";
import { SpokenLineStore } from "./search/spoken-lines.ts";
import { VectorStore } from "./search/vectors.ts";

/** All rows of Weir, by what they are about. */
export type Store = ReturnType<typeof createStore>;

/** The parts of features' own tables that the store reads or deletes. */
export interface FeatureRows {
  readonly carriers: readonly Carrier[];
  readonly learned: (parts: LearnedRowsParts) => LearnedRows;
}

export interface StoreOptions {
  /** Default: nothing is signed, and no signed row is believed. */
  readonly signer?: Signer;
  /** Of rows that are not believed, and of those that could not be signed. Default: nothing is logged. */
  readonly log?: Logger;
  /** Statements at once, of each kind that several channels share. Default: two, so that one is made ready meanwhile. */
  readonly writers?: number;
}

export function createStore(
  db: Database,
  features: FeatureRows,
  { signer = NO_SIGNER, log, writers = 2 }: StoreOptions = {},
) {
  const learned = features.learned({ signer, log: log ?? null });
  const keys = new TermKeys(signer);
  const engine = new DeletionEngine(allCarriers(features.carriers), keys);
  return {
    channels: new ChannelStore(db),
    partitions: new PartitionStore(db),
    members: new MemberStore(db),
    log: new LogStore(db, engine, writers),
    turns: new TurnStore(db, writers),
    turnDetails: new TurnDetailStore(db),
    deliveries: new DeliveryStore(db),
    modelCalls: new ModelCallStore(db),
    usage: new UsageStore(db),
    learnedModels: new LearnedModelStore(db),
    refusedFields: new RefusedFieldStore(db),
    contextRecords: new ContextRecordStore(db),
    search: new SearchStore(db),
    lines: new SpokenLineStore(db),
    vectors: new VectorStore(db),
    memories: new MemoryStore(db),
    revisions: new RevisionStore(db),
    cited: new CitedMemoryStore(db),
    transfer: new MemoryTransferStore(db),
    sharedMemories: new SharedMemoryStore(db),
    channelModels: new ChannelModelStore(db),
    jobs: new JobStore(db, learned),
    compactions: new CompactionStore(db),
    requests: new RequestStore(db),
    past: new PastStore(db),
    people: new PersonalDataStore(db, engine),
    quotes: new QuoteStore(db, engine),
    runCommands: new RunCommandStore(db),
    answers: new AnswerProvenanceStore(db),
    fates: new MessageFateStore(db),
    attached: new AttachmentStore(db),
    gaps: new GapStore(db),
    watermarks: new ListeningWatermarkStore(db),
    channelRenames: new ChannelRenameStore(db),
    gatewaySessions: new GatewaySessionStore(db),
    gatewayShards: new GatewayShardStore(db),
    erasures: new ErasureStore(db),
    retention: new RetentionStore(db, keys),
    reactions: new ReactionStore(db),
    overview: new OverviewStore(db),
    timeline: new TimelineStore(db),
    replay: new ReplayStore(db),
    names: new NameStore(db),
    publicTexts: new PublicTextStore(db),
    speakers: new SpeakerStore(db),
    load: async (channel: ChannelId): Promise<ChannelSnapshot> => loadSnapshot(db, channel, learned),
    /** What a commit changed, to be swapped into a history in memory. */
    coverage: async (channel: ChannelId): Promise<Coverage> => loadCoverage(db, channel, learned),
    /** The live summaries as whoever summarises reads them: without what was edited since they were written. */
    currentSummaries: async (channel: ChannelId): Promise<readonly Summary[]> =>
      readSummaries(db, channel, "current"),
    /** The summaries that a merged one was made of, as they were last. */
    mergedOf: async (channel: ChannelId, range: Pick<Summary, "fromSeq" | "toSeq">): Promise<Summary[]> =>
      readMerged(db, channel, range),
  };
}
