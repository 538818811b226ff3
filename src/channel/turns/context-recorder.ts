import type { Logger } from "pino";
import { steadyNow } from "../../async/clock.ts";
import { errorMessage } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import { type ContextRecordStore, KEPT_RECORDS, type TurnRecord } from "../../store/turns/context-records.ts";
import { type PrefixChain, recordOfTurn, type SettledContext } from "./context-record.ts";

/**
 * Pause between two writes, ms, so that a busy daemon writes the records of many channels together: at least, at most, and as
 * a multiple of the last write's duration. A channel's older records need not be written once it has newer ones.
 */
const REST_MS = 1000;
const LONGEST_REST_MS = 10_000;
const REST_BY_WRITE = 20;
/** Records of one transaction: a deletion in one of their channels waits for it. */
const AT_ONCE = 50;

/** The newest of a channel's settled contexts that are not stored yet. */
interface Waiting {
  readonly chain: PrefixChain;
  readonly contexts: SettledContext[];
}

/**
 * Stores the contexts of settled turns, off the reply path. A context is lost if it cannot be stored (which is logged), if the daemon
 * is killed before, or if a text of it is deleted meanwhile.
 */
export class ContextRecorder implements AsyncDisposable {
  readonly #store: Pick<ContextRecordStore, "keep">;
  readonly #log: Logger;
  readonly #restMs: number;
  #waiting = new Map<ChannelId, Waiting>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isDisposed = false;

  constructor(store: Pick<ContextRecordStore, "keep">, log: Logger, restMs = REST_MS) {
    this.#store = store;
    this.#log = log;
    this.#restMs = restMs;
  }

  /** Never waits, and never throws. @param chain the channel's chain of prefixes */
  add(channel: ChannelId, chain: PrefixChain, context: SettledContext): void {
    const waiting = this.#waiting.get(channel) ?? { chain, contexts: [] };
    this.#waiting.set(channel, waiting);
    waiting.contexts.push(context);
    if (waiting.contexts.length > KEPT_RECORDS) waiting.contexts.shift();
    // After the answer.
    if (!this.#isDisposed) this.#timer ??= setTimeout(() => void this.#writeAndRest(), 0);
  }

  async flush(): Promise<void> {
    this.#running = this.#running.then(async () => this.#write());
    await this.#running;
  }

  async #writeAndRest(): Promise<void> {
    const startedAt = steadyNow();
    await this.flush();
    if (this.#isDisposed) return;
    const restMs = Math.min(LONGEST_REST_MS, (steadyNow() - startedAt) * REST_BY_WRITE);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#waiting.size > 0) void this.#writeAndRest();
      },
      Math.max(this.#restMs, restMs),
    );
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    let batch: TurnRecord[] = [];
    for (const [channel, { chain, contexts }] of waiting) {
      for (const context of contexts) batch.push({ channel, ...recordOfTurn(chain, context) });
      if (batch.length < AT_ONCE) continue;
      await this.#keep(batch);
      batch = [];
    }
    await this.#keep(batch);
  }

  async #keep(batch: readonly TurnRecord[]): Promise<void> {
    try {
      if (batch.length > 0) await this.#store.keep(batch);
    } catch (error) {
      this.#log.warn({ records: batch.length, why: errorMessage(error) }, "context_records_not_stored");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    await this.flush();
  }
}
