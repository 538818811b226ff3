import type { Logger } from "pino";
import type { Budgets } from "../budget/budgets.ts";
import type { CallCounts } from "../budget/call-counts.ts";
import type { Summariser } from "../compactor/summariser.ts";
import type { AgentConfig } from "../config/config.ts";
import type { AgentFile } from "../context/sections/section.ts";
import type { KitOf } from "../core/feature-key.ts";
import type { History, TurnRange } from "../core/history.ts";
import type { AgentId, ChannelId, Owner, Seq, TurnId } from "../core/ids.ts";
import type { Indexer } from "../memory/indexer.ts";
import type { RecallMemories } from "../memory/recall-memories.ts";
import type { Recall } from "../memory/recall.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Store } from "../store/store.ts";
import type { Events } from "../telemetry/events.ts";
import type { Agent } from "../turn/agent.ts";
import { type CallGate, OPEN_GATE } from "../turn/call-gate.ts";
import type { WaitedFor } from "../turn/context-sources.ts";
import type { Outbox } from "./delivery/outbox.ts";
import type { GuardedHistory, HistoryMutex } from "./guarded-history.ts";
import type { Guests } from "./guests.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { ContextRecorder } from "./turns/context-recorder.ts";
import type { Breaker } from "../compactor/breaker.ts";
import type { CompactorTiming } from "../compactor/target.ts";
import type { CompactionState, Decision } from "../compactor/policy/policy.ts";
import type { CompactionQueue } from "../compactor/queue.ts";

export interface SharedParts {
  readonly store: Store;
  readonly recall: Recall;
  readonly memories: RecallMemories;
  readonly indexer: Indexer;
  readonly contexts: ContextRecorder;
  readonly features: TurnFeatures;
  readonly events: Events;
  readonly log: Logger;
  readonly now: () => Date;
  readonly compaction: Compaction;
  /** Default: no budget is configured. */
  readonly budgets?: Budgets;
  readonly callCounts: CallCounts;
  /** Creates the mutex of a channel's history; the fuzz replaces it with one that does not lock. */
  readonly createMutex?: () => HistoryMutex;
  /** Other daemons may write to the same database; default: true. */
  readonly othersWrite?: boolean;
  readonly mailboxSize: number;
  /** Whether any channel shares memories that an agent may see; default: true. Must not wait. */
  readonly isShared?: (agent: AgentConfig) => boolean;
  /** Limit for each search, and each reading of files, of a turn before its first model call, ms; default: a few tenths of a second, by kind. */
  readonly lookUpWithinMs?: number | undefined;
  /** First delay before a turn is retried if earlier processes ended while running it, ms; default: a second. */
  readonly restFromMs?: number;
  /** Takes the operator's secrets out of a text; default: there are none. */
  readonly masked?: (text: string) => string;
  /** The ids of the people who run Weir on a platform; default: nobody is named. */
  readonly ownersOf?: (platform: string) => readonly string[];
}

export interface ActorParts
  extends SharedParts, Pick<ChannelRow, "address" | "kind" | "workspace" | "place"> {
  readonly owner: Owner;
  readonly agent: Agent;
  readonly guests: Guests;
  readonly compactorAgent: Summariser;
  readonly platform: Platform;
  /** Answers are shown while they are written, if the platform supports it. */
  readonly streams: boolean;
  /** Called once, when another daemon has taken the channel. */
  readonly onLost: () => void;
}

export interface ActorStatus {
  /** Milliseconds; null: no turn runs. */
  readonly turnRunningForMs: number | null;
  readonly due: number;
  /** Messages up to here belong to a turn, or to none. */
  readonly takenTo: Seq;
  /** A message waits that no turn has taken yet; messages that arrive now are answered with it. */
  readonly isAwaiting: boolean;
  readonly delivering: boolean;
}

/** A channel with work that outlives its turns; `agent`: its own. */
export type WorkSite = Pick<
  ActorParts,
  | "store"
  | "owner"
  | "address"
  | "kind"
  | "workspace"
  | "agent"
  | "guests"
  | "compactorAgent"
  | "recall"
  | "memories"
  | "events"
  | "log"
  | "now"
  | "budgets"
  | "callCounts"
