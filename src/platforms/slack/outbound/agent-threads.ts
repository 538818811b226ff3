import type { Logger } from "pino";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { KeyedQueue } from "../../../async/keyed-queue.ts";
import { errorMessage } from "../../../core/errors.ts";
import { displayableLine } from "../../../text/displayable.ts";
import { sliceWhole } from "../../../text/text.ts";
import type { PlatformInbox } from "../../platform.ts";
import { PLATFORM_NAME } from "../address.ts";
import type { MessageReader } from "../inbound/reader.ts";
import type { SlackApi } from "../web/api.ts";
import { nothing } from "../web/names.ts";

interface AgentThreadsParts {
  readonly api: SlackApi;
  readonly reader: Pick<MessageReader, "person" | "where">;
  readonly inbox: Pick<PlatformInbox, "promptsFor">;
  readonly log: Logger;
}

const MAX_THREADS = 2000;
const MAX_TITLE = 60;
const UNTITLED = "A conversation";

export interface ThreadPlace {
  readonly channel: string;
  readonly threadTs: string;
}

/** A conversation's prompts and title, in the direct messages of an agent or an assistant. Best effort: nothing here throws. */
export class AgentThreads {
  readonly #parts: AgentThreadsParts;
  /** Of an assistant's threads, as `channel/ts`: the ts of the message that gave the title; null: none has. */
  readonly #titledBy = new BoundedMap<string | null>(MAX_THREADS);
  /** Deleted messages that gave a title, as `channel/ts`: they may be read only now. */
  readonly #deleted = new BoundedMap<true>(MAX_THREADS);
  /** By thread: Slack keeps the last title. */
  readonly #calls = new KeyedQueue();

  constructor(parts: AgentThreadsParts) {
    this.#parts = parts;
  }

  /** A person has opened the direct messages of an agent: the prompts stand above the next message. */
  opened(channel: string, user: string): void {
    void this.#suggest(channel, user, {});
  }

  /** A person has begun a thread with an assistant, without a message so far. */
  started(channel: string, threadTs: string, user: string): void {
    this.#titledBy.set(`${channel}/${threadTs}`, null);
    void this.#suggest(channel, user, { thread_ts: threadTs });
  }

  /** A person says or edits something in a thread: its first message is its title. */
  said({ channel, threadTs }: ThreadPlace, ts: string, text: string): void {
    if (!this.#isTitle(channel, threadTs, ts) || this.#deleted.has(`${channel}/${ts}`)) return;
    const line = displayableLine(text).trim();
    const title = line.length > MAX_TITLE ? `${sliceWhole(line, 0, MAX_TITLE - 1).trimEnd()}…` : line;
    if (title === "") return;
    if (ts !== threadTs) this.#titledBy.set(`${channel}/${threadTs}`, ts);
    void this.#call("setTitle", { channel_id: channel, thread_ts: threadTs, title });
  }

  /** A message was deleted: its words go from the title as well. */
  deleted({ channel, threadTs }: ThreadPlace, ts: string): void {
    if (!this.#isTitle(channel, threadTs, ts)) return;
    this.#deleted.set(`${channel}/${ts}`, true);
    void this.#call("setTitle", { channel_id: channel, thread_ts: threadTs, title: UNTITLED });
  }

  #isTitle(channel: string, threadTs: string, ts: string): boolean {
    if (ts === threadTs) return true;
    const by = this.#titledBy.get(`${channel}/${threadTs}`);
    return by === null || by === ts;
  }

  /** An agent's app must name no thread, or Slack ignores the call. */
  async #suggest(channel: string, user: string, thread: object): Promise<void> {
    const { reader, inbox, log } = this.#parts;
    try {
      const [where, person] = await Promise.all([
        reader.where({ channel, threadTs: null }),
        reader.person(user),
      ]);
      const prompts = inbox.promptsFor?.(where, person) ?? [];
      if (prompts.length === 0) return;
      await this.#call("setSuggestedPrompts", { channel_id: channel, ...thread, prompts });
    } catch (error) {
      log.debug({ platform: PLATFORM_NAME, why: errorMessage(error) }, "prompts_not_suggested");
    }
  }

  async #call(method: string, args: Record<string, unknown>): Promise<void> {
    const thread = `${String(args["channel_id"])}/${String(args["thread_ts"])}`;
    try {
      await this.#calls.add(thread, async () =>
        this.#parts.api.call(`assistant.threads.${method}`, args, nothing),
      );
    } catch (error) {
      this.#parts.log.debug({ platform: PLATFORM_NAME, method, why: errorMessage(error) }, "thread_not_set");
    }
  }
}
