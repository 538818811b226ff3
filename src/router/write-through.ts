import type { Waker } from "../channel/waker.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { retryWrite } from "../async/retry.ts";

/** A text that has changed, and its notice; null: there is no notice. */
export type ChangedText = readonly [seq: Seq, notedSeq: Seq | null];

/**
 * Changes texts of a channel in the log, then in the memory of its actor, here or at its home, and in channels that were shown
 * memories of them.
 * @param write idempotent
 * @param changedBy the first text that a result has changed; null: it has changed no text
 */
export async function writeThrough<Result>(
  waker: Pick<Waker, "changed" | "doubt" | "memoriesGone">,
  channel: ChannelId,
  write: () => Promise<Result>,
  changedBy: (result: Result) => ChangedText | null,
): Promise<Result> {
  let isInDoubt = true;
  try {
    const { result, isRepeated } = await retryWrite(write);
    isInDoubt = isRepeated;
    const changed = changedBy(result);
    if (changed !== null) {
      await waker.changed(channel, ...changed);
      await waker.memoriesGone(channel);
    }
    return result;
  } finally {
    // After a commit whose outcome is unknown, memory may be outdated.
    if (isInDoubt) await waker.doubt(channel);
  }
}
