import type { Logger } from "pino";
import { BoundedMap } from "../../async/bounded-map.ts";
import { type ChannelAddress, formatAddress } from "../../core/ids.ts";
import type { InboundMessage } from "../../core/message.ts";
import { type Gap, PlatformError, type CatchUpLedger } from "../platform.ts";
import type { ChatHistory } from "./history.ts";

interface ChannelBackfillParts {
  readonly ledger: Pick<CatchUpLedger, "policyOf">;
  readonly history: Pick<ChatHistory, "background" | "after" | "idBefore" | "isOwn" | "compare" | "pageSize">;
  readonly log: Logger;
  /** Stores a found message. Throws as the inbox does. */
  readonly receive: (message: InboundMessage) => Promise<unknown>;
}

/** Earlier messages fetched for a new channel. */
const FIRST_MESSAGES = 50;
/** How long after later messages a mention may still arrive, ms: platforms retry failed deliveries. */
const LATE_MS = 120_000;
const MAX_KNOWN = 10_000;

/** On first contact with a channel, hands in the channel's earlier messages. */
export class ChannelBackfill {
  readonly #parts: ChannelBackfillParts;
  /** Channels that need no backfill. For any other channel, the log is asked. */
  readonly #known = new BoundedMap<true>(MAX_KNOWN);

  constructor(parts: ChannelBackfillParts) {
    this.#parts = parts;
  }

  /** The log has messages of this channel. */
  markKnown(name: string): void {
    this.#known.set(name, true);
  }

  /**
   * Hands in a channel's background before a received message is stored.
   * @param gap the channel's open gap: its messages come later, not as background: they may need an answer
   * @param mayBeLate other messages may still arrive; a catch-up brings them itself
   * @throws WeirError of the inbox or the ledger
   */
  async fillBefore(first: InboundMessage, gap: Gap | null, mayBeLate: boolean): Promise<void> {
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
   * Reads recent questions of a channel unknown to the log, with their files. They are unanswered, and their
   * own events may arrive later. A question in the log as background would cause no turn, so it is handed in
   * as a message.
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
