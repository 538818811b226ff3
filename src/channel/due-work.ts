import { retryWrite } from "../async/retry.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { Appended } from "../store/log/message-rows.ts";
import type { Store } from "../store/store.ts";
import type { ChannelRegistry } from "./registry.ts";

/** Work of Weir's own that wants an answer in a channel: a reminder that is due, a subagent that has ended. */
export interface DueWork {
  /** As `isDueWork` knows it: the kind, and what tells this one from all others of its channel. */
  readonly id: string;
  /** What it is, as the model reads it: that a reminder of Ann has come due. */
  readonly title: string;
  readonly text: string;
  readonly at: Date;
}

/** Whose such messages are, for the log; the name of each says what it is. */
export const DUE_AUTHOR = { id: "weir", isBot: true } as const;

/** Puts work of Weir's own into a channel's log, and wakes the channel. */
export class DueWorkDesk {
  readonly #log: Pick<Store["log"], "appendMessage">;
  readonly #registry: ChannelRegistry;

  constructor({ log }: Pick<Store, "log">, registry: ChannelRegistry) {
    this.#log = log;
    this.#registry = registry;
  }

  /**
   * Appends it once, however often it is called. Resolves when it is in the log.
   * @throws WeirError if the log cannot be written
   */
  async add(channel: ChannelId, { id, title, text, at }: DueWork): Promise<Seq> {
    const author = { ...DUE_AUTHOR, name: title };
    const { result: appended } = await retryWrite(async () =>
      this.#log.appendMessage(channel, { id, author, text, at, addressed: true }),
    );
    this.announce(channel, appended);
    return appended.seq;
  }

  /** Tells a channel of work that stands in its log now. */
  announce(channel: ChannelId, appended: Appended): void {
    if (!appended.duplicate) void this.#registry.notify(channel, appended.entry, appended.turn);
    else if (appended.due) void this.#registry.remind(channel, appended.seq);
  }
}
