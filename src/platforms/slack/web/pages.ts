import { RateLimiter } from "../../shared/rate-limiter.ts";
import type { SlackApi } from "./api.ts";
import { type MessagePage, messagePage, type SlackMessage } from "../inbound/payload.ts";

const MAX_PAGES = 10;

interface Pages {
  readonly messages: readonly SlackMessage[];
  /** The range has no other messages, neither on a further page nor hidden by Slack. */
  readonly isAll: boolean;
  /** False: there are further pages. */
  readonly isEnd: boolean;
  /** Slack's plan hides older messages. */
  readonly isLimited: boolean;
}

/** Reads the messages of channels and threads, page by page. */
export class PageReader {
  readonly rateLimiter: RateLimiter;
  readonly #api: SlackApi;

  /** @param everyMs average time between calls, ms */
  constructor(api: SlackApi, everyMs: number) {
    this.#api = api;
    this.rateLimiter = new RateLimiter(everyMs);
  }

  /** Follows the cursors until `enough` messages or the end. */
  async read(
    method: "conversations.history" | "conversations.replies",
    args: Readonly<Record<string, unknown>>,
    enough = Number.POSITIVE_INFINITY,
  ): Promise<Pages> {
    const messages: SlackMessage[] = [];
    let isLimited = false;
    let page: MessagePage | null = null;
    for (let count = 0; count < MAX_PAGES; count++) {
      const cursor: string = page?.response_metadata?.next_cursor ?? "";
      this.rateLimiter.called();
      page = await this.#api.call(method, { ...args, ...(cursor !== "" && { cursor }) }, messagePage);
      messages.push(...page.messages);
      isLimited ||= page.is_limited === true;
      if (page.has_more !== true) return { messages, isAll: !isLimited, isEnd: true, isLimited };
      if ((page.response_metadata?.next_cursor ?? "") === "") break;
      if (messages.length >= enough) break;
    }
    return { messages, isAll: false, isEnd: false, isLimited };
  }
}
