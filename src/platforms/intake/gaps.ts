import type { Backoff } from "../../async/backoff.ts";
import PQueue from "p-queue";
import type { Logger } from "pino";
import { formatAddress } from "../../core/ids.ts";
import type { InboundEvent } from "../../core/message.ts";
import { type Gap, PlatformError } from "../platform.ts";
import { Backlogs, type BacklogsParts } from "./backlogs.ts";
import { type CatchUpParts, catchUp } from "./catch-up.ts";
import type { ChatHistory } from "./history.ts";
import type { Patience } from "../shared/patience.ts";

export interface GapsParts {
  readonly ledger: BacklogsParts["ledger"];
  readonly history: ChatHistory;
  readonly patience: Patience;
  readonly log: Logger;
  readonly catchUpMaxAgeMs: number;
  readonly now: () => Date;
  readonly backOff?: Backoff;
  /** How long later events of a channel wait for what was missed before them, ms. */
  readonly holdMs: number;
  readonly signal: AbortSignal;
  /** Takes in what was found of a gap. Throws as the inbox does. */
  readonly receive: (gap: Gap, event: InboundEvent) => Promise<void>;
  /** Told the name of each channel of which nothing is missing any more but what is on record. */
  readonly onFilled: (name: string) => void;
}

/** Catch-ups at a time: platforms allow some dozens of calls a second. */
const CATCH_UPS = 4;
/** Attempts at one channel's catch-up before others have their turn: it is tried again after the longest wait. */
const ATTEMPTS = 5;

/** A channel of which something may be missing. */
interface Gate {
  readonly gap: Gap;
  readonly foundAt: Date;
  /** Resolves when nothing more is tried. */
  readonly done: Promise<void>;
  readonly end: () => void;
  isBegun: boolean;
  isFilled: boolean;
  /** The connection was lost again meanwhile: what was fetched is not all. */
  isStale: boolean;
}

/** Fetches what was missed of channels: first of those in which somebody speaks, of the others as the platform wants it. */
export class Gaps {
  readonly #parts: GapsParts;
  /** Channels whose events wait. */
  readonly #gates = new Map<string, Gate>();
  /** Channels that are being fetched, or wait for it: also where events went past. */
  readonly #fetching = new Map<string, Gate>();
  /** Gaps that later events went past, until they are filled. */
  readonly #bypassed = new Map<string, Gap>();
  readonly #backlogs: Backlogs;
  /** Channels whose gap is neither filled nor on record. */
  readonly #unfilled = new Set<string>();
  readonly #catchUps = new PQueue({ concurrency: CATCH_UPS });
  /** Catch-ups that an event waits for. */
  readonly #urgent = new PQueue({ concurrency: CATCH_UPS });

