import { type Backoff, backoffMs } from "../../async/backoff.ts";
import PQueue from "p-queue";
import { errorMessage } from "../../core/errors.ts";
import type { InboundEvent } from "../../core/message.ts";
import { type Gap, PlatformError, type CatchUpLedger } from "../platform.ts";
import { aged, type Backlog, type CatchUpParts, handIn, named, noteLost, openThreads } from "./catch-up.ts";
import type { HistoryMessage, HistoryPage } from "./history.ts";
import type { PlatformRetry } from "../shared/platform-retry.ts";

export interface BacklogsParts extends Pick<CatchUpParts, "history" | "log" | "openThread"> {
  readonly ledger: Pick<
    CatchUpLedger,
    | "advanceGap"
    | "closeGap"
    | "newestMessageIds"
    | "isCrowded"
    | "keepGap"
    | "hasMessage"
    | "noteAbsence"
    | "policyOf"
  >;
  readonly platformRetry: PlatformRetry;
  readonly catchUpMaxAgeMs: number;
  /** First and longest delay before a failed page request is retried. */
  readonly backOff?: Backoff | undefined;
  readonly signal: AbortSignal;
  /** Stores a message found in a gap. Throws as the inbox does. */
  readonly receive: (gap: Gap, event: InboundEvent) => Promise<void>;
  /** Resolves when the running catch-up of a channel's newest messages has ended; null: none is running. */
  readonly catchUpOf: (name: string) => Promise<void> | null;
  /** Called with the name of each channel whose backlog was read to its end. */
  readonly onFilled: (name: string) => void;
}

/** Pages read concurrently, over all channels. */
const READERS = 2;
/** Messages handed in before the progress is stored and `isCrowded` is checked again. */
const CHUNK = 25;
/** How long a channel that is being summarised gets no messages, and how often that is checked, ms. */
const CROWDED_FOR_MS = 60_000;
const LOOK_EVERY_MS = 25;
const BACK_OFF = { fromMs: 500, toMs: 60_000 };

/** A long gap that is read from its beginning. */
interface OpenBacklog {
  readonly gap: Gap;
  /** When the gap was found. */
  readonly asOf: Date;
  /** The id of the message after which the gap now begins. */
  afterId: string;
  end: Backlog;
  /** The rest of the last page, still to be handed in; null: the next page must be requested. */
  page: HistoryPage | null;
  /** The end of the gap when the page was requested. */
  pageEnd: Backlog;
  read: number;
  crowdedSince: number | null;
  failures: number;
  /** A wait before the next turn; null: none. */
  pause: Promise<unknown> | null;
  isDropped: boolean;
  /** Resolves when the record of the gap is closed. */
  closing: Promise<void>;
}

type Outcome = "filled" | "more" | "left";

/**
 * Reads long gaps page by page, from their beginning on, while new messages arrive. Channels alternate page
 * by page, and each page asks the rate limiter first, so that no backlog delays another backlog or an event.
 * The progress is stored; after a crash, reading resumes there. A channel whose summaries lag gets no
 * messages for a while: otherwise old messages would push new ones out of the view.
 */
export class Backlogs {
  readonly #parts: BacklogsParts;
  readonly #open = new Map<string, OpenBacklog>();
  readonly #readers = new PQueue({ concurrency: READERS });
  #changed = Promise.withResolvers<void>();

  constructor(parts: BacklogsParts) {
    this.#parts = parts;
  }

  /** The id of the message after which a channel's backlog now begins; null: the channel has no backlog. */
  beginning(name: string): string | null {
    return this.#open.get(name)?.afterId ?? null;
  }

  /** Resolves when no record of the channel's gap is being closed. */
  async settled(name: string): Promise<void> {
    await this.#open.get(name)?.closing.catch(() => undefined);
  }

  /** Starts reading a recorded gap. If the gap is being read already, only updates its end. */
  begin(gap: Gap, end: Backlog, asOf: Date): void {
    const { name } = gap.channel;
    const known = this.#open.get(name);
    if (known !== undefined) {
      known.end = end;
      return;
    }
    const { afterId } = gap;
    const open: OpenBacklog = {
      gap,
      asOf,
      afterId,
      end,
      page: null,
      pageEnd: end,
      read: 0,
      crowdedSince: null,
      failures: 0,
      pause: null,
      isDropped: false,
      closing: Promise.resolve(),
    };
    this.#open.set(name, open);
    const { log, history } = this.#parts;
    const from = history.timeOf(afterId);
    log.warn({ ...named(gap), from, until: end.until }, "backlog_begun");
    this.#enqueue(open);
  }

  /** Ends a backlog whose messages a catch-up has brought. */
  drop(name: string): void {
    const open = this.#open.get(name);
    if (open !== undefined) this.#end(open);
  }

