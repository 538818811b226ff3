import { setTimeout as delay } from "node:timers/promises";
import { WeirError } from "../../core/errors.ts";
import type { Database } from "../database/database.ts";

/** A part of an answer that its platform has acknowledged. */
export interface SentNote {
  /** Of the delivery. */
  readonly id: number;
  readonly epoch: number;
  /** The platform's id of the message. */
  readonly messageId: string;
}

interface Waiting {
  readonly note: SentNote;
  readonly done: PromiseWithResolvers<void>;
}

/** Notes of one statement. */
const MAX_NOTES = 100;
/**
 * How long a note waits for others, ms: its commit and that of a message that comes meanwhile would wait for the disk one
 * after the other, and a person waits for what becomes of the message. Whoever dies before it sends again, with the same key.
 */
const GATHER_MS = 10;

/**
 * Notes what was delivered, of all channels together, a moment later. No caller waits for it, yet its commit waits for the
 * disk: if Postgres alone failed, a lost note would leave the part pending until the daemon ends.
 */
export class SentBatches {
  readonly #db: Database;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Resolves once it is committed. @throws StaleEpochError if the channel has a new owner */
  async add(note: SentNote): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ note, done });
    if (!this.#isWriting) void this.#work();
    return done.promise;
  }

  async #work(): Promise<void> {
    this.#isWriting = true;
    await delay(GATHER_MS);
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, MAX_NOTES));
    this.#isWriting = false;
  }

  /** Must not throw: each waiting one is told. */
  async #write(batch: readonly Waiting[]): Promise<void> {
    const notes = batch.map(({ note }) => note);
    try {
      await this.#db.query(
        "delivery_sent",
        `update deliveries d set state = 'sent', message_id = n.message_id, epoch = n.epoch, ended_at = clock_timestamp()
           from unnest($1::bigint[], $2::bigint[], $3::text[]) n (id, epoch, message_id)
          where d.id = n.id and d.state = 'pending'`,
        [notes.map(({ id }) => id), notes.map(({ epoch }) => epoch), notes.map(({ messageId }) => messageId)],
      );
      for (const { done } of batch) done.resolve();
    } catch (error) {
      const isOfOne = batch.length > 1 && !(error instanceof WeirError && error.retryable);
      // One channel has a new owner: that is no reason to refuse the others.
      if (isOfOne) for (const one of batch) await this.#write([one]);
      else for (const { done } of batch) done.reject(error);
    }
  }
}
