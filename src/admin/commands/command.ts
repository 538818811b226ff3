import type { ReadWaitedFor } from "../reports/channel-report.ts";
import { sceneOf } from "../../channel/turns/turn-channel.ts";
import type { FolderTexts } from "../../channel/channel-context.ts";
import type { Guests } from "../../channel/guests.ts";
import type { ChannelHomes } from "../../ownership/channel-homes.ts";
import type { ChannelRegistry } from "../../channel/registry.ts";
import type { Renewal } from "../../channel/renewal.ts";
import type { Waker } from "../../channel/waker.ts";
import type { ContextRecorder } from "../../channel/turns/context-recorder.ts";
import type { CommandAnswer } from "../../core/card.ts";
import type { ServiceOf } from "../../core/feature-key.ts";
import { type ChannelAddress, type ChannelId, formatAddress, type TurnId } from "../../core/ids.ts";
import type { Author, InboundMessage } from "../../core/message.ts";
import type { RecallMemories } from "../../memory/recall-memories.ts";
import type { Asker, InboundCommand, LinkedChannel, PlatformCapabilities } from "../../platforms/platform.ts";
import type { Refusals } from "../../router/refusals.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Digester } from "../../store/compaction/extracts.ts";
import type { AskingChannel } from "../../store/memory/memory-scope.ts";
import type { Store } from "../../store/store.ts";
import type { Agent } from "../../turn/agent.ts";
import type { DaemonStatus } from "../reports/daemon-status.ts";
import type { SkipReasons } from "../skip-reasons.ts";
import { createTimeFormat, type TimeFormat } from "../../text/time.ts";
import { isTimeZone } from "../../text/when.ts";
import { type CommandRule, isOwner, type OwnersConfig, type Typed } from "./permissions.ts";

/**
 * A slash command on every platform. To add a command, export it from a new file beside this, and list it in
 * `commands.ts`; platforms, help and completion read that list.
 */
export type Command = ChannelCommand | AnywhereCommand;

export interface ChannelCommand extends CommandRule {
  /** @returns the answer to the asker */
  run(parts: CommandParts, command: AskedCommand): Promise<CommandAnswer>;
  /** The log keeps its message, which has content of its own. Default: only the fact that it was run. */
  readonly keepsMessage?: true;
  /** Whether the operator has configured a person for it who is no owner. Default: false. */
  isNamedFor?(parts: CommandParts, channel: ChannelRow, asker: Asker): boolean;
  /** The answer if the log does not know the channel yet. Null, the default: that it is not known. */
  runUnmet?(parts: CommandParts, command: Pick<InboundCommand, "channel" | "asker">): string | null;
}

/** A command that runs also in channels that the log does not know. It checks by itself who may run it. */
export interface AnywhereCommand extends CommandRule {
  /** @returns the answer to the asker */
  runAnywhere(parts: CommandParts, command: InboundCommand, place: CommandPlace): Promise<CommandAnswer>;
}

/** Whether something ends for everybody, if the asker may do that, or for the asker alone. */
export type ForWhom = "all" | "me";

/** Ends what has this number in the channel. @returns the answer to the asker */
export type EndNumbered = (
  parts: CommandParts,
  command: AskedCommand,
  number: number,
  whom: ForWhom,
) => Promise<string>;

export interface CommandPlace {
  /** Id of the server or team; empty: there is no server, or it is unknown. */
  readonly workspace: string;
  readonly typed: Typed;
}

