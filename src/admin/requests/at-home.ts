import { z } from "zod";
import { withDeadline } from "../../async/deadline.ts";
import type { ChannelHomes } from "../../ownership/channel-homes.ts";
import type { ChannelRegistry } from "../../channel/registry.ts";
import { OperatorError } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { CompactionStore } from "../../store/compaction/compactions.ts";
import type { RequestStore, RequestedWork } from "../../store/commands/requests.ts";
import { ask } from "./ask-daemon.ts";
import { type CompactAnswer, compactAnswer, forceCompaction } from "./compact-answer.ts";

/** The parts for work that only a channel's home can do, here or at another daemon. */
export interface AtHomeParts {
  readonly store: { readonly requests: RequestStore; readonly compactions: Pick<CompactionStore, "find"> };
  readonly homes: Pick<ChannelHomes, "isHome">;
  readonly registry: Pick<ChannelRegistry, "inMemory" | "get">;
}

/** The answer if the channel has had no home for this long, because it is being handed over. */
export const NOBODY_HOME = "This place is just moving to another machine. Please try again in a moment.";

/** Longest wait until the home takes a request, ms: a daemon that ends hands over its channels in this time. */
const TAKE_MS = 5000;
/** How long a stop or a reset may take there, ms. */
const DO_MS = 15_000;
const POLL_MS = 50;

const Stopped = z.object({ kind: z.literal("stopped"), isStopped: z.boolean() });
const Reset = z.object({ kind: z.literal("reset") });

/**
 * Stops the answer that is being written.
 * @returns false: there is no such answer; null: the channel has no home, or its home has not answered
 */
export async function stopAtHome(parts: AtHomeParts, channel: ChannelId): Promise<boolean | null> {
  const { homes, registry } = parts;
  if (await homes.isHome(channel)) return (await registry.inMemory(channel))?.stop() ?? false;
  const answer = await askHome(parts, channel, { kind: "stop" }, DO_MS, Stopped);
  return answer?.isStopped ?? null;
}

/**
 * Covers all earlier messages without a summary.
 * @returns false: the channel has no home, or its home has not answered
 */
export async function resetAtHome(parts: AtHomeParts, channel: ChannelId): Promise<boolean> {
  const { homes, registry } = parts;
  if (await homes.isHome(channel)) {
    await (await registry.get(channel)).reset();
    return true;
  }
  const answer = await askHome(parts, channel, { kind: "reset" }, DO_MS, Reset);
  return answer !== null;
}

/**
 * Summarises old entries.
 * @param waitMs longest wait for the summary
 * @returns null: the summary is late, or the channel has no home
 */
export async function compactAtHome(
  parts: AtHomeParts,
  channel: ChannelId,
  focus: string,
  waitMs: number,
): Promise<CompactAnswer | null> {
  const { homes, registry, store } = parts;
  if (await homes.isHome(channel)) {
    const { compactor } = await registry.get(channel);
    return withDeadline(forceCompaction(compactor, store.compactions, focus), waitMs);
  }
  return askHome(parts, channel, { kind: "compact", focus }, waitMs, compactAnswer);
}

/**
 * Asks the home of a channel by a request.
 * @returns null: the request was not taken, or not answered in time
 */
async function askHome<Answer>(
  { store: { requests } }: AtHomeParts,
  channel: ChannelId,
  work: RequestedWork,
  answerMs: number,
  answers: z.ZodType<Answer>,
): Promise<Answer | null> {
  const id = await requests.add(channel, work);
  const never = new AbortController().signal;
  try {
    const answer = await ask(requests, id, never, { takeMs: TAKE_MS, answerMs, pollMs: POLL_MS }, answers);
    await requests.remove(id);
    return answer;
  } catch (error) {
    if (error instanceof OperatorError) return null;
    throw error;
  }
}