>;

/** Work of features, in all channels of a daemon, that turns have begun and that outlives them. */
export interface BackgroundWork {
  /** Resumes the work that an earlier actor of the channel left open. Must not throw. */
  takeUp(site: WorkSite, history: History): void;
  turnEnded(channel: ChannelId): void;
  /** A text was edited or deleted. Returns at once. */
  changed(): void;
  /** For `/reset`: drops the open work of a channel. */
  drop(channel: ChannelId): Promise<void>;
  /** Ends the work of some channels here; the channels' next home resumes it. */
  leave(isLeft: (channel: ChannelId) => boolean): Promise<void>;
  /** Resolves when the work that runs or waits now has ended. */
  idle(): Promise<void>;
}

/** A turn of a channel, for the kits of features. */
export interface TurnSite extends ActorParts {
  readonly turn: TurnRange;
  readonly history: GuardedHistory;
  /** The channel's own agent, whoever answers the turn. */
  readonly own: Agent;
}

/** What features show of an agent's folder in a channel. */
export interface FolderTexts {
  /**
   * Names of those texts of an agent's folder that are active in a channel.
   * @param guest the id of `agent`, if the channel belongs to another agent
   */
  readonly activeTexts: (
    channel: ChannelId,
    agent: Pick<Agent, "folder">,
    guest?: AgentId,
  ) => Promise<readonly string[]>;
  /** The files of an agent's folder that are of a channel alone, as its next turn would read them. */
  readonly channelFiles: (
    channel: ChannelRow,
    agent: Pick<Agent, "folder" | "config">,
  ) => Promise<readonly AgentFile[]>;
}

/** The actors' access to a daemon's features. */
export interface TurnFeatures extends FolderTexts {
  /** @returns the kits of one run of a turn, each made when it is first asked for */
  kitsOf(site: TurnSite): KitOf;
  /** @param kitOf the kits of the turn's run */
  waitedFor(kitOf: KitOf): Promise<readonly WaitedFor[]>;
  /** The turn that has begun the work whose end a message reports; null: the message reports none. */
  begunBy(channel: ChannelId, messageId: string): Promise<TurnId | null>;
  readonly background: BackgroundWork;
  /** Reads the files of an agent's folder that are of the channel alone, for a run of a turn with these kits. */
  filesOf(kitOf: KitOf): Promise<readonly AgentFile[]>;
  readonly gates: CallGates;
  /** Texts of a channel were edited, deleted or summarised: what depends on them may be void. Returns at once. */
  changed(): void;
  /** @returns the board of a channel that is being loaded */
  boardOf(parts: ActorParts, outbox: BoardOutbox): ChannelBoard;
}

/** What holds calls of tools back. */
export interface CallGates {
  /** @returns the gate of one run of a turn */
  of(site: TurnSite): CallGate;
  /** Whether a message releases calls that were held back: it goes on with work that has begun. Pure. */
  releases(messageId: string): boolean;
  /** A turn has ended that answers such messages: calls that it has not run are not run any more. */
  settled(channel: ChannelId, releases: readonly string[]): Promise<void>;
}

export const OPEN_GATES: CallGates = {
  of: () => OPEN_GATE,
  releases: () => false,
  settled: async () => undefined,
};

/** Messages that features keep up to date in a channel, beside its answers. */
export interface ChannelBoard {
  /** Brings them up to date. Returns at once. */
  show(): void;
  /** The same when the channel is loaded or another daemon has written to it. Does nothing where no message is expected. */
  resume(): void;
}

export type BoardOutbox = Pick<Outbox, "add" | "split">;

/** Parts that the compactors of all channels share. */
export interface Compaction {
  readonly queue: CompactionQueue;
  readonly breaker: Breaker;
  readonly timing: CompactorTiming;
  /** The pure decision; the protocol's fuzz puts wrong ones here. Default: the real one. */
  readonly decide?: (state: CompactionState) => Decision;
}
