import type { Logger } from "pino";
import { formatAddress } from "../../core/ids.ts";
import type { InboundEvent, InboundMessage } from "../../core/message.ts";
import type { Gap, CatchUpLedger } from "../platform.ts";
import { askingIfNew, editOf } from "./asking-edits.ts";
import type { ChatHistory, HistoryMessage, NewestMessages, ActiveThread } from "./history.ts";

export interface CatchUpParts {
  readonly ledger: Pick<
    CatchUpLedger,
    "newestMessageIds" | "keepGap" | "hasMessage" | "noteAbsence" | "policyOf"
  >;
  /** Stores a found event. Throws as the inbox does. */
  readonly receive: (event: InboundEvent) => Promise<unknown>;
  readonly history: ChatHistory;
  readonly log: Logger;
  readonly now: () => Date;
  /** When the gap was found. Messages older than `maxAgeMs` by then are context and are not answered. */
  readonly asOf: Date;
  readonly maxAgeMs: number;
  /** The gap is already being read as a backlog, which moves its record. */
  readonly isOnRecord: boolean;
  /** Starts filling a thread's recorded gap. */
  readonly openThread: (gap: Gap) => void;
}

/**
 * A gap of at most this many messages is filled in order, while new messages wait. A longer gap: newest page
 * first.
 */
const MAX_IN_ORDER = 500;
/** Messages read (with their files) concurrently, and messages handed in together. */
const READ_AHEAD = 4;
const TOGETHER = 25;
/** Messages in the log compared with the platform's. */
const MAX_COMPARED = 200;

/** The part of a gap that is still to be read: everything before the newest page. */
export interface Backlog {
  /** The message before which the backlog ends; null: there is none. */
  readonly untilId: string | null;
  readonly until: Date;
}

interface CaughtUp {
  readonly messages: number;
  /** Null: the gap is filled. */
  readonly backlog: Backlog | null;
}

/**
 * Hands in the messages, edits and deletions of a channel that were missed while the bot was offline, in the
 * platform's order. Of a long gap it brings only the newest page, records the gap, and notes in the log that
 * messages are missing. Idempotent: messages already in the log change nothing.
 * @throws PlatformError, and WeirError of the inbox
 */
export async function catchUp(parts: CatchUpParts, gap: Gap): Promise<CaughtUp> {
  const { ledger, history, receive } = parts;
  const newest = await history.newest(gap, history.pageSize, Math.max(history.pageSize, MAX_IN_ORDER));
  if (newest.isBlank === true) return blank(parts, gap, newest);
  const missed = newest.messages.filter((one) => history.compare(one.id, gap.afterId) > 0);
  const backlog = isWhole(history, gap, newest) ? null : await leaveOpen(parts, gap, missed);
  await openThreads(parts, gap, newest.threads);
  await handIn(missed, async (message) => receive(aged(parts, message)));
  const edited = newest.messages.filter(({ editedAt }) => editedAt !== null);
  // An edit from before the gap was heard.
  const from = Math.max(parts.asOf.getTime() - parts.maxAgeMs, history.timeOf(gap.afterId).getTime());
  for await (const { message, editedAt } of readInOrder(edited)) {
    await receive(askingIfNew(editOf(message, editedAt ?? parts.now()), from));
  }
  const held = await ledger.newestMessageIds(gap.channel, MAX_COMPARED);
  for (const id of gone(history, gap, newest, held)) {
    await receive({ type: "deletion", platform: gap.channel.platform, id, at: parts.now() });
  }
  return { messages: missed.length, backlog };
}

/** The platform shows no messages: either there are none, or the bot may not read them. */
async function blank(parts: CatchUpParts, gap: Gap, { lastId = null }: NewestMessages): Promise<CaughtUp> {
  const { history } = parts;
  if (lastId !== null && history.compare(lastId, gap.afterId) > 0)
    await noteLost(parts, gap, history.timeOf(lastId));
  return { messages: 0, backlog: null };
}

function isWhole(history: ChatHistory, gap: Gap, { messages: [first], isAll }: NewestMessages): boolean {
  return isAll || (first !== undefined && history.compare(first.id, gap.afterId) <= 0);
}

