import { setTimeout as delay } from "node:timers/promises";
import PQueue from "p-queue";
import { withDeadline } from "../../async/deadline.ts";
import { WeirError } from "../../core/errors.ts";

/** Longest time that a statement keeps a writer, ms: a connection that does not answer delays the others' work no longer. */
const STATEMENT_MS = 1000;
/** The same for work that came alone, ms: its row may be locked. */
const ALONE_MS = 20;
/** Characters of a transaction, after which no piece is added. */
const MAX_LENGTH = 200_000;
/** Pieces of a refused statement that are written at once: other work needs connections as well. */
const REFUSED_AT_ONCE = 4;

export interface GroupCommitParts<Work, Result> {
  /** Most pieces of work in one statement. */
  readonly most: number;
  /** Most statements at once. */
  readonly writers: number;
  /** How long the first piece waits for others, ms. Default: it does not wait. */
  readonly gatherMs?: number;
  /** Length of a piece in characters; default: all are short. */
  readonly lengthOf?: (work: Work) => number;
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
    const { gatherMs } = this.#parts;
    this.#writers++;
    if (gatherMs !== undefined) await delay(gatherMs);
    while (this.#waiting.length > 0) await withDeadline(this.#write(this.#next()), STATEMENT_MS);
    this.#writers--;
  }

  #next(): Waiting<Work, Result>[] {
    const { most, lengthOf = () => 0 } = this.#parts;
    return this.#waiting.splice(
      0,
      sizeOfNext(this.#waiting, most, ({ work }) => lengthOf(work)),
    );
  }

  /** Must not throw: each waiting piece gets the error. */
  async #write(batch: readonly Waiting<Work, Result>[]): Promise<void> {
    const [first] = batch;
    if (first !== undefined && batch.length === 1) {
      await withDeadline(this.#writeAlone(first), ALONE_MS);
      return;
    }
    try {
      const results = await this.#parts.together(batch.map(({ work }) => work));
      for (const [index, one] of batch.entries()) {
        const result = results[index];
        // Its row is locked, and the others must not wait for it.
        if (result === undefined) void this.#writeAlone(one);
        else one.written.resolve(result);
      }
    } catch (error) {
      // One piece cannot be written: that is no reason to refuse the others.
      if (!(error instanceof WeirError && error.retryable)) return this.#writeEach(batch);
      for (const { written } of batch) written.reject(error);
    }
  }

  async #writeEach(batch: readonly Waiting<Work, Result>[]): Promise<void> {
    const some = new PQueue({ concurrency: REFUSED_AT_ONCE });
    await Promise.all(batch.map(async (one) => some.add(async () => this.#writeAlone(one))));
  }

  /** Must not throw: the piece gets the error. */
  async #writeAlone({ work, written }: Waiting<Work, Result>): Promise<void> {
    await this.#parts.alone(work).then(written.resolve, written.reject);
  }
}

/** How many of the waiting pieces go into the next transaction: at least one. Pure. @param lengthOf characters of a piece */
export function sizeOfNext<Piece>(
  waiting: readonly Piece[],
  most: number,
  lengthOf: (piece: Piece) => number,
): number {
  let length = 0;
  const end = waiting.findIndex((piece) => (length += lengthOf(piece)) > MAX_LENGTH);
  return Math.min(most, Math.max(1, end < 0 ? most : end));
}
