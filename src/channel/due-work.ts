import { retryWrite } from "../async/retry.ts";
import type { AgentId, ChannelId, Seq } from "../core/ids.ts";
import { OWN_AUTHOR } from "../core/message.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { Appended } from "../store/log/message-rows.ts";
import type { Store } from "../store/store.ts";

/** Work of Weir's own that wants an answer in a channel: a reminder that is due, a subagent that has ended. */
export interface DueWork {
  /** As `isDueWork` knows it: the kind, and what tells this one from all others of its channel. */
  readonly id: string;
  /** What it is, as the model reads it: that a reminder of Ann has come due. */
  readonly title: string;
  readonly text: string;
  readonly at: Date;
  /** The id of the person whose words it has: it goes with everything that they have said. Default: it is nobody's. */
  readonly by?: string;
  /** Who answers it: the agent that has begun it. Default: the channel's own, as for one that answers there no more. */
  readonly agent?: AgentId | undefined;
}

/** Tells channels of what has changed in their logs. */
interface ChannelNews {
  announce(channel: ChannelId, appended: Appended): void;
  changed(channel: ChannelId, seq: Seq, notedSeq: Seq | null): Promise<void>;
}

/** Puts work of Weir's own into a channel's log, and wakes the channel. */
export class DueWorkDesk {
  readonly #log: Pick<Store["log"], "appendMessage" | "delete">;
  readonly #waker: ChannelNews;

  constructor({ log }: Pick<Store, "log">, waker: ChannelNews) {
    this.#log = log;
    this.#waker = waker;
  }

  /**
   * Appends it once, however often it is called. Resolves when it is in the log.
   * @throws WeirError if the log cannot be written
   */
  async add(channel: ChannelId, { id, title, text, at, by = OWN_AUTHOR, agent }: DueWork): Promise<Seq> {
    const author = { id: by, name: title, isBot: true };
    const message = { id, author, text, at, addressed: true, ...(agent !== undefined && { agent }) };
    const { result: appended } = await retryWrite(async () => this.#log.appendMessage(channel, message));
    this.#waker.announce(channel, appended);
    return appended.seq;
  }

  /** Takes it back, as a person takes a message back. @throws WeirError if the log cannot be written */
  async takeBack(channel: ChannelId, id: string, digester: Digester): Promise<void> {
    const { result: seq } = await retryWrite(async () => this.#log.delete(channel, id, digester));
    if (seq !== undefined) await this.#waker.changed(channel, seq, null);
  }
}
