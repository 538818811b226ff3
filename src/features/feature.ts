import type { Logger } from "pino";
import type { Command, CommandParts, EndNumbered } from "../admin/commands/command.ts";
import type {
  ActorParts,
  BackgroundWork,
  BoardOutbox,
  CallGates,
  ChannelBoard,
  FolderTexts,
  TurnFeatures,
  TurnSite,
} from "../channel/channel-context.ts";
import type { ChannelRegistry } from "../channel/registry.ts";
import type { Waker } from "../channel/waker.ts";
import type { AgentConfig, Config } from "../config/config.ts";
import type { AgentFile } from "../context/sections/section.ts";
import type { Card } from "../core/card.ts";
import type { Finding } from "../core/errors.ts";
import type { FeatureKey, KitOf } from "../core/feature-key.ts";
import type { AgentId, ChannelAddress, ChannelId, TurnId } from "../core/ids.ts";
import type { SaveList } from "../memory/save-call.ts";
import type { Binding } from "../router/bindings.ts";
import type { Strangers } from "../router/strangers.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Database } from "../store/database/database.ts";
import type { Signer } from "../store/database/signing-key.ts";
import type { Store } from "../store/store.ts";
import type { TimeFormat } from "../text/time.ts";
import type { DescribedToolMaker, Tool, ToolMaker } from "../tools/tool.ts";
import type { Agent } from "../turn/agent.ts";
import type { WaitedFor } from "../turn/context-sources.ts";

/** Something that an agent can do, beside conversations: its tools, commands, rows and work in one folder. */
export interface Feature<Service = unknown, Kit = unknown> {
  readonly key: FeatureKey<Service, Kit>;
  readonly toolsOf?: (agent: AgentConfig, agentsDir: string | undefined) => readonly ToolMaker[];
  /** `after`: the command that stands before it in the help. */
  readonly commands?: readonly { readonly command: Command; readonly after: string }[];
  /** What `/forget` ends by a letter and a number, such as L12. Default: nothing. */
  readonly numbered?: { readonly letter: string; readonly end: EndNumbered };
  /** What it learns from the entries of summaries. Default: nothing. */
  readonly saveList?: SaveList;
  /** Checks its rows for `weir doctor`. Default: there is nothing to check. */
  readonly examine?: (database: Database, signer: Signer) => Promise<readonly Finding[]>;
  /** Reads how much of its work waits in the database, whichever daemon will do it. */
  readonly waiting?: (database: Database) => Promise<FeatureWork>;
  /** See `FolderTexts`. Default: none. */
  readonly activeTexts?: (
    database: Database,
    ...asked: Parameters<FolderTexts["activeTexts"]>
  ) => Promise<readonly string[]>;
  /** See `FolderTexts`. Default: none. */
  readonly channelFiles?: (
    database: Database,
    ...asked: Parameters<FolderTexts["channelFiles"]>
  ) => Promise<readonly AgentFile[]>;
  /** A tool as the agent's configuration has it. Default: unchanged. */
  readonly toolOf?: (agent: AgentConfig, tool: Tool) => Tool;
  /** Logs what the operator may have forgotten, at the start and at each reload. Default: nothing. */
  readonly warn?: (setup: FeatureSetup, log: Logger) => void;
  /** Opens it for a daemon. Reads and writes nothing yet. */
  open(parts: OpenParts): OpenFeature<Service, Kit>;
  /** The same as `toolsOf`, of tools whose descriptions name others of the agent. */
  readonly describedToolsOf?: (agent: AgentConfig) => readonly DescribedToolMaker[];
  /** What of it the agent waits for, as lines of its contexts. None: the context has no such section. */
  readonly section?: {
    readonly kind: WaitedFor["kind"];
    /** Called once a run of a turn, before its tools. */
    ofTurn(kit: Kit): Promise<readonly string[]>;
    /** The same for a report of the channel's next request. */
    ofChannel(database: Database, channel: ChannelId, time: TimeFormat): Promise<readonly string[]>;
  };
}

/** What waits, for `weir status`. */
export interface FeatureWork {
  /** For `--json`, under the feature's name. */
  readonly json: object;
  /**
   * For a person, without the feature's name.
   * @param oldest adds since when it waits: `, the oldest since 2026-11-21 14:05 (3 minutes ago)`
   */
  line(time: TimeFormat, oldest: (since: Date | null) => string): string;
}

export interface InboxAsked {
  /** Of the items, or of the lines. */
  readonly limit: number;
  /** Takes the operator's secrets out of a text: before it is cut. */
  readonly masked: (text: string) => string;
}

/** One thing that waits for a person. */
export interface WaitingItem {
  /** Null: it is of no channel. */
  readonly channel: ChannelAddress | null;
  readonly since: Date;
  /** What waits, and how a person acts on it. */
  readonly text: string;
  /** Names it among those of its feature, in ids alone. */
  readonly id: string;
  /** What an operator may do with it, each by `act`. */
  readonly acts: readonly ItemAct[];
}

