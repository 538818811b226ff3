import type { Logger } from "pino";
import { BoundedMap } from "../../core/bounded-map.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import type { InboundMessage } from "../../core/message.ts";
import { type Gap, PlatformError, type PlatformInbox } from "../platform.ts";
import type { ChatHistory } from "./history.ts";

export interface FirstContactParts {
  readonly inbox: Pick<PlatformInbox, "standing">;
  readonly history: Pick<ChatHistory, "background" | "isOwn" | "compare">;
  readonly log: Logger;
  /** Takes in what was found. Throws as the inbox does. */
  readonly receive: (message: InboundMessage) => Promise<unknown>;
}

/** Messages that a channel begins with which Weir has not seen before. */
const FIRST_MESSAGES = 50;
/** Channels that are remembered as known. */
const MAX_KNOWN = 10_000;

/** A channel that Weir sees for the first time begins with what was said in it before. */
export class FirstContact {
  readonly #parts: FirstContactParts;
  /** Channels that Weir has seen something of; one that was forgotten here costs a look into the log. */
  readonly #known = new BoundedMap<true>(MAX_KNOWN);

  constructor(parts: FirstContactParts) {
    this.#parts = parts;
  }

  /** The log has something of that channel. */
  learn(name: string): void {
    this.#known.set(name, true);
  }

  /**
   * To be called before a message is taken in.
   * @param gap what is missing of its channel and still comes: it is no background, for it may want an answer
   * @throws WeirError of the inbox
   */
  async meet(first: InboundMessage, gap: Gap | null): Promise<void> {
    const { inbox, history, log, receive } = this.#parts;
    const { name } = first.channel;
    if (this.#known.has(name) || first.isBackground === true) return;
    const { isBound, listens, isKnown } = await inbox.standing(first);
    if (!isBound) return;
    const isWanted = listens || (first.addressed && first.kind === "thread");
    if (!isKnown && isWanted) {
      try {
        const before = await history.background(first, first, listens ? FIRST_MESSAGES : 0);
        const isMissed = ({ id }: InboundMessage): boolean =>
          gap !== null &&
          !isRoot(first.channel, id) &&
          history.isOwn(first, id) &&
          history.compare(id, gap.afterId) > 0;
        for (const message of before)
          if (!isMissed(message)) await receive({ ...message, isBackground: true });
      } catch (error) {
        // It is context and no more: the message itself matters.
        if (!(error instanceof PlatformError)) throw error;
        log.warn({ channel: formatAddress(first.channel), why: error.message }, "background_not_fetched");
      }
    }
    if (isKnown || isWanted || first.addressed) this.learn(name);
  }
}

/** Of a thread: the message under which it stands is its parent's, also where it was missed. */
export function isRoot(thread: ChannelAddress, id: string): boolean {
  return id === thread.name;
}
