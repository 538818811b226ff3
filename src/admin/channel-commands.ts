import { counted } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { STOPPED } from "../router/text-commands.ts";
import { withDeadline } from "../async/deadline.ts";
import type { BacklogRow } from "../store/channels/gaps.ts";
import { displayableLine } from "../text/displayable.ts";
import { type AskedCommand, channelTitle, type CommandParts } from "./command-parts.ts";
import { describeAnswer, forceCompaction, quoteSummary } from "./compact-answer.ts";

export const NOTHING_TO_STOP = "Nothing is being written just now.";

/** `/stop` */
export async function stop({ registry }: CommandParts, { channel }: AskedCommand): Promise<string> {
  const isStopped = (await registry.inMemory(channel.id))?.stop() ?? false;
  return isStopped ? STOPPED : NOTHING_TO_STOP;
}

/** `/reset` */
export async function reset(
  { registry }: CommandParts,
  { channel, argument, typed }: AskedCommand,
): Promise<string> {
  // Whoever says more than the word may mean something else, and there is no way back.
  if (argument !== "") return `Nothing was reset: this is ${typed("reset")}, with nothing behind it.`;
  await (await registry.get(channel.id)).reset();
  return "Reset: the model starts afresh here. The log keeps what was said; memories stay.";
}

/** How long the asker waits for a summary, ms. */
const COMPACT_WAIT_MS = 15_000;

/** `/compact` and `/summarize` */
export async function forceAndDescribe(
  { registry, store }: CommandParts,
  { channel: { id }, typed }: AskedCommand,
  showsText: boolean,
): Promise<string> {
  const { compactor } = await registry.get(id);
  const answer = await withDeadline(forceCompaction(compactor, store.compactions), COMPACT_WAIT_MS);
  if (answer === null) return `This is still being summarised. ${typed("context")} shows how far it is.`;
  const quoted = showsText ? quoteSummary(answer) : "";
  return quoted === "" ? describeAnswer(answer) : `${describeAnswer(answer)}\n\n${quoted}`;
}

/** `/status` */
export async function describeStatus(
  { registry, store, agentOf, describeModels }: CommandParts,
  { channel, isNamedOwner }: AskedCommand,
): Promise<string> {
  const backlog = await store.gaps.backlogOf(channel.id);
  const status = registry.loaded(channel.id)?.status;
  const running = status?.turnRunningForMs ?? null;
  const lines = [
    `${displayableLine(channelTitle(channel))}, answered by ${channel.agent}`,
    // Where the model's server is, is the operator's to know.
    ...(isNamedOwner ? [describeModels()] : []),
    running === null
      ? "No answer is being written."
      : `An answer is being written, for ${(running / 1000).toFixed(1)} s now.`,
    `Waiting for an answer: ${counted(status?.due ?? 0, "message")}. In the log: ${counted(channel.lastSeq, "entry", "entries")}.`,
  ];
  if (backlog !== null) lines.push(describeBacklog(backlog, agentOf(channel).time));
  if (status?.delivering === true) lines.push("An answer is on its way to the platform.");
  return lines.join("\n");
}

/** How many messages there are no platform tells: how far in time it is says as much. */
function describeBacklog({ read, readTo, until }: BacklogRow, time: TimeFormat): string {
  const to = until === null ? "" : ` of ${time.minute(until)}`;
  return readTo === null
    ? "What was said here while I was away is still to be read."
    : `Reading what was said here while I was away: ${counted(read, "message")} so far, up to ${time.minute(readTo)}${to}.`;
}
