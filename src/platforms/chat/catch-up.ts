import type { InboundEvent, InboundMessage } from "../../core/message.ts";
import type { Gap, PlatformInbox } from "../platform.ts";
import type { ChatHistory, HistoryMessage, NewestMessages } from "./history.ts";

export interface CatchUpParts {
  readonly inbox: Pick<PlatformInbox, "held">;
  /** Takes in what was found. Throws as the inbox does. */
  readonly receive: (event: InboundEvent) => Promise<unknown>;
  readonly history: ChatHistory;
  readonly now: () => Date;
  /** What is older is context, and not answered any more. */
  readonly maxAgeMs: number;
}

/** Messages of one gap that are fetched; of a longer one these and the newest page. */
const MAX_MESSAGES = 1000;
/** Messages that are read, with their files, at a time. */
const READ_AHEAD = 4;
/** Messages of the log that are compared with the platform. */
const MAX_COMPARED = 200;

/** What a catch-up brought. */
export interface CaughtUp {
  readonly messages: number;
  /** False: more was said than is fetched. */
  readonly isWhole: boolean;
}

/**
 * Hands in what was said, changed and taken back in a channel while nobody listened, in the platform's order. All of it
 * is idempotent: what the log has already changes nothing.
 * @throws PlatformError, and WeirError of the inbox
 */
export async function catchUp(parts: CatchUpParts, gap: Gap): Promise<CaughtUp> {
  const { inbox, history, receive } = parts;
  const newest = await history.newest(gap, history.pageSize);
  const { pages, isWhole } = await missed(history, gap, newest);
  for await (const { message } of readInOrder(pages)) await receive(aged(parts, message));
  const edited = newest.messages.filter(({ editedAt }) => editedAt !== null);
  for await (const { message, editedAt } of readInOrder(edited)) {
    const { id, text } = message;
    await receive({ type: "edit", platform: gap.channel.platform, id, text, at: editedAt ?? parts.now() });
  }
  const held = await inbox.held(gap.channel, MAX_COMPARED);
  for (const id of gone(history, gap, newest, held)) {
    await receive({ type: "deletion", platform: gap.channel.platform, id, at: parts.now() });
  }
  return { messages: pages.length, isWhole };
}

/** Most gaps are shorter than the newest page, and cost one call. */
async function missed(
  history: ChatHistory,
  gap: Gap,
  { messages: newest, isAll, isBlank = false }: NewestMessages,
): Promise<{ readonly pages: readonly HistoryMessage[]; readonly isWhole: boolean }> {
  const isAfter = (message: HistoryMessage, id: string): boolean => history.compare(message.id, id) > 0;
  const first = newest[0];
  if (isBlank) return { pages: [], isWhole: false };
  if (isAll || (first !== undefined && history.compare(first.id, gap.afterId) <= 0))
    return { pages: newest.filter((one) => isAfter(one, gap.afterId)), isWhole: true };
  const pages: HistoryMessage[] = [];
  let afterId = gap.afterId;
  while (pages.length < MAX_MESSAGES) {
    const page = await history.after(gap, afterId, history.pageSize);
    pages.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < history.pageSize) return { pages, isWhole: true };
    afterId = last.id;
  }
  const rest = newest.filter((one) => isAfter(one, afterId));
  return {
    pages: [...pages, ...rest],
    isWhole: first !== undefined && history.compare(afterId, first.id) >= 0,
  };
}

interface ReadMessage {
  readonly message: InboundMessage;
  readonly editedAt: Date | null;
}

/** Each is read shortly before it is wanted: a few at a time, however many pictures there are. */
async function* readInOrder(messages: readonly HistoryMessage[]): AsyncGenerator<ReadMessage> {
  const ahead: Promise<ReadMessage>[] = [];
  for (let next = 0; next < messages.length || ahead.length > 0;) {
    const message = messages[next];
    if (message !== undefined && ahead.length < READ_AHEAD) {
      next += 1;
      const reading = message.read().then((read) => ({ message: read, editedAt: message.editedAt }));
      // Where one before it fails, nobody waits for it.
      reading.catch(() => undefined);
      ahead.push(reading);
      continue;
    }
    const first = ahead.shift();
    if (first !== undefined) yield await first;
  }
}

function aged({ now, maxAgeMs }: CatchUpParts, message: InboundMessage): InboundEvent {
  const isOld = now().getTime() - message.at.getTime() > maxAgeMs;
  return isOld ? { ...message, isBackground: true } : message;
}

/** What the log holds, of the time that the newest page spans, and the platform has no more. Pure. */
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
