import { setTimeout as delay } from "node:timers/promises";
import { withDeadline } from "../../async/deadline.ts";
import { WeirError } from "../../core/errors.ts";

/** Longest time that a statement keeps a writer, ms: a connection that does not answer delays the others' work no longer. */
const STATEMENT_MS = 1000;
/** The same for work that is written alone, ms: its row may be locked. */
const ALONE_MS = 20;

export interface GroupCommitParts<Work, Result> {
  /** Most pieces of work in one statement. */
  readonly most: number;
  /** Most statements at once. */
  readonly writers: number;
  /** How long the first piece waits for others, ms. Default: it does not wait. */
  readonly gatherMs?: number;
  /**
   * Writes several pieces in one transaction.
   * @returns a result for each, in their order; undefined: its row was locked, and it is not written
   */
  readonly together: (works: readonly Work[]) => Promise<readonly (Result | undefined)[]>;
  /** Writes one piece in a transaction of its own, and waits for its row. */
  readonly alone: (work: Work) => Promise<Result>;
}

interface Waiting<Work, Result> {
  readonly work: Work;
  readonly written: PromiseWithResolvers<Result>;
}

/**
 * Writes work of many channels in few transactions: what comes while a statement is under way goes into the next, so that
 * work that comes by itself waits for nothing. A locked row and a refused piece of work delay and fail only themselves. If
 * the outcome of a commit is unknown, it is unknown for each piece of it.
 */
export class GroupCommit<Work, Result> {
  readonly #parts: GroupCommitParts<Work, Result>;
  #waiting: Waiting<Work, Result>[] = [];
  #writers = 0;

  constructor(parts: GroupCommitParts<Work, Result>) {
    this.#parts = parts;
  }

  /** Resolves once the work is durable. A row must not be handed in again before that. */
  async write(work: Work): Promise<Result> {
    const written = Promise.withResolvers<Result>();
    this.#waiting.push({ work, written });
    if (this.#writers < this.#parts.writers) void this.#work();
    return written.promise;
  }

  async #work(): Promise<void> {
    const { most, gatherMs } = this.#parts;
    this.#writers++;
    if (gatherMs !== undefined) await delay(gatherMs);
    while (this.#waiting.length > 0)
      await withDeadline(this.#write(this.#waiting.splice(0, most)), STATEMENT_MS);
    this.#writers--;
  }

  /** Must not throw: each waiting piece gets the error. */
  async #write(batch: readonly Waiting<Work, Result>[]): Promise<void> {
    if (batch.length === 1) return this.#writeAlone(batch);
    try {
      const results = await this.#parts.together(batch.map(({ work }) => work));
      const locked: Waiting<Work, Result>[] = [];
      for (const [index, one] of batch.entries()) {
        const result = results[index];
        if (result === undefined) locked.push(one);
        else one.written.resolve(result);
      }
      if (locked.length > 0) await this.#writeAlone(locked);
    } catch (error) {
      // One piece cannot be written: that is no reason to refuse the others.
      if (!(error instanceof WeirError && error.retryable)) return this.#writeAlone(batch);
      for (const { written } of batch) written.reject(error);
    }
  }

  /** Each piece in a transaction of its own; returns after {@link ALONE_MS} if some are not written by then. */
  async #writeAlone(batch: readonly Waiting<Work, Result>[]): Promise<void> {
    const all = batch.map(async ({ work, written }) =>
      this.#parts.alone(work).then(written.resolve, written.reject),
    );
    await withDeadline(Promise.all(all), ALONE_MS);
  }
}
