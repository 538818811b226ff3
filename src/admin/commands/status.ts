import type { ChannelRow } from "../../store/channels/channels.ts";
import type { BacklogRow } from "../../store/channels/gaps.ts";
import { displayableLine } from "../../text/displayable.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import { describeForChat } from "../reports/chat-facts.ts";
import { type ConfigurationState, type DaemonStatus, describeRefusal } from "../reports/daemon-status.ts";
import { type AskedCommand, channelTitle, type Command, type CommandParts, timeOf } from "./command.ts";

export const statusCommand: Command = {
  name: "status",
  help: "what this channel is doing just now",
  isCommon: true,
  isReport: true,
  argument: null,
  allowed: "everybody",
  run: describeStatus,
};

async function describeStatus(
  { registry, homes, store, agentOf, daemon }: CommandParts,
  { channel, isNamedOwner }: AskedCommand,
): Promise<string> {
  const backlog = await store.gaps.backlogOf(channel.id);
  const isHome = await homes.isHome(channel.id);
  const here = registry.loaded(channel.id)?.status;
  // The state of a channel that runs at another daemon is in the rows.
  const status = isHome ? here : { ...(await store.partitions.status(channel.id)), delivering: false };
  const running = status?.turnRunningForMs ?? null;
  const lines = [
    `${displayableLine(channelTitle(channel))}, answered by ${channel.agent}`,
    // Only the operator may know the model's server.
    ...(isNamedOwner ? behind(daemon(), channel, timeOf({ agentOf }, channel)) : []),
    running === null
      ? "No answer is being written."
      : `An answer is being written, for ${(running / 1000).toFixed(1)} s now.`,
    `Waiting for an answer: ${counted(status?.due ?? 0, "message")}. In the log: ${counted(channel.lastSeq, "entry", "entries")}.`,
  ];
  if (backlog !== null) lines.push(describeBacklog(backlog, timeOf({ agentOf }, channel)));
  if (status?.delivering === true) lines.push("An answer is on its way to the platform.");
  return lines.join("\n");
}

/** The facts about the daemon that concern a channel, for its operator; the terminal shows all of them. */
function behind(status: DaemonStatus, { address }: Pick<ChannelRow, "address">, time: TimeFormat): string[] {
  const facts = address.platform === "terminal" ? describeForChat(status, time) : [status.server];
  return [...facts, ...configurationLines(status.configuration, time)];
}

/** Nothing, where the file is in force. */
function configurationLines(state: ConfigurationState | undefined, time: TimeFormat): string[] {
  if (state === undefined) return [];
  const refusal = describeRefusal(state, (at) => time.minute(at));
  return [
    ...(refusal === null ? [] : [`The configuration is ${displayableLine(refusal)}`]),
    ...(state.atStart.length === 0
      ? []
      : [`The configuration has changes for the next start: ${displayableLine(state.atStart.join(", "))}`]),
  ];
}

/** Shows the time that was reached: no platform gives the number of messages. */
function describeBacklog({ read, readTo, until }: BacklogRow, time: TimeFormat): string {
  const to = until === null ? "" : ` of ${time.minute(until)}`;
  return readTo === null
    ? "What was said here while I was away is still to be read."
    : `Reading what was said here while I was away: ${counted(read, "message")} so far, up to ${time.minute(readTo)}${to}.`;
}