export interface ItemAct {
  /** Small letters, digits and hyphens. */
  readonly name: string;
  readonly label: string;
  /** A text that may come with it. Default: none does. */
  readonly text?: { readonly label: string; readonly maxLength: number };
}

/** Names an act of an item of the inbox, which may be over by now. */
export interface ActAsked {
  readonly item: string;
  readonly act: string;
  /** "": none. */
  readonly text: string;
}

export interface ActOutcome {
  /** False: nothing was changed by it. */
  readonly isDone: boolean;
  readonly sentence: string;
}

/** What of a feature there is in all channels, for an operator to read. */
export interface FeatureList {
  readonly label: string;
  /** `channel` null: it is of no channel. */
  readonly lines: readonly { readonly channel: ChannelAddress | null; readonly text: string }[];
  /** The list was cut. */
  readonly isMore: boolean;
  /** How there comes to be something, in a sentence. */
  readonly howTo: string;
}

/** The operator, as channels name who has decided or chosen there. */
export const OPERATOR_NAME = "Weir's operator";

interface FeatureAgent {
  readonly agent: Pick<Agent, "time" | "config" | "folder" | "tools">;
}

export interface FeatureSetup {
  readonly config: Pick<Config, "agents" | "platforms">;
  readonly bindings: readonly Binding[];
  readonly agents: { of(id: AgentId): FeatureAgent; all(): Iterable<FeatureAgent> };
}

/** The parts of a daemon that there are when its features open. */
export interface OpenParts {
  readonly setup: () => FeatureSetup;
  readonly database: Database;
  readonly signer: Signer;
  readonly platforms: readonly Platform[];
  readonly platformOf: (address: ChannelAddress) => Platform | undefined;
  readonly log: Logger;
  readonly now: () => Date;
  /** Whether other daemons may run beside this one. */
  readonly isClustered: boolean;
}

/** Disposed of, where it holds something, when the intake has closed, before the channels drain. */
export interface OpenFeature<Service, Kit> extends Partial<AsyncDisposable> {
  readonly service: Service;
  /** Makes what its tools work with in one turn. Default: they need nothing. */
  readonly kitOf?: (site: TurnSite) => Kit;
  /** Makes its work beside turns. Nothing of it runs before `start`. Null, the default: it has none to start. */
  readonly work?: (parts: WorkParts) => FeatureWorker | null;
  /** Who may send direct messages beside those whom the configuration names. Default: nobody. */
  readonly strangers?: Strangers;
  /** Forgets what it keeps of a conversation that starts afresh. Default: it keeps nothing of one. */
  readonly reset?: (channel: ChannelId) => Promise<void>;
  /** Work in channels that outlives its turns. Default: it has none. */
  readonly background?: BackgroundWork;
  /** See `TurnFeatures`. Default: its messages answer no turn. */
  readonly begunBy?: TurnFeatures["begunBy"];
  /** Reads, in a turn, the files of its agent's folder that are of the channel alone. Default: there are none. */
  readonly filesOf?: (kitOf: KitOf) => Promise<readonly AgentFile[]>;
  /** Deletes texts from files that were deleted in the log. Must not throw. Default: it writes no files. */
  readonly sweepFiles?: () => Promise<void>;
  /** Holds calls of tools back. Default: all calls run. */
  readonly gates?: CallGates;
  /** Texts of a channel were edited, deleted or summarised. Returns at once. Default: nothing depends on them. */
  changed?(): void;
  /** Makes the board of a channel that is being loaded. Default: it keeps no messages up to date. */
  boardOf?(parts: ActorParts, outbox: BoardOutbox): ChannelBoard;
  /**
   * The command that a person gives by a plain message; null, the default: the message is none. It is asked before the message is in the log.
   */
  readonly commandIn?: CommandParts["commandIn"];
  /** Single things that wait for a person in any channel, the oldest first, for an operator. Default: nothing does. */
  inbox?(asked: InboxAsked): Promise<readonly WaitingItem[]>;
  /** Acts on one of them for the operator, as a command does. Default: its items have no acts. */
  act?(asked: ActAsked): Promise<ActOutcome>;
  /** What there is of it in all channels, by the words of its commands. Default: nothing. */
  list?(asked: InboxAsked): Promise<FeatureList>;
  /** What it knows of a channel, for an operator. Default: nothing. */
  channelLists?(channel: ChannelId, time: TimeFormat): Promise<Card["lists"]>;
  /** What a settled turn still waits for, as the end of a sentence about its message; null, the default: nothing. */
  waitsFor?(turn: TurnId): Promise<string | null>;
}

/** The parts of a daemon that there are when its channels can be written to. */
export interface WorkParts {
  readonly store: Store;
  readonly waker: Waker;
  readonly registry: Pick<ChannelRegistry, "loaded">;
}

/** Work that goes on beside turns. */
export interface FeatureWorker {
  /** Begins it, or looks again for what waits: the channels of a platform are served again. Returns at once. */
  start(): void;
  /** The configuration has changed. Returns at once. Default: it reads the configuration when it needs it. */
  reconfigured?(): void;
}
