import type { ChannelRegistry } from "../channel/registry.ts";
import type { Asker, InboundCommand } from "../platforms/platform.ts";
import type { ChannelRow } from "../store/channels.ts";
import type { Digester } from "../store/extracts.ts";
import type { AskingChannel } from "../store/memories.ts";
import type { Store } from "../store/store.ts";
import type { Agent } from "../turn/agent.ts";
import type { OwnersConfig } from "./permissions.ts";

/** What commands work with. */
export interface CommandParts {
  readonly store: Store;
  readonly registry: ChannelRegistry;
  readonly agentOf: (channel: ChannelRow) => Agent;
  /** Makes the extract that stands in for a summary with a forgotten text in it. */
  readonly digesterOf: (channel: ChannelRow) => Digester;
  readonly owners: OwnersConfig;
  /** Keys, tokens and passwords: they are shown to nobody. */
  readonly secrets: readonly string[];
  readonly helpText: (commands: readonly { name: string; help: string }[]) => string;
  /** One line about the models in use. */
  readonly describeModels: () => string;
  readonly now: () => Date;
}

/** A command that may be run, in a channel that the log knows. */
export interface AskedCommand {
  readonly channel: ChannelRow;
  readonly argument: string;
  readonly asker: Asker;
  /** The message in which it was typed; undefined: it stands in none. */
  readonly said: InboundCommand["said"];
}

/** What a command may know of: the same as recall in its channel. */
export function askingChannel({ agentOf }: Pick<CommandParts, "agentOf">, row: ChannelRow): AskingChannel {
  return { agent: agentOf(row).config.id, channel: row.id, workspace: row.workspace, kind: row.kind };
}

/** `this channel`, as a person would say it. */
export function placeName({ kind }: Pick<ChannelRow, "kind">): string {
  return kind === "dm" ? "this conversation" : `this ${kind}`;
}
