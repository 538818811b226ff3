import type { Logger } from "pino";
import type { Command } from "../admin/commands/command.ts";
import type {
  ActorParts,
  BoardOutbox,
  CallGates,
  ChannelBoard,
  TurnSite,
} from "../channel/channel-context.ts";
import type { ChannelRegistry } from "../channel/registry.ts";
import type { Waker } from "../channel/waker.ts";
import type { AgentConfig, Config } from "../config/config.ts";
import type { FeatureKey } from "../core/feature-key.ts";
import type { AgentId, ChannelAddress, TurnId } from "../core/ids.ts";
import type { Binding } from "../router/bindings.ts";
import type { Strangers } from "../router/strangers.ts";
import type { Platform } from "../platforms/platform.ts";
import type { Database } from "../store/database/database.ts";
import type { Store } from "../store/store.ts";
import type { TimeFormat } from "../text/time.ts";
import type { Tool, ToolMaker } from "../tools/tool.ts";
import type { Agent } from "../turn/agent.ts";

/** Something that an agent can do, beside conversations: its tools, commands, rows and work in one folder. */
export interface Feature<Service = unknown, Kit = unknown> {
  readonly key: FeatureKey<Service, Kit>;
  /** Its tools for an agent. */
  readonly toolsOf?: (agent: AgentConfig) => readonly ToolMaker[];
  readonly commands?: readonly FeatureCommand[];
  /** Reads what waits in a database, whoever is to do it. */
  readonly waiting?: (database: Database) => Promise<FeatureWork>;
  /** A tool as the agent's configuration has it. Default: unchanged. */
  readonly toolOf?: (agent: AgentConfig, tool: Tool) => Tool;
  /** Logs what the operator may have forgotten, at the start and at each reload. Default: nothing. */
  readonly warn?: (setup: FeatureSetup, log: Logger) => void;
  /** Opens it for a daemon. Reads and writes nothing yet. */
  open(parts: OpenParts): OpenFeature<Service, Kit>;
}

export interface FeatureCommand {
  readonly command: Command;
  /** The command that stands before it in the help. */
  readonly after: string;
}

/** What waits, for `weir status`. */
export interface FeatureWork {
  /** For `--json`, under the feature's name. */
  readonly json: object;
  /** For a person, without the feature's name. `at`: formats a past time, with its age. */
  line(time: TimeFormat, at: (date: Date) => string): string;
}

/** What features read of a configuration. */
export interface FeatureSetup {
  readonly config: Pick<Config, "agents" | "platforms">;
  readonly bindings: readonly Binding[];
  readonly agents: { of(id: AgentId): FeatureAgent; all(): Iterable<FeatureAgent> };
}

interface FeatureAgent {
  readonly agent: Pick<Agent, "time" | "config" | "tools">;
}

/** The parts of a daemon that there are when its features open. */
export interface OpenParts {
  /** The current setup. */
  readonly setup: () => FeatureSetup;
  readonly database: Database;
  readonly platforms: readonly Platform[];
  readonly platformOf: (address: ChannelAddress) => Platform | undefined;
  readonly log: Logger;
  readonly now: () => Date;
}

/** Disposed of when the intake has closed, before the channels drain. */
export interface OpenFeature<Service, Kit> extends AsyncDisposable {
  readonly service: Service;
  /** Makes what its tools work with in one turn. Default: they need nothing. */
  readonly kitOf?: (site: TurnSite) => Kit;
  /** Makes its work beside turns. Nothing of it runs before `start`. Default: it has none. */
  readonly work?: (parts: WorkParts) => FeatureWorker;
  /** Who may send direct messages beside those whom the configuration names. Default: nobody. */
  readonly strangers?: Strangers;
  /** Holds calls of tools back. Default: all calls run. */
  readonly gates?: CallGates;
  /** Texts of a channel were edited, deleted or summarised. Returns at once. Default: nothing depends on them. */
  changed?(): void;
  /** Makes the board of a channel that is being loaded. Default: it keeps no messages up to date. */
  boardOf?(parts: ActorParts, outbox: BoardOutbox): ChannelBoard;
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
