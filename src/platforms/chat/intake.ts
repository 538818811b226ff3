import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import type { Logger } from "pino";
import { BoundedMap } from "../../core/bounded-map.ts";
import { errorMessage, WeirError } from "../../core/errors.ts";
import { formatAddress } from "../../core/ids.ts";
import type { ChannelOnPlatform, InboundEvent, InboundMessage, Receipt } from "../../core/message.ts";
import { type Gap, PlatformError, type PlatformInbox } from "../platform.ts";
import { type CatchUpParts, catchUp } from "./catch-up.ts";
import { EarlyChanges } from "./early-changes.ts";
import type { ChatHistory } from "./history.ts";

export interface IntakeParts {
  readonly platform: string;
  readonly inbox: PlatformInbox;
  readonly history: ChatHistory;
  readonly log: Logger;
  readonly catchUpMaxAgeMs: number;
  readonly now: () => Date;
  /** How long later events of a channel wait for what was missed before them. Default: 10 s. */
  readonly holdMs?: number;
  /** First and longest wait before what was missed is asked for again. Default: 500 ms and 60 s. */
  readonly backOff?: { readonly firstMs: number; readonly maxMs: number };
}

/** Messages that a channel begins with which Weir has not seen before. */
const FIRST_CONTACT = 50;
/** Catch-ups at a time: platforms allow some dozens of calls a second. */
const CATCH_UPS = 4;
/** Catch-ups that begin at once, where the platform wants them spaced. */
const BURST = 20;
/** Attempts at one channel's catch-up before others have their turn: it is tried again after the longest wait. */
const ATTEMPTS = 5;
const HOLD_MS = 10_000;
const BACK_OFF = { firstMs: 500, maxMs: 60_000 };
/** Channels that are remembered as known. */
const MAX_KNOWN = 10_000;
/** Events that wait at a time. What comes above it is fetched later, as after an interruption. */
const MAX_WAITING = 10_000;

/** A channel of which something may be missing. */
interface Gate {
  readonly gap: Gap;
  /** Resolves when nothing more is tried. */
  readonly done: Promise<void>;
  readonly end: () => void;
  state: "waits" | "begun" | "over";
  isFilled: boolean;
  /** The connection was lost again meanwhile: what was fetched is not all. */
  isStale: boolean;
}

/**
 * Hands a platform's events to the inbox: of each channel in the platform's order, and behind what was missed of it
 * while nobody listened. What cannot be stored just now is not lost: it is a gap, and is fetched again.
 */