  /** Resolves when no backlog is being read. */
  async idle(): Promise<void> {
    while (this.#open.size > 0 && !this.#parts.signal.aborted) await this.#changed.promise;
  }

  /** Ends all reading. The rest of each gap stays recorded. */
  close(): void {
    this.#readers.clear();
    this.#change();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  #end(open: OpenBacklog): void {
    open.isDropped = true;
    if (this.#open.get(open.gap.channel.name) === open) this.#open.delete(open.gap.channel.name);
    this.#change();
  }

  #enqueue(open: OpenBacklog): void {
    void this.#readers.add(async () => this.#turn(open)).catch(() => undefined);
  }

  /** Must not throw. */
  async #turn(open: OpenBacklog): Promise<void> {
    if (open.isDropped || this.#parts.signal.aborted) return;
    const outcome = await this.#step(open).catch((error: unknown) => this.#failed(open, error));
    if (outcome !== "more" || open.isDropped) return this.#end(open);
    const { pause } = open;
    open.pause = null;
    if (pause === null) return this.#enqueue(open);
    // Other channels have their turn meanwhile.
    void pause.then(() => this.#enqueue(open));
  }

  async #failed(open: OpenBacklog, error: unknown): Promise<Outcome> {
    const { ledger, history, log, platformRetry, backOff = BACK_OFF } = this.#parts;
    const isGone = error instanceof PlatformError && !error.retryable;
    log.warn({ ...named(open.gap), why: errorMessage(error), isGone }, "backlog_failed");
    const retryAfterMs = error instanceof PlatformError ? error.retryAfterMs : undefined;
    const waitMs = retryAfterMs ?? backoffMs(backOff, open.failures);
    open.pause = platformRetry.pause(waitMs);
    open.failures += 1;
    // A part of the page may be in the log, so the page is requested again.
    open.page = null;
    if (!isGone) return "more";
    if (history.isDeleted(error)) await ledger.closeGap(open.gap.channel).catch(() => undefined);
    return "left";
  }

  /** Reads and hands in one page. */
  async #step(open: OpenBacklog): Promise<Outcome> {
    let page: HistoryPage = open.page ?? (await this.#nextPage(open));
    while (page.messages.length > 0) {
      open.page = page;
      if (this.#isCrowded(open)) {
        open.pause = this.#parts.platformRetry.pause(LOOK_EVERY_MS);
        return "more";
      }
      const rest: HistoryPage = { ...page, messages: page.messages.slice(CHUNK) };
      await this.#handIn(open, page.messages.slice(0, CHUNK), rest);
      if (open.isDropped || this.#parts.signal.aborted) return "left";
      page = rest;
    }
    open.page = null;
    open.failures = 0;
    if (page.throughId !== open.afterId) await this.#advance(open, page.throughId, 0, null);
    if (!page.isEnd) return "more";
    // A running catch-up of the newest messages moves the end of the gap, and needs its record until then.
    open.pause = this.#parts.catchUpOf(open.gap.channel.name);
    return open.pause === null && open.pageEnd === open.end ? this.#fill(open) : "more";
  }

  async #nextPage(open: OpenBacklog): Promise<HistoryPage> {
    const { history, platformRetry } = this.#parts;
    const waitMs = history.rateLimiter?.ask() ?? 0;
    if (waitMs > 0) await platformRetry.pause(waitMs);
    const gap = { ...open.gap, afterId: open.afterId };
    open.pageEnd = open.end;
    const page = await history.inGap(gap, open.end.untilId, history.pageSize);
    if (page.hiddenTo !== undefined) await noteLost(this.#parts, gap, page.hiddenTo);
    await openThreads(this.#parts, gap, page.threads);
    return page;
  }

  /** True: the channel is being summarised and must wait. Until that ends, it gets one chunk a minute. */
  #isCrowded(open: OpenBacklog): boolean {
    if (!this.#parts.ledger.isCrowded(open.gap)) {
      open.crowdedSince = null;
      return false;
    }
    open.crowdedSince ??= performance.now();
    if (performance.now() - open.crowdedSince < CROWDED_FOR_MS) return true;
    open.crowdedSince = performance.now();
    return false;
  }

  async #handIn(open: OpenBacklog, messages: readonly HistoryMessage[], rest: HistoryPage): Promise<void> {
    const { catchUpMaxAgeMs: maxAgeMs, receive, signal } = this.#parts;
    let readTo: Date | null = null;
    await handIn(messages, async (message) => {
      readTo = message.at;
      await receive(open.gap, aged({ asOf: open.asOf, maxAgeMs }, message));
    });
    if (open.isDropped || signal.aborted) return;
    open.read += messages.length;
    const toId = rest.messages.length === 0 ? rest.throughId : messages.at(-1)?.id;
    await this.#advance(open, toId ?? open.afterId, messages.length, readTo);
  }

  async #advance(open: OpenBacklog, toId: string, read: number, readTo: Date | null): Promise<void> {
    const { end, gap, afterId: fromId } = open;
    const untilId = end.untilId ?? toId;
    await this.#parts.ledger.advanceGap(gap.channel, {
      fromId,
      toId,
      read,
      readTo,
      until: end.until,
      untilId,
    });
    open.afterId = toId;
  }

  async #fill(open: OpenBacklog): Promise<Outcome> {
    const { ledger, log, onFilled } = this.#parts;
    const { name } = open.gap.channel;
    // A catch-up that begins meanwhile waits for `closing`, so that its own record of a gap stays.
    open.closing = ledger.closeGap(open.gap.channel);
    await open.closing;
    log.info({ ...named(open.gap), messages: open.read }, "backlog_read");
    onFilled(name);
    return "filled";
  }
}