/** Records a gap before later messages are handed in: otherwise earlier ones are never fetched. */
async function leaveOpen(
  parts: CatchUpParts,
  gap: Gap,
  [first]: readonly HistoryMessage[],
): Promise<Backlog> {
  const { ledger, history } = parts;
  const until = first === undefined ? parts.asOf : history.timeOf(first.id);
  if (!parts.isOnRecord) await ledger.keepGap(gap);
  // If the log has the newest page's first message, the note is there already. An empty page needs none.
  const isNews =
    first !== undefined && !(await ledger.hasMessage(gap.channel, first.id)) && (await isRead(parts, gap));
  const from = history.timeOf(gap.afterId);
  if (isNews) await ledger.noteAbsence(gap, `absence/late/${gap.afterId}`, { kind: "late", from, to: until });
  return { untilId: first?.id ?? null, until };
}

/** True: unaddressed messages are stored, too. */
async function isRead({ ledger }: CatchUpParts, gap: Gap): Promise<boolean> {
  const { listens, answersAll } = await ledger.policyOf(gap);
  return listens || answersAll || gap.kind !== "channel";
}

/** Notes in the log that messages after the beginning of a gap cannot be read, and tells the operator. */
export async function noteLost(
  { ledger, history, log }: Pick<CatchUpParts, "ledger" | "history" | "log">,
  gap: Gap,
  to: Date,
): Promise<void> {
  const from = history.timeOf(gap.afterId);
  await ledger.noteAbsence(gap, `absence/lost/${gap.afterId}`, { kind: "lost", from, to });
  log.warn({ ...named(gap), from, to }, "messages_not_readable");
}

/** The channel of a gap, for the log. */
export function named({ channel, place }: Gap) {
  return { channel: formatAddress(channel), name: place?.channel };
}

/** Opens a gap for each thread, unless the thread's last message is in the log. */
export async function openThreads(
  { ledger, openThread }: Pick<CatchUpParts, "ledger" | "openThread">,
  { afterId }: Gap,
  threads: readonly ActiveThread[] = [],
): Promise<void> {
  for (const { latestId, ...thread } of threads) {
    if (await ledger.hasMessage(thread.channel, latestId)) continue;
    if (!(await ledger.policyOf(thread)).isBound) continue;
    const gap = { ...thread, afterId };
    await ledger.keepGap(gap);
    openThread(gap);
  }
}

/**
 * Hands messages in, in order. Plain messages go in batches, since a batch is one commit.
 * @throws PlatformError, and errors of `receive`
 */
export async function handIn(
  messages: readonly HistoryMessage[],
  receive: (message: InboundMessage) => Promise<unknown>,
): Promise<void> {
  let together: InboundMessage[] = [];
  const flush = async (): Promise<void> => {
    const outcomes = await Promise.allSettled(together.map(receive));
    together = [];
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  };
  for await (const { message } of readInOrder(messages)) {
    const { addressed, images, kind } = message;
    // Other messages take longer to store, and would be overtaken by later ones.
    const isPlain = !addressed && images === undefined && kind !== "thread";
    if (isPlain) together.push(message);
    if (!isPlain || together.length >= TOGETHER) await flush();
    if (!isPlain) await receive(message);
  }
  await flush();
}

interface ReadMessage {
  readonly message: InboundMessage;
  readonly editedAt: Date | null;
}

/** Reads each message shortly before it is needed, a few at a time, so that few pictures are in memory at once. */
async function* readInOrder(messages: readonly HistoryMessage[]): AsyncGenerator<ReadMessage> {
  const ahead: Promise<ReadMessage>[] = [];
  for (let next = 0; next < messages.length || ahead.length > 0;) {
    const message = messages[next];
    if (message !== undefined && ahead.length < READ_AHEAD) {
      next += 1;
      const reading = message.read().then((read) => ({ message: read, editedAt: message.editedAt }));
      // If an earlier read fails, nobody awaits this promise.
      reading.catch(() => undefined);
      ahead.push(reading);
      continue;
    }
    const first = ahead.shift();
    if (first !== undefined) yield await first;
  }
}

export function aged(
  { asOf, maxAgeMs }: Pick<CatchUpParts, "asOf" | "maxAgeMs">,
  message: InboundMessage,
): InboundMessage {
  const isOld = asOf.getTime() - message.at.getTime() > maxAgeMs;
  return isOld ? { ...message, isBackground: true } : message;
}

/** The log's messages within the newest page's time that are no longer on the platform. Pure. */
function gone(
  history: ChatHistory,
  gap: Gap,
  { messages, isAll }: NewestMessages,
  held: readonly string[],
): string[] {
  const there = new Set(messages.map(({ id }) => id));
  const first = messages[0];
  return held.filter((id) => {
    if (there.has(id) || !history.isOwn(gap, id)) return false;
    const isSpanned = isAll || (first !== undefined && history.compare(id, first.id) > 0);
    return isSpanned && history.compare(id, gap.afterId) <= 0;
  });
}
