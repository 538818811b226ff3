import { steadyNow } from "../../async/clock.ts";
import { unlessAborted } from "../../async/deadline.ts";
import { PollLoop } from "../../async/poll-loop.ts";

/** Times in ms. */
export interface WatchTiming {
  /** Interval between requests to the database. */
  readonly askMs: number;
  /**
   * The database counts as away after this time and two requests without an answer. If it goes away for all members, their last
   * positive reports must have expired by then: longer than a request, its limit, the presence interval and the delivery together.
   */
  readonly awayMs: number;
  /**
   * A member reports that the database answers after all its requests were answered for this time. Longer than `awayMs`: after an
   * outage for all members, none reports so before all had time to notice the return.
   */
  readonly steadyMs: number;
}

/** Reports of other members are up to five seconds old. */
const TIMING: WatchTiming = { askMs: 1000, awayMs: 8000, steadyMs: 10_000 };
/** Consecutive answers after which the database counts as back: one may be chance, and a join moves partitions of all members. */
const BACK_AFTER = 3;

/** Whether the database answers this member. */
export interface DatabaseView {
  readonly isAway: boolean;
  /** It has answered every request for a while. */
  readonly isSteady: boolean;
  /** Resolves when it is not away. @param signal ends the wait */
  untilBack(signal: AbortSignal): Promise<void>;
}

/** For a database that is not watched: neither away nor reported as steady. */
export const UNWATCHED: DatabaseView = { isAway: false, isSteady: false, untilBack: async () => undefined };

/** Evaluates the answers. No I/O and no clock of its own. Times in ms of one clock. */
export class Answers {
  readonly #timing: WatchTiming;
  /** When the last answered request was sent. */
  #answeredAt: number;
  #unanswered = 0;
  #answered = 0;
  /** It was away, and has not been back for long enough. */
  #wasAway = false;
  /** When the first of the current run of answered requests was sent; null: the last one was not answered. */
  #steadySince: number | null = null;

  constructor(now: number, timing: WatchTiming = TIMING) {
    this.#timing = timing;
    this.#answeredAt = now;
  }

  note(isAnswered: boolean, askedAt: number): void {
    if (isAnswered) {
      this.#answered += 1;
      this.#wasAway = this.isAway(askedAt) && this.#answered < BACK_AFTER;
      this.#answeredAt = askedAt;
      this.#steadySince ??= askedAt;
      this.#unanswered = 0;
      return;
    }
    this.#answered = 0;
    this.#unanswered += 1;
    this.#steadySince = null;
  }

  /** At least two unanswered requests: a single one may be late because this process was frozen. */
  isAway(now: number): boolean {
    return this.#wasAway || (this.#unanswered >= 2 && now - this.#answeredAt >= this.#timing.awayMs);
  }

  isSteady(now: number): boolean {
    return this.#steadySince !== null && now - this.#steadySince >= this.#timing.steadyMs;
  }
}

/** Polls the database to know whether it answers this daemon. */
export class DatabaseWatch implements DatabaseView, AsyncDisposable {
  readonly #ask: () => Promise<boolean>;
  readonly #askMs: number;
  readonly #answers: Answers;
  readonly #looks = new PollLoop(async () => this.#look());
  #back = Promise.withResolvers<void>();

  /** @param ask resolves with whether the database answered; must not reject, and must be short */
  constructor(ask: () => Promise<boolean>, timing: WatchTiming = TIMING) {
    this.#ask = ask;
    this.#askMs = timing.askMs;
    this.#answers = new Answers(steadyNow(), timing);
    this.#looks.now();
  }

  get isAway(): boolean {
    return this.#answers.isAway(steadyNow());
  }

  get isSteady(): boolean {
    return this.#answers.isSteady(steadyNow());
  }

  async untilBack(signal: AbortSignal): Promise<void> {
    while (this.isAway && !signal.aborted) await unlessAborted(this.#back.promise, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks[Symbol.asyncDispose]();
  }

  async #look(): Promise<number> {
    const askedAt = steadyNow();
    const isAnswered = await this.#ask();
    this.#answers.note(isAnswered, askedAt);
    if (isAnswered) {
      this.#back.resolve();
      this.#back = Promise.withResolvers<void>();
    }
    return this.#askMs;
  }
}
