/**
 * Parts that several platform adapters use: the connection, its shards, retries, rates and attachments. They know the port in
 * `platform.ts`, and neither an adapter nor the store.
 */

import { pause } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import type { Logger } from "pino";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import { type Backoff, backoffMs, jittered } from "../../async/backoff.ts";
import { type ConnectionState, notConnectedYet, PlatformError } from "../platform.ts";

/** One connection to a platform, from its opening to its end. */
export interface Session {
  /** Resolves when it is over for good, with why; null: `close` was called. Must not reject. */
  readonly closed: Promise<Error | null>;
  close(): Promise<void>;
}

export interface ConnectionParts {
  readonly platform: string;
  /**
   * Opens a session, which keeps itself alive over what the platform's client can mend.
   * @throws OperatorError if the operator has to change something
   */
  readonly open: (signal: AbortSignal) => Promise<Session>;
  readonly log: Logger;
  /** Its opening is not logged. Default: it is. */
  readonly isQuiet?: boolean;
  /**
   * First and longest wait before it is opened again, give or take a quarter. Default: 1 s and 20 s. Errors that an operator
   * has to fix are retried less often.
   */
  readonly backOff?: Backoff | undefined;
  /** How long `start` waits for the first attempt. Default: 10 s. */
  readonly startMs?: number;
}

/** A session of this length was good: the next wait starts from the first again. */
const GOOD_MS = 60_000;
/** Factor of the longest wait for errors that an operator has to fix: 5 min. */
const OPERATORS_SHARE = 15;
/** Longest wait that a platform may ask for, ms. */
const LONGEST_RETRY_AFTER_MS = 600_000;
const BACK_OFF: Backoff = { fromMs: 1000, toMs: 20_000 };

/**
 * Keeps a platform connected: it logs the end of a session, and reconnects with growing pauses. It never throws, so that one
 * platform cannot stop another.
 */
export class Connection implements AsyncDisposable {
  readonly #parts: ConnectionParts;
  readonly #closing = new AbortController();
  #running: Promise<void> | null = null;
  #session: Session | null = null;
  #state: ConnectionState = notConnectedYet();
  /** Also of a session that is being opened: it may be cut before it is handed over. */
  #isCut = false;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** The session was cut, and mends itself. */
  interrupted(): void {
    this.#isCut = true;
    if (this.#state.kind === "connected") this.#become("interrupted");
  }

  /** The session that was cut is whole again. */
  resumed(): void {
    this.#isCut = false;
    if (this.#state.kind === "interrupted") this.#become("connected");
  }

  /** Resolves after the first attempt, whatever its outcome, or when that takes too long; work continues. */
  async start(): Promise<void> {
    const { promise: tried, resolve } = Promise.withResolvers<void>();
    this.#running ??= this.#keep(resolve);
    await withDeadline(tried, this.#parts.startMs ?? 10_000, this.#closing.signal);
  }

  /** Resolves when the connection is closed. May be called twice. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#session?.close();
    await this.#running;
  }

  async #keep(onTried: () => void): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    while (!signal.aborted) {
      const openedAt = performance.now();
      const why = await this.#once(onTried);
      onTried();
      if (signal.aborted) return;
      if (performance.now() - openedAt > GOOD_MS) failures = 0;
      const waitMs = waitBefore(why, failures, this.#parts.backOff);
      failures += 1;
      this.#tell(why, waitMs);
      await pause(waitMs, signal);
    }
  }

  /** @returns why it is over */
  async #once(onOpen: () => void): Promise<unknown> {
    this.#isCut = false;
    try {
      const session = await this.#parts.open(this.#closing.signal);
      this.#session = session;
      this.#become(this.#isCut ? "interrupted" : "connected");
      const { platform, log, isQuiet = false } = this.#parts;
      if (!isQuiet) log.info({ platform }, "platform_connected");
      onOpen();
      if (this.#closing.signal.aborted) await session.close();
      const why = await session.closed;
      await session.close();
      return why;
    } catch (error) {
      return error;
    } finally {
      this.#session = null;
    }
  }

  #become(kind: "connected" | "interrupted"): void {
    this.#state = { kind, since: new Date(), why: null, isOperators: false };
  }

  #tell(why: unknown, retryInMs: number): void {
    const { log, platform } = this.#parts;
    const isOperators = why instanceof OperatorError;
    const fields = { platform, why: errorMessage(why), retryInMs };
    this.#state = { kind: "waiting", since: new Date(), why: fields.why, isOperators };
    if (isOperators) log.error(fields, "platform_refused");
    else log.warn(fields, "platform_disconnected");
  }
}

/**
 * How long to wait before a session is opened again, ms.
 * @param why the last one ended
 * @param failures before that one, in a row
 */
export function waitBefore(why: unknown, failures: number, { fromMs, toMs } = BACK_OFF): number {
  const longestMs = why instanceof OperatorError ? toMs * OPERATORS_SHARE : toMs;
  const waitMs = jittered(backoffMs({ fromMs, toMs: longestMs }, failures));
  const askedMs = why instanceof PlatformError ? (why.retryAfterMs ?? 0) : 0;
  return Math.max(waitMs, Math.min(askedMs, LONGEST_RETRY_AFTER_MS));
}
