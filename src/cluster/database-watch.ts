import { steadyNow } from "../async/clock.ts";
import { unlessAborted } from "../async/deadline.ts";
import { PollLoop } from "../async/poll-loop.ts";

/** Times in ms. */
export interface WatchTiming {
  /** How often the database is asked for a sign of life. */
  readonly askMs: number;
  /**
   * A daemon that has heard nothing for so long, and has asked at least twice, counts it as away. Longer than what another has last said
   * of it can be old where it goes away for all: a question, its limit, what the members take to tell each other, and some time on the way.
   */
  readonly awayMs: number;
  /**
   * A daemon whose every question was answered for so long tells the others that the database is there. Longer than what above takes,
   * with the last question: where it was away for all, nobody says so before all have had the time to find it back.
   */
  readonly steadyMs: number;
}

/** What another has said is up to five seconds old. */
const TIMING: WatchTiming = { askMs: 1000, awayMs: 8000, steadyMs: 10_000 };
/** One that was away is there again after so many answers in a row: one alone may be luck, and joining for it costs all others. */
const BACK_AFTER = 3;

/** How a member stands with the database. */
export interface DatabaseView {
  /** It does not answer here. */
  readonly isAway: boolean;
  /** It has answered here for a while. */
  readonly isSteady: boolean;
  /** Resolves when it is not away. @param signal ends the wait */
  untilBack(signal: AbortSignal): Promise<void>;
}

/** Who is never asked: it is neither away, nor does anybody say that it is there. */
export const UNWATCHED: DatabaseView = {
  isAway: false,
  isSteady: false,
  untilBack: async () => undefined,
};

/** What follows from the answers. Pure but for what it remembers. Times in ms of one clock. */
export class Answers {
  readonly #timing: WatchTiming;
  /** When the last question that was answered was asked. */
  #answeredAt: number;
  #unanswered = 0;
  #answered = 0;
  /** It was away, and has not been back for long enough. */
  #wasAway = false;
  /** Since when every question was answered; null: the last one was not. */
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

  /** One question alone may be late because this process stood still. */
  isAway(now: number): boolean {
    return this.#wasAway || (this.#unanswered >= 2 && now - this.#answeredAt >= this.#timing.awayMs);
  }

  isSteady(now: number): boolean {
    return this.#steadySince !== null && now - this.#steadySince >= this.#timing.steadyMs;
  }
}

/** Whether this daemon reaches the database: it is asked again and again. */
export class DatabaseWatch implements DatabaseView, AsyncDisposable {
  readonly #ask: () => Promise<boolean>;
  readonly #askMs: number;
  readonly #answers: Answers;
  readonly #looks = new PollLoop(async () => this.#look());
  #back = Promise.withResolvers<void>();

  /** @param ask whether it has answered; must not reject, nor take long */
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
