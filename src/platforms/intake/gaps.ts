import PQueue from "p-queue";
import { formatAddress } from "../../core/ids.ts";
import { type Gap, PlatformError } from "../platform.ts";
import { Backlogs, type BacklogsParts } from "./backlogs.ts";
import { type CatchUpParts, catchUp } from "./catch-up.ts";

interface GapsParts extends Omit<BacklogsParts, "openThread" | "catchUpOf"> {
  readonly now: () => Date;
  /** Longest wait of a channel's events for the fetch of earlier missed messages, ms. */
  readonly holdMs: number;
}

/** Concurrent catch-ups: platforms allow some dozens of calls a second. */
const CATCH_UPS = 4;
/** Consecutive attempts at a channel's catch-up. The next follows the longest delay, after other channels. */
const ATTEMPTS = 5;

/** A channel whose gap is being fetched. */
interface Gate {
  readonly gap: Gap;
  readonly foundAt: Date;
  /** Resolves when the attempts are over. */
  readonly done: Promise<void>;
  readonly end: () => void;
  isBegun: boolean;
  isFilled: boolean;
  /** The connection was lost again meanwhile, so more messages are missing than were fetched. */
  isStale: boolean;
}

/** Fetches the missed messages of channels: at once if an event waits for them, otherwise at the rate that the platform allows. */
export class Gaps {
  readonly #parts: GapsParts;
  /** Channels whose events wait. */
  readonly #gates = new Map<string, Gate>();
  /** Channels being fetched or queued, whether or not their events still wait. */
  readonly #fetching = new Map<string, Gate>();
  /** Gaps that are still open although later events of their channel were stored. */
  readonly #bypassed = new Map<string, Gap>();
  readonly #backlogs: Backlogs;
  /** Channels whose gap is neither filled nor recorded. */
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
        this.#fetching.get(name)?.done ?? (this.#unfilled.has(name) ? parts.platformRetry.rest() : null),
      onFilled: (name) => void this.#bypassed.delete(name),
    });
  }

  /** True: every gap is filled or recorded. */
  get isDone(): boolean {
    return this.#unfilled.size === 0;
  }

  has(name: string): boolean {
    return this.#gates.has(name);
  }

  /** The open gap of a channel; null: there is none. */
  of(name: string): Gap | null {
    return this.#gates.get(name)?.gap ?? this.#bypassed.get(name) ?? null;
  }

  open(gap: Gap): void {
    const { name } = gap.channel;
    const known = this.#fetching.get(name);
    if (known !== undefined) {
      // Two catch-ups of a channel would close each other's gap, so later events wait for the first again.
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
      const waitMs = gate.isBegun ? 0 : (this.#parts.history.rateLimiter?.ask() ?? 0);
      if (waitMs > 0) await this.#parts.platformRetry.pause(waitMs);
      await this.#begin(gate);
    });
  }

  /**
   * Waits until the missed messages of a channel are fetched. If that takes too long, the gap is recorded and the wait ends.
   * @returns the gap that is still open; null: there is none
   */
  async waitFor(name: string): Promise<Gap | null> {
    const gate = this.#gates.get(name);
    if (gate !== undefined) await this.#waitForGate(name, gate);
    return this.#bypassed.get(name) ?? null;
  }

  async #waitForGate(name: string, gate: Gate): Promise<void> {
    const { platformRetry, holdMs } = this.#parts;
    if (!gate.isBegun) this.#enqueue(this.#urgent, async () => this.#begin(gate));
    await platformRetry.within(holdMs, gate.done);
    if (this.#gates.get(name) !== gate) return;
    if (!gate.isFilled) {
      await this.#keep(gate.gap);
      if (!gate.isFilled) this.#bypassed.set(name, gate.gap);
    }
    // Meanwhile this gap may have been filled, and another opened.
    if (this.#gates.get(name) === gate) this.#gates.delete(name);
  }

  /** Opens a thread's gap, unless one is open already: the open gap brings the new messages, too. */
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

  /** Clears the queues. The cleared gaps stay recorded, and are fetched after the next start. */
  close(): void {
    this.#catchUps.clear();
    this.#urgent.clear();
    this.#backlogs.close();
  }

  #enqueue(queue: PQueue, work: () => Promise<void>): void {
    void queue.add(work).catch(() => undefined);
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

  /** Records a gap, unless a backlog of the channel is being read: its gap is recorded already, and the record moves with the backlog. */
  async #keep(gap: Gap): Promise<void> {
    if (this.#backlogs.beginning(gap.channel.name) === null) await this.#parts.ledger.keepGap(gap);
  }

  /** Retries a gap whose attempts have failed: a failure may be over in a minute, but the next reconnection hours away. Must not throw. */
  async #retryLater(gap: Gap): Promise<void> {
    const isKept = await this.#keep(gap).then(
      () => this.#backlogs.beginning(gap.channel.name) === null,
      () => false,
    );
    if (isKept) this.#unfilled.delete(gap.channel.name);
    await this.#parts.platformRetry.rest();
    if (!this.#parts.signal.aborted) this.open(gap);
  }

  /** Hands in the missed messages. Of a long gap only the newest: the rest is recorded, as a backlog. */
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
    // A stale gate needs another fetch, and its gap must stay recorded in case of a crash before that.
    if (gate.isStale) return;
    this.#backlogs.drop(name);
    await ledger.closeGap(gap.channel);
  }

  /** Must not throw. */
  async #fill(gate: Gate): Promise<void> {
    const { ledger, history, platformRetry, signal } = this.#parts;
    gate.isFilled = await platformRetry.until("catch_up_failed", ATTEMPTS, async () => {
      gate.isStale = false;
      try {
        await this.#catchUp(gate);
      } catch (error) {
        // The missing messages of a deleted channel never come. Its messages stay in the log: a bot removed
        // from a channel may get the same answer. A real deletion also comes as an event, and the intake
        // drops none.
        if (history.isDeleted(error)) await ledger.closeGap(gate.gap.channel);
        // An unreadable channel may become readable later. Messages stored until then must not hide the gap.
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
