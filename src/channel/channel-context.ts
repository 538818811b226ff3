import type { Logger } from "pino";
import type { Budgets } from "../budget/budgets.ts";
import type { CallCounts } from "../budget/call-counts.ts";
import type { Summariser } from "../compactor/summariser.ts";
import type { AgentConfig } from "../config/config.ts";
import type { History } from "../core/history.ts";
import type { ChannelAddress, ChannelId, Owner, Seq, TurnId } from "../core/ids.ts";
import type { ChannelKind, Place } from "../core/message.ts";
import type { Indexer } from "../memory/indexer.ts";
import type { RecallMemories } from "../memory/recall-memories.ts";
import type { Recall } from "../memory/recall.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Store } from "../store/store.ts";
import type { SubagentDraft } from "../store/turns/subagents.ts";
import type { Events } from "../telemetry/events.ts";
import type { Agent } from "../turn/agent.ts";
import type { Compaction } from "./compaction/compaction.ts";
import type { HistoryMutex } from "./guarded-history.ts";
import type { Guests } from "./guests.ts";
import type { ReminderDesk } from "./reminders/reminder-desk.ts";
import type { ContextRecorder } from "./turns/context-recorder.ts";

/** What every actor of a daemon shares. */
export interface SharedParts {
  readonly store: Store;
  readonly recall: Recall;
  readonly memories: RecallMemories;
  readonly indexer: Indexer;
  readonly contexts: ContextRecorder;
  readonly reminders: ReminderDesk;
  readonly events: Events;
  readonly log: Logger;
  readonly now: () => Date;
  readonly compaction: Compaction;
  /** Default: there are none. */
  readonly subagents?: Subagents;
  /** Default: no budget is configured. */
  readonly budgets?: Budgets;
  readonly callCounts: CallCounts;
  /** The mutex of a channel's history; default: a real one. The fuzz sets one that does not lock. */
  readonly createMutex?: () => HistoryMutex;
  /** Other daemons may write to the same database; default: true. */
  readonly othersWrite?: boolean;
  /** Wake-ups that wait in one mailbox. */
  readonly mailboxSize: number;
  /** Whether any channel shares memories that an agent may see; default: one may. Must not wait. */
  readonly isShared?: (agent: AgentConfig) => boolean;
  /** Longest wait for each thing that a turn looks up before it asks its model, ms; default: some tenths of a second, by what it is. */
  readonly lookUpWithinMs?: number | undefined;
  /** First wait before a turn is begun again over which processes have ended, ms; default: a second. */
  readonly restFromMs?: number;
  /** Takes the operator's secrets out of a text; default: there are none. */
  readonly masked?: (text: string) => string;
  /** Told where a turn has asked for approvals, and where something was taken back that may have asked for one. */
  readonly onApprovals?: (channel: ChannelId, what: "asked" | "taken_back") => void;
}

/** What one actor is made of. */
export interface ActorParts extends SharedParts {
  readonly owner: Owner;
  readonly address: ChannelAddress;
  readonly kind: ChannelKind;
  /** "" if the platform has none. */
  readonly workspace: string;
  /** Null: its platform has told no names. */
  readonly place: Place | null;
  readonly agent: Agent;
  /** Other agents that answer there. */
  readonly guests: Guests;
  readonly compactorAgent: Summariser;
  readonly platform: Platform;
  /** Answers are shown while they are written, if the platform can. */
  readonly streams: boolean;
  /** Called once, when another daemon has taken the channel. */
  readonly onLost: () => void;
}

/** What an actor is about, for a look from outside. */
export interface ActorStatus {
  /** Milliseconds; null: no turn runs. */
  readonly turnRunningForMs: number | null;
  /** Messages that wait for an answer. */
  readonly due: number;
  /** Messages up to here belong to a turn, or to none. */
  readonly takenTo: Seq;
  /** A message waits that no turn has taken yet: what comes now is answered with it. */
  readonly isAwaiting: boolean;
  readonly delivering: boolean;
}

/** A channel in which subagents are at work; `agent`: its own. */
export type SubagentSite = Pick<
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

/** The subagents of a daemon, as its actors need them. */
export interface Subagents {
  /** Those of a channel. @throws if the daemon is ending */
  of(site: SubagentSite, history: History): SubagentStarter;
  /** Goes on with what an earlier actor of the channel has left open. Must not throw. */
  takeUp(site: SubagentSite, history: History): void;
  /** A turn of the channel has ended. */
  settled(channel: ChannelId): void;
  /** Something was edited or taken back. Returns at once. */
  changed(): void;
  /** `/reset`: nobody waits for those of a channel any more. */
  drop(channel: ChannelId): Promise<void>;
}

export interface SubagentStarter {
  /**
   * @param takenBack edits and deletions of the channel, as the turn has seen them
   * @returns what the turn's model is told
   * @throws ToolFailure where none is begun
   */
  spawn(turn: TurnId, draft: SubagentDraft, takenBack: number, signal: AbortSignal): Promise<string>;
}
