import type { InboundCommand } from "../platforms/platform.ts";
import type { Commands } from "../router/text-commands.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import { describeStatus, forceAndDescribe, NOTHING_TO_STOP, reset, stop } from "./channel-commands.ts";
import type { AskedCommand, CommandParts } from "./command-parts.ts";
import { type CommandName, commandNamed, helpLines, type Typed, typedWith } from "./command-table.ts";
import { contextCommand } from "./context-detail.ts";
import { forget } from "./forget-command.ts";
import { describeMemories, memoryIn, remember } from "./memory-commands.ts";
import { isNamedOwner, isOwner, mayRun, type Permission } from "./permissions.ts";
import { why } from "./why-command.ts";

type Run = (parts: CommandParts, command: AskedCommand) => Promise<string>;

const RUNS: Readonly<Record<Exclude<CommandName, "help">, Run>> = {
  context: contextCommand,
  compact: async (parts, command) => forceAndDescribe(parts, command, false),
  summarize: async (parts, command) => forceAndDescribe(parts, command, true),
  memory: describeMemories,
  remember,
  forget,
  why,
  status: describeStatus,
  stop,
  reset,
};

/** What people ask with a slash. Answers are for the asker alone; none of them waits for the mailbox. */
export function createCommands(parts: CommandParts): Commands {
  const run = async (command: InboundCommand): Promise<string> => {
    const { asker, argument, said } = command;
    const { platform } = command.channel;
    const name = commandNamed(command.name);
    const { commandPrefix = "/", isProportional = false } = parts.capabilitiesOf(command.channel) ?? {};
    const registered = typedWith(commandPrefix);
    if (name === undefined)
      return `There is no command ${registered(command.name)}. ${registered("help")} lists what there is.`;
    const channel = await parts.store.channels.find(command.channel);
    if (name === "help") {
      const { kind = "channel", workspace = "" } = channel ?? {};
      const isOwnerHere = isOwner(asker, { platform, kind, workspace }, parts.owners);
      return parts.helpText(helpLines(isOwnerHere, registered)).trim();
    }
    if (channel === undefined) return "Nothing has been said in this channel yet.";
    const typed = typedWith(prefixIn(channel, commandPrefix, said?.text));
    const permission = await permissionFor(parts, name, { channel, asker, typed });
    if (!permission.isAllowed) return permission.why;
    return RUNS[name](parts, {
      channel,
      argument: argument.trim(),
      asker,
      isNamedOwner: isNamedOwner(asker, { platform, workspace: channel.workspace }, parts.owners),
      typed,
      columns: isProportional ? asCodeBlock : (text) => text,
      said,
    });
  };
  return {
    has: (name) => commandNamed(name) !== undefined,
    run,
    keepsMessage: (name) => commandNamed(name) === "remember",
    memoryIn: (channel, message) => memoryIn(parts, channel, message),
    isNamedOwner: ({ address: { platform }, workspace }, asker) =>
      isNamedOwner(asker, { platform, workspace }, parts.owners),
  };
}

/** Where a platform has one command for all, as Slack's `/weir`, it has none in threads: there they stand behind a mention. */
function prefixIn({ kind }: ChannelRow, prefix: string, said = ""): string {
  const mention = /^@[^\s,:]+/.exec(said.trim())?.[0];
  return kind === "thread" && prefix !== "/" && mention !== undefined ? `${mention} /` : prefix;
}

/** What is in it cannot end it. */
function asCodeBlock(text: string): string {
  return `\`\`\`\n${text.replaceAll("```", "`\u200b``")}\n\`\`\``;
}

async function permissionFor(
  { store, owners }: CommandParts,
  name: CommandName,
  { channel, asker, typed }: { channel: ChannelRow; asker: InboundCommand["asker"]; typed: Typed },
): Promise<Permission> {
  const { address, kind, workspace } = channel;
  const place = { platform: address.platform, kind, workspace, typed, answering: [] };
  const permission = mayRun(name, asker, place, owners);
  if (permission.isAllowed || name !== "stop") return permission;
  const answering = await store.answers.beingAnswered(channel.id);
  if (answering.length === 0) return { isAllowed: false, why: NOTHING_TO_STOP };
  return mayRun(name, asker, { ...place, answering }, owners);
}
