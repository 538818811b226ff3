import type { Logger } from "pino";
import { BoundedMap } from "../../async/bounded-map.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import type { InboundMessage } from "../../core/message.ts";
import { type Gap, PlatformError, type CatchUpLedger } from "../platform.ts";
import type { ChatHistory } from "./history.ts";

export interface ChannelBackfillParts {
  readonly ledger: Pick<CatchUpLedger, "policyOf">;
  readonly history: Pick<ChatHistory, "background" | "after" | "idBefore" | "isOwn" | "compare" | "pageSize">;
  readonly log: Logger;
  /** Takes in what was found. Throws as the inbox does. */
  readonly receive: (message: InboundMessage) => Promise<unknown>;
}

/** Earlier messages with which a new channel begins. */
const FIRST_MESSAGES = 50;
/** How much later than its successors a mention may still arrive: platforms repeat failed deliveries, ms. */
const LATE_MS = 120_000;
/** Channels that are remembered as known. */
const MAX_KNOWN = 10_000;

/** Fills a channel that Weir sees for the first time with the messages that were said there before. */
export class ChannelBackfill {
  readonly #parts: ChannelBackfillParts;
  /** Channels that need no backfill. For a channel that is not remembered here, the log is asked. */
  readonly #known = new BoundedMap<true>(MAX_KNOWN);

  constructor(parts: ChannelBackfillParts) {
    this.#parts = parts;
  }

  /** The log has messages of this channel. */
  markKnown(name: string): void {
    this.#known.set(name, true);
  }

  /**
   * Hands in the background of a channel, before a message that was received there is stored.
   * @param gap the channel's open gap: its messages still come, and are no background, since they may need an answer
   * @throws WeirError of the inbox or the ledger
   */
  async fillBefore(first: InboundMessage, gap: Gap | null): Promise<void> {
    await this.#fill(first, gap, gap === null);
  }

  /**
   * The same before a message that a catch-up fetched. A catch-up brings late messages by itself.
   * @param gap the channel's gap; null: nothing before the message is missing
   */
  async fillBeforeFetched(first: InboundMessage, gap: Gap | null): Promise<void> {
    await this.#fill(first, gap, false);
  }

  async #fill(first: InboundMessage, gap: Gap | null, mayBeLate: boolean): Promise<void> {
    const { ledger, history, log, receive } = this.#parts;
    const { name } = first.channel;
    if (this.#known.has(name) || first.isBackground === true) return;
    const { isBound, listens, isKnown, answersAll } = await ledger.policyOf(first);
    if (!isBound) return;
    const isWanted = listens || (first.addressed && first.kind === "thread");
    if (!isKnown && isWanted) {
      try {
        const before = await history.background(first, first, listens ? FIRST_MESSAGES : 0);
        const background = before.filter((one) => gap === null || !this.#isBehind(one, gap.afterId, first));
        const isAsked = ({ addressed }: InboundMessage): boolean => addressed || answersAll;
        const late = mayBeLate ? await this.#readLate(background.filter(isAsked), first) : null;
        for (const one of background) await receive(late?.get(one.id) ?? { ...one, isBackground: true });
      } catch (error) {
        // The background is only context; the message itself is stored all the same.
        if (!(error instanceof PlatformError)) throw error;
        log.warn({ channel: formatAddress(first.channel), why: error.message }, "background_not_fetched");
      }
    }
    if (isKnown || isWanted || first.addressed) this.markKnown(name);
  }

  /** True: the message was said in the channel itself, after the message `afterId`. */
  #isBehind({ id }: InboundMessage, afterId: string, { channel, ...where }: InboundMessage): boolean {
    const { history } = this.#parts;
    return (
      !isRoot(channel, id) && history.isOwn({ channel, ...where }, id) && history.compare(id, afterId) > 0
    );
  }

  /**
   * Reads recent questions of a channel that the log does not know, with their files. They are unanswered, and their own events may
   * still come: those would find them in the log as background and cause no turn. So they are handed in as messages.
   * @throws PlatformError
   */
  async #readLate(
    asked: readonly InboundMessage[],
    first: InboundMessage,
  ): Promise<ReadonlyMap<string, InboundMessage>> {
    const { history } = this.#parts;
    const from = history.idBefore(first.channel, new Date(first.at.getTime() - LATE_MS));
    const late = new Set(asked.filter((one) => this.#isBehind(one, from, first)).map(({ id }) => id));
    if (late.size === 0) return new Map();
    const page = await history.after(first, from, history.pageSize);
    const read = await Promise.all(page.filter(({ id }) => late.has(id)).map(async (one) => one.read()));
    return new Map(read.map((one) => [one.id, one]));
  }
}

/** True: the message is the root of a thread. It belongs to the parent channel, even if it was missed there. */
export function isRoot(thread: ChannelAddress, id: string): boolean {
  return id === thread.name;
}
