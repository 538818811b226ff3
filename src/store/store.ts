import type { Summary } from "../core/history.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { AnswerStore } from "./answers.ts";
import { AttachedStore } from "./attached.ts";
import { ChannelStore } from "./channels.ts";
import { CompactionStore } from "./compactions.ts";
import { type Coverage, loadCoverage, readMerged } from "./coverage.ts";
import { DeliveryStore } from "./deliveries.ts";
import { ErasureStore } from "./erasures.ts";
import { GapStore } from "./gaps.ts";
import { HeardMarkStore } from "./heard-marks.ts";
import { type ChannelSnapshot, loadSnapshot } from "./history.ts";
import { JobStore } from "./jobs.ts";
import { LogStore } from "./log.ts";
import { MemoryStore } from "./memories.ts";
import { NameStore } from "./names.ts";
import { ModelCallStore } from "./model-calls.ts";
import { PeopleStore } from "./people.ts";
import { RunCommandStore } from "./run-commands.ts";
import type { Database } from "./pool.ts";
import { ReactionStore } from "./reactions.ts";
import { RequestStore } from "./requests.ts";
import { SpeakerStore } from "./speakers.ts";
import { SearchStore } from "./search.ts";
import { TurnStore } from "./turns.ts";

/** All rows of Weir, by what they are about. */
export interface Store {
  readonly channels: ChannelStore;
  readonly log: LogStore;
  readonly turns: TurnStore;
  readonly deliveries: DeliveryStore;
  readonly modelCalls: ModelCallStore;
  readonly search: SearchStore;
  readonly memories: MemoryStore;
  readonly jobs: JobStore;
  readonly compactions: CompactionStore;
  readonly requests: RequestStore;
  readonly people: PeopleStore;
  readonly runCommands: RunCommandStore;
  readonly answers: AnswerStore;
  readonly attached: AttachedStore;
  readonly gaps: GapStore;
  readonly heardMarks: HeardMarkStore;
  readonly erasures: ErasureStore;
  readonly reactions: ReactionStore;
  readonly names: NameStore;
  readonly speakers: SpeakerStore;
  load(channel: ChannelId): Promise<ChannelSnapshot>;
  /** What a commit changed, to be swapped into a history in memory. */
  coverage(channel: ChannelId): Promise<Coverage>;
  /** The summaries that a merged one was made of, as they were last. */
  mergedOf(channel: ChannelId, range: { readonly fromSeq: Seq; readonly toSeq: Seq }): Promise<Summary[]>;
}

export function createStore(db: Database): Store {
  return {
    channels: new ChannelStore(db),
    log: new LogStore(db),
    turns: new TurnStore(db),
    deliveries: new DeliveryStore(db),
    modelCalls: new ModelCallStore(db),
    search: new SearchStore(db),
    memories: new MemoryStore(db),
    jobs: new JobStore(db),
    compactions: new CompactionStore(db),
    requests: new RequestStore(db),
    people: new PeopleStore(db),
    runCommands: new RunCommandStore(db),
    answers: new AnswerStore(db),
    attached: new AttachedStore(db),
    gaps: new GapStore(db),
    heardMarks: new HeardMarkStore(db),
    erasures: new ErasureStore(db),
    reactions: new ReactionStore(db),
    names: new NameStore(db),
    speakers: new SpeakerStore(db),
    load: async (channel) => loadSnapshot(db, channel),
    coverage: async (channel) => loadCoverage(db, channel),
    mergedOf: async (channel, range) => readMerged(db, channel, range),
  };
}