export class Intake {
  readonly #parts: IntakeParts;
  readonly #lanes = new Map<string, Promise<unknown>>();
  readonly #gates = new Map<string, Gate>();
  readonly #catchUps = new PQueue({ concurrency: CATCH_UPS });
  /** Catch-ups that an event waits for. */
  readonly #urgent = new PQueue({ concurrency: CATCH_UPS });
  /** When the next catch-up that nobody waits for may begin, by a steady clock, ms. */
  #nextAt = 0;
  readonly #changes: EarlyChanges;
  readonly #closing = new AbortController();
  /** Channels that Weir has seen something of; one that was forgotten here costs a look into the log. */
  readonly #known = new BoundedMap<true>(MAX_KNOWN);
  /** Resolves when it is known where something may be missing. */
  #resuming: Promise<void> = Promise.resolve();
  #isResuming = false;
  #waiting = 0;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#changes = new EarlyChanges(parts.inbox);
  }

  /**
   * To be called when a connection is there, before its first event is handed in: fetches what was missed. Returns at
   * once; later events wait for it.
   */
  resume(): void {
    if (this.#isResuming) return;
    this.#isResuming = true;
    this.#resuming = this.#findGaps().finally(() => {
      this.#isResuming = false;
    });
  }

  /**
   * Takes an event in, behind those of its channel that came before it.
   * @param home the channel that it belongs to, also where the event names none
   * @returns what became of it, once it is durable; undefined where it has to be fetched later
   */
  async hand(event: InboundEvent, home: ChannelOnPlatform): Promise<Receipt | undefined> {
    if (this.#waiting >= MAX_WAITING) {
      this.resume();
      return undefined;
    }
    const lane = home.channel.name;
    this.#waiting += 1;
    const before = this.#lanes.get(lane) ?? Promise.resolve();
    const task = before.then(async () => this.#take(event, home));
    this.#lanes.set(lane, task);
    try {
      return await task;
    } finally {
      this.#waiting -= 1;
      if (this.#lanes.get(lane) === task) this.#lanes.delete(lane);
    }
  }

  /** Resolves when everything that was handed in is taken, and nothing is being fetched. */
  async idle(): Promise<void> {
    await this.#resuming;
    await Promise.all([this.#catchUps.onIdle(), this.#urgent.onIdle()]);
    await Promise.all(this.#lanes.values());
  }

  /** Ends all waiting. */
  close(): void {
    this.#closing.abort();
    this.#catchUps.clear();
    this.#urgent.clear();
  }

  /** Must not throw: the lane goes on. */
  async #take(event: InboundEvent, home: ChannelOnPlatform): Promise<Receipt | undefined> {
    if (this.#closing.signal.aborted) return undefined;
    try {
      await this.#resuming;
      await this.#behindGap(home.channel.name);
      if (event.type === "message") await this.#meet(event);
      return await this.#changes.receive(event);
    } catch (error) {
      const isLater = error instanceof WeirError && error.retryable;
      const fields = { channel: formatAddress(home.channel), id: event.id, why: errorMessage(error) };
      this.#parts.log.warn(fields, isLater ? "event_not_stored_yet" : "event_refused");
      if (isLater) this.resume();
      return undefined;
    }
  }

  /** What was missed comes first, unless it takes too long: then its gap stays on record, and life goes on. */
  async #behindGap(lane: string): Promise<void> {
    const gate = this.#gates.get(lane);
    if (gate === undefined) return;
    if (gate.state === "waits") this.#enqueue(this.#urgent, async () => this.#begin(gate));
    const over = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, over.signal]);
    const late = delay(this.#parts.holdMs ?? HOLD_MS, undefined, { signal }).catch(() => undefined);
    await Promise.race([gate.done, late]);
    over.abort();
    if (this.#gates.get(lane) !== gate) return;
    if (!gate.isFilled) await this.#parts.inbox.keepGap(gate.gap.channel, gate.gap.afterId);
    this.#gates.delete(lane);
  }

  /** A channel that Weir sees for the first time begins with what was said in it before. */
  async #meet(first: InboundMessage): Promise<void> {
    const { inbox, history, log } = this.#parts;
    const { name } = first.channel;
    if (this.#known.has(name) || first.isBackground === true) return;
    const { isBound, listens, isKnown } = await inbox.standing(first);
    if (!isBound) return;
    const isWanted = listens || (first.addressed && first.kind === "thread");
    if (!isKnown && isWanted) {
      try {
        const before = await history.background(first, first, listens ? FIRST_CONTACT : 0);
        for (const message of before) await this.#changes.receive({ ...message, isBackground: true });
      } catch (error) {
        // It is context and no more: the message itself matters.
        if (!(error instanceof PlatformError)) throw error;
        log.warn({ channel: formatAddress(first.channel), why: error.message }, "background_not_fetched");
      }
    }
    if (isKnown || isWanted || first.addressed) this.#known.set(name, true);
  }

  /** Must not throw. Until it is known where something is missing, nothing is stored. */
  async #findGaps(): Promise<void> {
    const { inbox, platform } = this.#parts;
    await this.#retrying("gaps_not_found", Number.POSITIVE_INFINITY, async () => {
      for (const gap of await inbox.openGaps(platform)) this.#openGate(gap);
    });
  }

  #openGate(gap: Gap): void {
    const { name } = gap.channel;
    this.#known.set(name, true);
    const known = this.#gates.get(name);
    if (known !== undefined && known.state !== "over") {
      known.isStale = true;
      return;
    }
    const { promise: done, resolve: end } = Promise.withResolvers<void>();
    const gate: Gate = { gap, done, end, state: "waits", isFilled: false, isStale: false };
    this.#gates.set(name, gate);
    this.#enqueue(this.#catchUps, async () => {
      if (gate.state === "waits") await this.#pace();
      await this.#begin(gate);
    });
  }

  /** What is cleared from the queue at the end is left to the next start. */
  #enqueue(queue: PQueue, work: () => Promise<void>): void {
    void queue.add(work).catch(() => undefined);
  }

  /** Waits until one more catch-up is no burden to the platform. */
  async #pace(): Promise<void> {
    const everyMs = this.#parts.history.catchUpEveryMs ?? 0;
    const now = performance.now();
    this.#nextAt = Math.max(this.#nextAt, now - BURST * everyMs) + everyMs;
    const waitMs = this.#nextAt - now;
    if (waitMs > 0) await this.#pause(waitMs);
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }

  /** Must not throw. */
  async #begin(gate: Gate): Promise<void> {
    const { signal } = this.#closing;
    if (gate.state !== "waits" || signal.aborted) return;
    gate.state = "begun";
    await this.#fill(gate);
    gate.state = "over";
    gate.end();
    if (!gate.isFilled && !signal.aborted) void this.#later(gate.gap);
  }

  /** The connection may last for hours after a platform's failure that was over in a minute. Must not throw. */
  async #later(gap: Gap): Promise<void> {
    await this.#pause((this.#parts.backOff ?? BACK_OFF).maxMs);
    if (!this.#closing.signal.aborted) this.#openGate(gap);
  }

  /** Must not throw. */
  async #fill(gate: Gate): Promise<void> {
    const { inbox, history, now, catchUpMaxAgeMs, log } = this.#parts;
    const receive = async (event: InboundEvent): Promise<void> => this.#fetched(gate.gap, event);
    const parts: CatchUpParts = { inbox, receive, history, now, maxAgeMs: catchUpMaxAgeMs };
    const channel = formatAddress(gate.gap.channel);
    gate.isFilled = await this.#retrying("catch_up_failed", ATTEMPTS, async () => {
      gate.isStale = false;
      const { messages, isWhole } = await catchUp(parts, gate.gap);
      if (messages > 0 || !isWhole) log.info({ channel, messages, isWhole }, "caught_up");
    });
    const { name } = gate.gap.channel;
    if (gate.isStale && !this.#closing.signal.aborted) {
      gate.isFilled = false;
      await this.#fill(gate);
    } else if (gate.isFilled && this.#gates.get(name) === gate) this.#gates.delete(name);
  }

  /** A reply that a channel's catch-up finds may begin its thread here; a thread with a gap of its own comes in order there. */
  async #fetched({ channel }: Gap, event: InboundEvent): Promise<void> {
    if (event.type === "message" && event.channel.name !== channel.name) {
      if (this.#gates.has(event.channel.name)) return;
      await this.#meet(event);
    }
    await this.#changes.receive(event);
  }

  /** @returns whether it was done, or never can be */
  async #retrying(event: string, attempts: number, work: () => Promise<void>): Promise<boolean> {
    const { firstMs, maxMs } = this.#parts.backOff ?? BACK_OFF;
    const { signal } = this.#closing;
    for (
      let attempt = 1, waitMs = firstMs;
      !signal.aborted;
      attempt++, waitMs = Math.min(waitMs * 2, maxMs)
    ) {
      try {
        await work();
        return true;
      } catch (error) {
        const isGone = error instanceof PlatformError && !error.retryable;
        this.#parts.log.warn({ platform: this.#parts.platform, why: errorMessage(error), isGone }, event);
        if (isGone) return true;
        if (attempt >= attempts) return false;
        const retryAfterMs = error instanceof PlatformError ? error.retryAfterMs : undefined;
        await this.#pause(retryAfterMs ?? waitMs);
      }
    }
    return false;
  }
}