  constructor(parts: GapsParts) {
    this.#parts = parts;
    this.#backlogs = new Backlogs({
      ...parts,
      openThread: (gap) => this.#openThread(gap),
      catchUpOf: (name) =>
        this.#fetching.get(name)?.done ?? (this.#unfilled.has(name) ? parts.patience.rest() : null),
      onFilled: (name) => void this.#bypassed.delete(name),
    });
  }

  /** Nothing is missing but what is on record. */
  get isDone(): boolean {
    return this.#unfilled.size === 0;
  }

  has(name: string): boolean {
    return this.#gates.has(name);
  }

  /** What may be missing of a channel; null: nothing. */
  of(name: string): Gap | null {
    return this.#gates.get(name)?.gap ?? this.#bypassed.get(name) ?? null;
  }

  open(gap: Gap): void {
    const { name } = gap.channel;
    const known = this.#fetching.get(name);
    if (known !== undefined) {
      // Two at a time would take each other's gap off the record. What comes from now on waits for it again.
      known.isStale = true;
      this.#gates.set(name, known);
      return;
    }
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    const foundAt = this.#parts.now();
    const gate: Gate = { gap, foundAt, done, end, isBegun: false, isFilled: false, isStale: false };
    this.#gates.set(name, gate);
    this.#fetching.set(name, gate);
    this.#unfilled.add(name);
    this.#enqueue(this.#catchUps, async () => {
      if (!gate.isBegun) await this.#awaitRate();
      await this.#begin(gate);
    });
  }

  /**
   * What was missed comes first, unless it takes too long: then its gap stays on record, and life goes on.
   * @returns the gap that is still open
   */
  async waitFor(name: string): Promise<Gap | null> {
    const gate = this.#gates.get(name);
    if (gate !== undefined) await this.#waitForGate(name, gate);
    return this.#bypassed.get(name) ?? null;
  }

  async #waitForGate(name: string, gate: Gate): Promise<void> {
    const { patience, holdMs } = this.#parts;
    if (!gate.isBegun) this.#enqueue(this.#urgent, async () => this.#begin(gate));
    await patience.within(holdMs, gate.done);
    if (this.#gates.get(name) !== gate) return;
    if (!gate.isFilled) {
      await this.#keep(gate.gap);
      if (!gate.isFilled) this.#bypassed.set(name, gate.gap);
    }
    // Meanwhile it may have been filled, and another be open.
    if (this.#gates.get(name) === gate) this.#gates.delete(name);
  }

  /** One that is being fetched already brings what is new in it. */
  #openThread(gap: Gap): void {
    if (this.of(gap.channel.name) === null) this.open(gap);
  }

  /** Resolves when nothing is being fetched. */
  async idle(): Promise<void> {
    do {
      await Promise.all([this.#catchUps.onIdle(), this.#urgent.onIdle()]);
      await this.#backlogs.idle();
    } while (this.#catchUps.size + this.#catchUps.pending + this.#urgent.size + this.#urgent.pending > 0);
  }

  /** What is cleared from the queues is left to the next start. */
  close(): void {
    this.#catchUps.clear();
    this.#urgent.clear();
    this.#backlogs.close();
  }

  #enqueue(queue: PQueue, work: () => Promise<void>): void {
    void queue.add(work).catch(() => undefined);
  }

  /** Waits until one more catch-up is no burden to the platform. */
  async #awaitRate(): Promise<void> {
    const waitMs = this.#parts.history.rateLimiter?.ask() ?? 0;
    if (waitMs > 0) await this.#parts.patience.pause(waitMs);
  }

  /** Must not throw. */
  async #begin(gate: Gate): Promise<void> {
    const { signal } = this.#parts;
    if (gate.isBegun || signal.aborted) return;
    gate.isBegun = true;
    await this.#fill(gate);
    gate.end();
    const { name } = gate.gap.channel;
    if (gate.isFilled) {
      this.#unfilled.delete(name);
      this.#parts.onFilled(name);
    } else if (!signal.aborted) void this.#retryLater(gate.gap);
  }

  /** One that is being filled from its beginning on is on record, and its record moves with that until this one is filled. */
  async #keep(gap: Gap): Promise<void> {
    if (this.#backlogs.beginning(gap.channel.name) === null) await this.#parts.ledger.keepGap(gap);
  }

  /** The connection may last for hours after a platform's failure that was over in a minute. Must not throw. */
  async #retryLater(gap: Gap): Promise<void> {
    const isKept = await this.#keep(gap).then(
      () => this.#backlogs.beginning(gap.channel.name) === null,
      () => false,
    );
    if (isKept) this.#unfilled.delete(gap.channel.name);
    await this.#parts.patience.rest();
    if (!this.#parts.signal.aborted) this.open(gap);
  }

  /** Hands in what was missed, or the newest of it: the rest is on record then, and is filled behind what is said now. */
  async #catchUp(gate: Gate): Promise<void> {
    const { catchUpMaxAgeMs: maxAgeMs, receive, ledger, log } = this.#parts;
    const { name } = gate.gap.channel;
    await this.#backlogs.settled(name);
    const beginning = this.#backlogs.beginning(name);
    const gap = { ...gate.gap, afterId: beginning ?? gate.gap.afterId };
    const parts: CatchUpParts = {
      ...this.#parts,
      receive: async (event) => receive(gap, event),
      asOf: gate.foundAt,
      isOnRecord: beginning !== null,
      maxAgeMs,
      openThread: (thread) => this.#openThread(thread),
    };
    const { messages, backlog } = await catchUp(parts, gap);
    const isWhole = backlog === null;
    if (messages > 0 || !isWhole)
      log.info({ channel: formatAddress(gap.channel), messages, isWhole }, "caught_up");
    if (backlog !== null) {
      this.#bypassed.set(name, gap);
      this.#backlogs.begin(gap, backlog, gate.foundAt);
      return;
    }
    // Else the rest is still to come, and a crash before that must find it on record.
    if (gate.isStale) return;
    this.#backlogs.drop(name);
    await ledger.closeGap(gap.channel);
  }

  /** Must not throw. */
  async #fill(gate: Gate): Promise<void> {
    const { ledger, history, patience, signal } = this.#parts;
    gate.isFilled = await patience.until("catch_up_failed", ATTEMPTS, async () => {
      gate.isStale = false;
      try {
        await this.#catchUp(gate);
      } catch (error) {
        // What is missing of a channel that was deleted never comes. What the log has of it stays: nothing says that a bot which
        // was put out is never answered so. A deletion that is heard comes as an event, and an intake drops none.
        if (history.isDeleted(error)) await ledger.closeGap(gate.gap.channel);
        // What may not be read now may be read later: what is said until then must not hide that it is missing.
        else if (error instanceof PlatformError && !error.retryable) await this.#keep(gate.gap);
        throw error;
      }
    });
    const { name } = gate.gap.channel;
    if (gate.isStale && !signal.aborted) {
      gate.isFilled = false;
      return this.#fill(gate);
    }
    this.#fetching.delete(name);
    if (!gate.isFilled) return;
    if (this.#backlogs.beginning(name) === null) this.#bypassed.delete(name);
    if (this.#gates.get(name) === gate) this.#gates.delete(name);
  }
}
