import { retryWrite } from "../async/retry.ts";
import type { AgentId, ChannelId, Seq } from "../core/ids.ts";
import { OWN_AUTHOR } from "../core/message.ts";
import type { Digester } from "../store/compaction/extracts.ts";
import type { Store } from "../store/store.ts";
import type { Waker } from "./waker.ts";

/** A message of Weir that needs an answer in a channel: work that is due at a time, or that has ended. */
export interface DueWork {
  /** As `isDueWork` expects it: the kind, and a part that is unique in the channel. */
  readonly id: string;
  /** Describes it to the model, in place of a person's name. */
  readonly title: string;
  readonly text: string;
  readonly at: Date;
  /** The id of the person whose words it contains: it is deleted with that person's messages. Default: nobody's. */
  readonly by?: string;
  /** The agent that began it and answers it. Default: the channel's own, also if that agent no longer answers there. */
  readonly agent?: AgentId | undefined;
}

/** Appends due work of Weir to a channel's log, and wakes the channel. */
export class DueWorkDesk {
  readonly #log: Pick<Store["log"], "appendMessage" | "delete">;
  readonly #waker: Pick<Waker, "announce" | "changed">;

  constructor({ log }: Pick<Store, "log">, waker: Pick<Waker, "announce" | "changed">) {
    this.#log = log;
    this.#waker = waker;
  }

  /** Appends the work. Idempotent. Resolves when it is in the log. @throws WeirError if the log cannot be written */
  async add(channel: ChannelId, { id, title, text, at, by = OWN_AUTHOR, agent }: DueWork): Promise<Seq> {
    const author = { id: by, name: title, isBot: true };
    const message = { id, author, text, at, addressed: true, ...(agent !== undefined && { agent }) };
    const { result: appended } = await retryWrite(async () => this.#log.appendMessage(channel, message));
    this.#waker.announce(channel, appended);
    return appended.seq;
  }

  /** Deletes it like a person's message. @throws WeirError if the log cannot be written */
  async takeBack(channel: ChannelId, id: string, digester: Digester): Promise<void> {
    const { result: seq } = await retryWrite(async () => this.#log.delete(channel, id, digester));
    if (seq !== undefined) await this.#waker.changed(channel, seq, null);
  }
}
