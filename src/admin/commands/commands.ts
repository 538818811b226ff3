/**
 * Administration: the chat commands, the reports that they and the command line show, and the requests between processes. It
 * works on the store and on a channel's home; answers are plain text and cards, which platforms draw.
 */

import { askCommand } from "./ask.ts";
import type { InboundCommand, PlatformCommand } from "../../platforms/platform.ts";
import type { CommandAnswer } from "../../core/card.ts";
import type { Commands } from "../../router/text-commands.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { ChannelCommand, Command, CommandParts } from "./command.ts";
import { compactCommand, summarizeCommand } from "./compact.ts";
import { contextCommand } from "./context.ts";
import { forgetCommand } from "./forget.ts";
import { memoryCommand, memoryIn, rememberCommand } from "./memory.ts";
import {
  type CommandRule,
  isNamedOwner,
  isOwner,
  mayRun,
  type Permission,
  type Typed,
  typedWith,
} from "./permissions.ts";
import { exportCommand } from "./export.ts";
import { recapCommand } from "./recap.ts";
import { modelCommand } from "./model.ts";
import { newCommand, resetCommand } from "./reset.ts";
import { statusCommand } from "./status.ts";
import { NOTHING_TO_STOP, stopCommand } from "./stop.ts";
import { usageCommand } from "./usage.ts";
import { nearestName } from "../../config/nearest-name.ts";
import { codeBlock } from "../../text/text.ts";
import { whyCommand } from "./why.ts";

/** It works in every channel, also in one that the log does not know. */
const HELP: CommandRule = { name: "help", help: "this list", argument: null, allowed: "everybody" };

/** All other commands of this room, in the order of the help. */
export const BUILT_IN_COMMANDS: readonly Command[] = [
  contextCommand,
  compactCommand,
  summarizeCommand,
  memoryCommand,
  rememberCommand,
  forgetCommand,
  whyCommand,
  statusCommand,
  usageCommand,
  stopCommand,
  askCommand,
  modelCommand,
  recapCommand,
  exportCommand,
  resetCommand,
  newCommand,
];

export function commandRules(commands: readonly Command[]): readonly CommandRule[] {
  return [...commands, HELP];
}

/** The slash commands that a platform registers. Every argument is an optional text. */
export function commandTable(commands: readonly Command[]): readonly PlatformCommand[] {
  return commandRules(commands).map(({ name, help, isCommon, isReport, argument, form }) => ({
    name,
    help,
    isCommon,
    isReport,
    argument,
    form,
  }));
}

/**
 * One line per command, without the first slash. Restricted commands say who may run them, but not to an
 * owner.
 * @param typed its prefix begins with a slash
 */
export function helpLines(
  commands: readonly Command[],
  asOwner: boolean,
  typed: Typed,
): { readonly name: string; readonly help: string }[] {
  const marks = {
    everybody: "",
    owners: " (owners only)",
    answered: " (owners, and whoever is being answered)",
  };
  return commandRules(commands).map(({ name, help, argument, allowed }) => ({
    name: typed(argument === null ? name : `${name} [${argument.form}]`).slice(1),
    help:
      help.replaceAll(/\/([a-z]+)/g, (_, command: string) => typed(command)) +
      (asOwner ? "" : marks[allowed]),
  }));
}

const NOT_MET =
  "Nothing has been said to me here yet. Write me something first: then commands work here, too.";

/** Creates the slash commands. Only the asker gets the answer; no command waits for the mailbox. */
export function createCommands(commands: readonly Command[], parts: CommandParts): Commands {
  const commandNamed = (wanted: string): Command | undefined => commands.find(({ name }) => name === wanted);
  const inChannel = (wanted: string): ChannelCommand | undefined => {
    const found = commandNamed(wanted);
    return found === undefined || "runAnywhere" in found ? undefined : found;
  };
  const run = async (command: InboundCommand): Promise<CommandAnswer> => {
    const { asker, argument, said } = command;
    const { platform } = command.channel;
    const wanted = commandNamed(command.name);
    const { commandPrefix = "/", isProportional = false } = parts.capabilitiesOf(command.channel) ?? {};
    const registered = typedWith(commandPrefix);
    if (wanted === undefined && command.name !== HELP.name)
      return unknownCommand(commands, command.name, registered);
    const channel = await parts.store.channels.find(command.channel);
    if (wanted === undefined) {
      const { kind = "channel", workspace = "" } = channel ?? {};
      const isOwnerHere = isOwner(asker, { platform, kind, workspace }, parts.owners);
      return parts.helpText(helpLines(commands, isOwnerHere, registered)).trim();
    }
    if ("runAnywhere" in wanted)
      return wanted.runAnywhere(parts, command, { workspace: channel?.workspace ?? "", typed: registered });
    if (channel === undefined) return wanted.runUnmet?.(parts, command) ?? NOT_MET;
    const typed = typedWith(prefixIn(channel, commandPrefix, said?.text));
    const permission = await permissionFor(parts, wanted, { channel, asker, typed });
    if (!permission.isAllowed) return permission.why;
    return wanted.run(parts, {
      channel,
      argument: argument.trim(),
      asker,
      isNamedOwner: isNamedOwner(asker, { platform, workspace: channel.workspace }, parts.owners),
      typed,
      columns: isProportional ? codeBlock : (text) => text,
      said,
    });
  };
  return {
    has: (name) => name === HELP.name || commandNamed(name) !== undefined,
    run,
    commandIn: async (message) => parts.commandIn(message),
    keepsMessage: (name) => inChannel(name)?.keepsMessage === true,
    memoryIn: (channel, message) => memoryIn(parts, channel, message),
    isNamedFor(name, channel, asker) {
      const { address, workspace } = channel;
      if (isNamedOwner(asker, { platform: address.platform, workspace }, parts.owners)) return true;
      return inChannel(name)?.isNamedFor?.(parts, channel, asker) ?? false;
    },
  };
}

function unknownCommand(commands: readonly Command[], name: string, typed: Typed): string {
  const names = commandRules(commands).map((rule) => rule.name);
  const near = nearestName(name, names);
  const guess = near === null ? "" : ` Did you mean ${typed(near)}?`;
  return `There is no command ${typed(name)}.${guess} ${typed("help")} lists what there is.`;
}

/** A platform with one command for all (Slack's `/weir`) has no commands in threads: there they follow a mention. */
function prefixIn({ kind }: ChannelRow, prefix: string, said = ""): string {
  const mention = /^@[^\s,:]+/.exec(said.trim())?.[0];
  return kind === "thread" && prefix !== "/" && mention !== undefined ? `${mention} /` : prefix;
}

async function permissionFor(
  { store, owners }: CommandParts,
  command: ChannelCommand,
  { channel, asker, typed }: { channel: ChannelRow; asker: InboundCommand["asker"]; typed: Typed },
): Promise<Permission> {
  const { address, kind, workspace } = channel;
  const place = { platform: address.platform, kind, workspace, typed, answering: [] };
  const permission = mayRun(command, asker, place, owners);
  if (permission.isAllowed || command.allowed !== "answered") return permission;
  const answering = await store.answers.beingAnswered(channel.id);
  if (answering.length === 0) return { isAllowed: false, why: NOTHING_TO_STOP };
  return mayRun(command, asker, { ...place, answering }, owners);
}
