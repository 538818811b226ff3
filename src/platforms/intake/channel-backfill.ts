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

/** Messages that a channel begins with which Weir has not seen before. */
const FIRST_MESSAGES = 50;
/** So much later than what was said behind it a mention may still come: platforms deliver again what did not go through, ms. */
const LATE_MS = 120_000;
/** Channels that are remembered as known. */
const MAX_KNOWN = 10_000;

/** A channel that Weir sees for the first time begins with what was said in it before. */
export class ChannelBackfill {
  readonly #parts: ChannelBackfillParts;
  /** Channels that Weir has seen something of; one that was forgotten here costs a look into the log. */
  readonly #known = new BoundedMap<true>(MAX_KNOWN);

  constructor(parts: ChannelBackfillParts) {
    this.#parts = parts;
  }

  /** The log has something of that channel. */
  markKnown(name: string): void {
    this.#known.set(name, true);
  }

  /**
   * To be called before a message that was heard is taken in.
   * @param gap what is missing of its channel and still comes: it is no background, for it may want an answer
   * @throws WeirError of the inbox
   */
  async fillBefore(first: InboundMessage, gap: Gap | null): Promise<void> {
    await this.#fill(first, gap, gap === null);
  }

  /**
   * The same before one that a catch-up brings: that begins behind what was heard, and brings what is late by itself.
   * @param gap of its channel; null: it is in order, and nothing before it is missing
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
        // It is context and no more: the message itself matters.
        if (!(error instanceof PlatformError)) throw error;
        log.warn({ channel: formatAddress(first.channel), why: error.message }, "background_not_fetched");
      }
    }
    if (isKnown || isWanted || first.addressed) this.markKnown(name);
  }

  /** It was said in the channel itself, behind that message. */
  #isBehind({ id }: InboundMessage, afterId: string, { channel, ...where }: InboundMessage): boolean {
    const { history } = this.#parts;
    return (
      !isRoot(channel, id) && history.isOwn({ channel, ...where }, id) && history.compare(id, afterId) > 0
    );
  }

  /**
   * Nobody has answered what was asked in a channel that the log knows nothing of. Where its own event is still to come, that
   * would find it in the log, and change nothing: so it is no background, and is read with its files.
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

/** Of a thread: the message under which it stands is its parent's, also where it was missed. */
export function isRoot(thread: ChannelAddress, id: string): boolean {
  return id === thread.name;
}
