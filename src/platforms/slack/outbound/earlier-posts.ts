import type { Logger } from "pino";
import type { OutboundMessage } from "../../../core/message.ts";
import { compareTs, messageId, parseMessageId, placeOf, PLATFORM_NAME } from "../address.ts";
import { messagePage, type SlackMessage } from "../inbound/payload.ts";
import { unescapeText } from "../inbound/readable-text.ts";
import { isOwn } from "../inbound/reader.ts";
import type { SlackApi } from "../web/api.ts";
import type { Names } from "../web/names.ts";
import { SlackError } from "../web/slack-error.ts";

/** Pages searched for an earlier attempt at a post. */
const MAX_PAGES = 10;

/** What this process knows of a text that may be there. */
interface Sought {
  readonly message: OutboundMessage;
  /** As it would be posted. */
  readonly text: string;
  /** Ids of messages that are other texts. */
  readonly others: ReadonlySet<string | null>;
  /** The post to keep, if known. */
  readonly known?: string;
}

/**
 * An earlier attempt at a post: found by its key; or by its text if Slack returns no key; or as a stream that was cut off, which
 * has no key yet.
 */
export interface Found {
  readonly id: string;
  readonly by: "key" | "text" | "stream";
}

/** Looks for messages of the bot's whose id was lost. */
export class EarlierPosts {
  readonly #parts: { readonly api: SlackApi; readonly names: Names; readonly log: Logger };

  constructor(parts: { readonly api: SlackApi; readonly names: Names; readonly log: Logger }) {
    this.#parts = parts;
  }

  /**
   * The bot's messages with this text, after those it answers: one, or all if `known` is given. Those with its key come first.
   * @throws SlackError
   */
  async find(sought: Sought): Promise<Found[]> {
    const { message, known } = sought;
    const { channel, threadTs } = placeOf(message.channel);
    // A person's id takes posts, and has no history: rather said twice than never.
    if (/^[UW]/.test(channel)) return [];
    const oldest = newestTs(message.inReplyTo, channel);
    const match = await this.#matcher(sought);
    const found: Found[] = [];
    const args = {
      channel,
      include_all_metadata: true,
      limit: 200,
      ...(oldest !== null && { oldest, inclusive: false }),
      ...(threadTs !== null && { ts: threadTs }),
    };
    const method = threadTs === null ? "conversations.history" : "conversations.replies";
    let cursor = "";
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.#look(method, { ...args, ...(cursor !== "" && { cursor }) });
      found.push(...(answer?.messages ?? []).flatMap((one) => match(one) ?? []));
      cursor = answer?.response_metadata?.next_cursor ?? "";
      if (cursor === "" || (found.length > 0 && known === undefined)) break;
    }
    return found.toSorted((a, b) => Number(b.by === "key") - Number(a.by === "key"));
  }

  /** Whether a message of a thread was begun as a stream, by Slack. */
  async isStream(id: string, message: OutboundMessage): Promise<boolean> {
    const { channel, threadTs } = placeOf(message.channel);
    const ts = parseMessageId(id)?.ts;
    if (threadTs === null || ts === undefined) return false;
    const args = { channel, ts: threadTs, oldest: ts, latest: ts, inclusive: true, limit: 2 };
    const page = await this.#look("conversations.replies", args);
    return page?.messages.some((one) => one.ts === ts && one.streaming_state != null) === true;
  }

  async #matcher({ message, text, others, known }: Sought): Promise<(one: SlackMessage) => Found | null> {
    const bot = await this.#parts.names.bot();
    const { channel, threadTs } = placeOf(message.channel);
    const whole = unescapeText(text).trim();
    const { file } = message;
    return (one) => {
      if (!isOwn(one, bot)) return null;
      const key = one.metadata?.event_payload?.key;
      const id = messageId(channel, one.ts);
      if (file !== undefined) {
        const isIt = one.files.some(({ name, size }) => name === file.name && size === file.bytes.length);
        return isIt && (id === known || !others.has(id)) ? { id, by: "text" } : null;
      }
      if (key !== undefined || id === known)
        return id === known || key === message.idempotencyKey ? { id, by: "key" } : null;
      if (others.has(id)) return null;
      // A thread has one unfinished answer at a time.
      const isCutOff = message.mayBeInPart === true && one.ts !== threadTs && isOpenStream(one);
      if (isCutOff) return { id, by: "stream" };
      const there = unescapeText(one.text ?? "").trim();
      const isPiece = message.mayBeInPart === true && there !== "" && whole.startsWith(there);
      return there === whole || isPiece ? { id, by: "text" } : null;
    };
  }

  /** An app without the history scopes must still answer. */
  async #look(
    method: string,
    args: Record<string, unknown>,
  ): Promise<ReturnType<typeof messagePage.parse> | null> {
    try {
      return await this.#parts.api.call(method, args, messagePage);
    } catch (error) {
      if (!(error instanceof SlackError && error.code === "missing_scope")) throw error;
      this.#parts.log.warn({ platform: PLATFORM_NAME, needed: error.needed }, "earlier_post_not_looked_for");
      return null;
    }
  }
}

function isOpenStream({ streaming_state: state }: SlackMessage): boolean {
  return state != null && state !== "completed";
}

/** The newest of the messages answered, in the answer's channel. */
function newestTs(ids: readonly string[], channel: string): string | null {
  const all = ids.flatMap((id) => {
    const parsed = parseMessageId(id);
    return parsed === null || parsed.channel !== channel ? [] : [parsed.ts];
  });
  return all.toSorted(compareTs).at(-1) ?? null;
}
