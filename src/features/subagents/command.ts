import { shortTask } from "./report-texts.ts";
import { SUBAGENTS } from "./key.ts";
import type { OpenSubagent } from "./subagent-store.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";
import type { TimeFormat } from "../../text/time.ts";
import {
  type AskedCommand,
  type Command,
  type CommandParts,
  ownsPlace,
  placeName,
  timeOf,
} from "../../admin/commands/command.ts";
import { howToOwn } from "../../admin/commands/permissions.ts";

export const agentsCommand: Command = {
  name: "agents",
  help: "subagents that are at work here; the asker may stop one",
  argument: { name: "what", form: "stop NUMBER", help: "end one at once" },
  allowed: "everybody",
  run: agents,
};

async function agents(parts: CommandParts, command: AskedCommand): Promise<string> {
  const { channel, argument, typed } = command;
  const desk = parts.serviceOf(SUBAGENTS);
  const open = await desk.open(channel.id);
  const running = open.filter(({ state }) => state === "running");
  if (argument === "") return list(parts, command, running);
  const number = /^stop #?(\d{1,9})$/i.exec(argument)?.[1];
  if (number === undefined) return `This is ${typed("agents")} or ${typed("agents stop NUMBER")}.`;
  const wanted = running.find((one) => one.number === Number(number));
  if (wanted === undefined)
    return `No subagent ${number} is at work here. ${typed("agents")} lists those that are.`;
  if (wanted.asker?.id !== command.asker.id && !ownsPlace(parts, command))
    return `Subagent ${number} is for whoever asked for it, and for owners, to stop. ${howToOwn(channel.address.platform)}`;
  const isStopped = await desk.stop(channel.id, wanted.number);
  return isStopped ? `Subagent ${number} is stopped.` : `Subagent ${number} has just ended.`;
}

function list(
  { agentOf }: CommandParts,
  { channel, typed }: AskedCommand,
  running: readonly OpenSubagent[],
): string {
  if (running.length === 0) return `No subagent is at work in ${placeName(channel)}.`;
  const time = timeOf({ agentOf }, channel);
  const lines = running.map((one) => `- ${describeSubagent(one, time)}`);
  return [
    `${counted(running.length, "subagent")} at work in ${placeName(channel)}:`,
    ...lines,
    `${typed("agents stop NUMBER")} ends one.`,
  ].join("\n");
}

/** `3: since 2026-11-21 14:05, asked for by Ann, 1,200 tokens so far: read the log`. Pure. */
export function describeSubagent(
  { number, task, startedAt, tokens, asker }: OpenSubagent,
  time: Pick<TimeFormat, "minute">,
): string {
  const who = asker === null ? "" : `, asked for by ${displayableLine(asker.name)}`;
  return `${number}: since ${time.minute(startedAt)}${who}, ${formatNumber(tokens)} tokens so far: ${shortTask(task)}`;
}
