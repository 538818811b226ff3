import type { Waker } from "../channel/waker.ts";
import type { ChannelRow } from "../store/channels/channels.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { Deleted } from "../store/deletion/deletions.ts";
import type { QuotedWords } from "../store/deletion/quotes.ts";
import type { Store } from "../store/store.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { retryWrite } from "../async/retry.ts";

export interface RedactionParts {
  readonly store: Pick<Store, "people" | "quotes">;
  readonly waker: Pick<Waker, "changed" | "doubt" | "memoriesGone">;
  readonly digesterOf: (channel: ChannelRow) => Digester;
}

/** Messages per transaction: other writers to the channel wait for it. */
export const REDACTED_AT_ONCE = 100;

/**
 * Blanks all messages of a person in one channel, in bounded batches, each one transaction: a later failure undoes no batch,
 * and a repetition continues.
 * @param mayGoOn called before each batch
 * @returns `isDone`: nothing of theirs is left there
 */
export async function redactPerson(
  parts: RedactionParts,
  channel: ChannelRow,
  person: string,
  mayGoOn: () => boolean,
) {
  let messages = 0;
  let memories = 0;
  await parts.store.people.leaveChoices(channel.address.platform, person, channel.id);
  await removeQuotes(parts, channel, { person });
  while (mayGoOn()) {
    const ids = await parts.store.people.messagesIn(channel.id, person, REDACTED_AT_ONCE);
    if (ids.length === 0) return { messages, memories, isDone: true };
    const redacted = await redactMessages(parts, channel, ids);
    messages += redacted.seqs.length;
    memories += redacted.memories;
  }
  return { messages, memories, isDone: false };
}

/** Blanks messages in the log, then in the memory of the channel's actor, like a deletion on the platform. */
export async function redactMessages(
  { store, waker, digesterOf }: RedactionParts,
  channel: ChannelRow,
  ids: readonly string[],
): Promise<Deleted> {
  if (ids.length === 0) return { seqs: [], memories: 0 };
  const digester = digesterOf(channel);
  return writeThrough(
    waker,
    channel.id,
    async () => store.people.blank(channel.id, ids, digester),
    // A turn that has read any of them has read the first.
    ({ seqs }) => (seqs.length > 0 ? [Math.min(...seqs), null] : null),
  );
}

/** Removes quotes from a channel, and from what its running turn reads. */
export async function removeQuotes(
  { store, waker, digesterOf }: RedactionParts,
  channel: ChannelRow,
  words: QuotedWords,
): Promise<void> {
  await writeThrough(
    waker,
    channel.id,
    async () => store.quotes.remove(channel.id, words, digesterOf(channel)),
    (seq) => (seq === undefined ? null : [seq, null]),
  );
}

/** A text that has changed, and its notice; null: there is no notice. */
type ChangedText = readonly [seq: Seq, notedSeq: Seq | null];

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
