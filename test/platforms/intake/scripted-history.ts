import type { ChannelAddress } from "../../../src/core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../../src/core/message.ts";
import type {
  ChatHistory,
  HistoryMessage,
  HistoryPage,
  MaybeGap,
  NewestMessages,
} from "../../../src/platforms/intake/history.ts";
import { RateLimiter } from "../../../src/platforms/shared/rate-limiter.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";

export const HOME: ChannelOnPlatform = {
  channel: { platform: "chat", name: "room" },
  kind: "channel",
  workspace: "1",
};

/** A message whose id is its number. */
export function said(id: number, more: Partial<InboundMessage> = {}): InboundMessage {
  return {
    ...HOME,
    type: "message",
    id: String(id),
    author: { id: "u", name: "Ann", isBot: false },
    text: `text ${id}`,
    at: new Date(1_000_000 + id * 1000),
    addressed: false,
    ...more,
  };
}

/** A platform's past, as a test writes it. */
export class ScriptedHistory implements ChatHistory {
  readonly pageSize: number;
  rateLimiter = new RateLimiter(0);
  /** Oldest first. */
  messages: { readonly message: InboundMessage; readonly editedAt: Date | null }[] = [];
  /** Ids of the messages that were read, in that order. */
  readonly read: string[] = [];
  /** What the next calls fail with. */
  readonly failures: PlatformError[] = [];
  /** Calls wait for it. */
  pause: Promise<void> = Promise.resolve();
  readonly calls: string[] = [];
  /** Up to when the next page of a gap is hidden. */
  hiddenTo: Date | null = null;
  /** Of threads, where a test has some. */
  parentOf: (channel: ChannelAddress) => ChannelAddress | null = () => null;

  constructor(pageSize = 10) {
    this.pageSize = pageSize;
  }

  add(...ids: number[]): void {
    for (const id of ids) this.messages.push({ message: said(id), editedAt: null });
  }

  isDeleted(error: unknown): boolean {
    return error instanceof PlatformError && error.message === "deleted";
  }

  async newest({ afterId }: MaybeGap, limit: number, reach = limit): Promise<NewestMessages> {
    await this.#call("newest");
    const count = (most: number): boolean =>
      this.messages.length <= most ||
      this.compare(this.messages.at(-most)?.message.id ?? "", afterId ?? "") <= 0;
    const most = afterId === undefined || count(limit) ? limit : reach;
    return {
      messages: this.messages.slice(-most).map((one) => this.#page(one)),
      isAll: this.messages.length <= most,
    };
  }

  async inGap(
    gap: MaybeGap & { readonly afterId: string },
    untilId: string | null,
    limit: number,
  ): Promise<HistoryPage> {
    const page = await this.after(gap, gap.afterId, limit);
    const messages = page.filter(({ id }) => untilId === null || this.compare(id, untilId) < 0);
    const isEnd = page.length < limit || messages.length < page.length;
    const { hiddenTo } = this;
    this.hiddenTo = null;
    return { messages, throughId: messages.at(-1)?.id ?? gap.afterId, isEnd, ...(hiddenTo && { hiddenTo }) };
  }

  async after(_: ChannelOnPlatform, id: string, limit: number): Promise<readonly HistoryMessage[]> {
    await this.#call(`after ${id}`);
    return this.messages
      .filter(({ message }) => this.compare(message.id, id) > 0)
      .slice(0, limit)
      .map((one) => this.#page(one));
  }

  async background(
    _: ChannelOnPlatform,
    first: InboundMessage,
    limit: number,
  ): Promise<readonly InboundMessage[]> {
    await this.#call("background");
    const before = this.messages
      .map(({ message }) => message)
      .filter(({ id }) => this.compare(id, first.id) < 0);
    return limit === 0 ? [] : before.slice(-limit);
  }

  timeOf(id: string): Date {
    return new Date(1_000_000 + Number(id) * 1000);
  }

  idBefore(_: ChannelAddress, at: Date): string {
    return String((at.getTime() - 1_000_000) / 1000);
  }

  compare(a: string, b: string): number {
    return Number(a) - Number(b);
  }

  isOwn(): boolean {
    return true;
  }

  #page({ message, editedAt }: ScriptedHistory["messages"][number]): HistoryMessage {
    return {
      id: message.id,
      editedAt,
      read: async () => {
        this.read.push(message.id);
        return Promise.resolve(message);
      },
    };
  }

  async #call(name: string): Promise<void> {
    this.calls.push(name);
    this.rateLimiter.called();
    await this.pause;
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
  }
}