export interface CommandParts extends FolderTexts {
  readonly store: Store;
  readonly homes: Pick<ChannelHomes, "isHome">;
  readonly registry: Pick<ChannelRegistry, "loaded" | "inMemory" | "get">;
  readonly waker: Waker;
  readonly renewal: Pick<Renewal, "restaff">;
  readonly readWaitedFor: ReadWaitedFor;
  readonly contexts: Pick<ContextRecorder, "flush">;
  readonly serviceOf: ServiceOf;
  /** The command that a person gives by a plain message; null: the message is none. */
  readonly commandIn: (
    message: Pick<InboundMessage, "channel" | "author" | "text">,
  ) => Promise<Pick<InboundCommand, "name" | "argument"> | null>;
  /** What `/forget` ends by a letter and a number, by the letter. */
  readonly numbered: ReadonlyMap<string, EndNumbered>;
  /** Forgets what features keep of a conversation: it starts afresh. */
  readonly resetFeatures: (channel: ChannelId) => Promise<void>;
  readonly agentOf: (channel: ChannelRow) => Agent;
  /** The same as its row says it: an actor that is about to make way may still answer as before. */
  readonly agentBy: (channel: ChannelRow) => Agent;
  readonly modelNames: () => readonly string[];
  /** Other agents that answer there. */
  readonly guestsOf: (channel: ChannelRow) => Guests;
  /** Makes the extract that replaces a summary with a forgotten text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
  readonly owners: OwnersConfig;
  /** How texts and commands look there; undefined: no platform here serves the channel. */
  readonly capabilitiesOf: (
    channel: ChannelAddress,
  ) => Pick<PlatformCapabilities, "commandPrefix" | "isProportional"> | undefined;
  /** Finds what is remembered, with the filter of a turn. */
  readonly recall: Pick<RecallMemories, "findWithEnded">;
  /** The address of a message on its platform; null: it has no address, or its platform is not in use here. */
  readonly linkTo: (channel: LinkedChannel, messageId: string) => Promise<string | null>;
  /** A person's name in a channel's log. */
  readonly nameIn: (channel: ChannelRow, author: Pick<Author, "id" | "name" | "isBot">) => Promise<string>;
  /** Keys, tokens and passwords, which must not be shown. */
  readonly secrets: readonly string[];
  readonly helpText: (commands: readonly { name: string; help: string }[]) => string;
  /** The daemon's own report. */
  readonly daemon: () => DaemonStatus;
  /** No model is set up: the built-in one answers. */
  readonly isStandIn: () => boolean;
  readonly refusals: Pick<Refusals, "last">;
  readonly skipReasons: Pick<SkipReasons, "of">;
  /** What a settled turn still waits for, as the end of a sentence about its message; null: nothing. */
  readonly waitsFor: (turn: TurnId) => Promise<string | null>;
  /** Whether messages there are answered only where they are meant for the agent. */
  readonly isMentionRequired: (channel: ChannelRow) => boolean;
  readonly now: () => Date;
}

/** A permitted command, in a channel that the log knows. */
export interface AskedCommand {
  readonly channel: ChannelRow;
  readonly argument: string;
  readonly asker: Asker;
  /** The operator has named the asker as an owner. */
  readonly isNamedOwner: boolean;
  readonly typed: Typed;
  /** Formats lines so that their columns align. */
  readonly columns: (text: string) => string;
  /** The message in which it was typed; undefined: it was typed into no message. */
  readonly said: InboundCommand["said"];
}

/** The scope of a command: the same as of recall in its channel. */
export function askingChannel({ agentOf }: Pick<CommandParts, "agentOf">, row: ChannelRow): AskingChannel {
  return { agent: agentOf(row).config.id, channel: row.id, workspace: row.workspace, kind: row.kind };
}

/** Whether the asker may decide for everybody there. */
export function ownsPlace(
  { owners }: Pick<CommandParts, "owners">,
  { channel, asker }: Pick<AskedCommand, "channel" | "asker">,
): boolean {
  const { address, kind, workspace } = channel;
  return isOwner(asker, { platform: address.platform, kind, workspace }, owners);
}

/** `#general in Acme`, or its address if its platform gives no names. */
export function channelTitle(row: Pick<ChannelRow, "address" | "kind" | "workspace" | "place">): string {
  const { place, kind } = row;
  const isNamed = kind === "dm" || (place !== null && place.channel !== "");
  return isNamed ? sceneOf(row).channel : formatAddress(row.address);
}

/** `this channel`, as a person would say it. */
export function placeName({ kind }: Pick<ChannelRow, "kind">, beginsSentence = false): string {
  const article = beginsSentence ? "This" : "this";
  return kind === "dm" ? `${article} conversation` : `${article} ${kind}`;
}

/**
 * The time zone of what a person is shown and types: the agent's, or, at the terminal, where the agent's is the default,
 * this machine's.
 */
export function zoneOf({ agentOf }: Pick<CommandParts, "agentOf">, row: ChannelRow): string {
  const own = agentOf(row).config.timeZone;
  if (row.address.platform !== "terminal" || own !== "UTC") return own;
  // Undefined where TZ is set to no zone that there is.
  const here: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return here !== undefined && isTimeZone(here) ? here : own;
}

export function timeOf(parts: Pick<CommandParts, "agentOf">, row: ChannelRow): TimeFormat {
  const zone = zoneOf(parts, row);
  const { config, time } = parts.agentOf(row);
  return zone === config.timeZone ? time : createTimeFormat(zone);
}
