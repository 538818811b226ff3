import { WeirError } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import { withDeadline } from "../../async/deadline.ts";
import { type AppendedRow, draftRecord, type MessageDraft } from "./message-rows.ts";
import type { Database } from "../database/database.ts";

interface Waiting {
  readonly channel: ChannelId;
  readonly drafts: readonly MessageDraft[];
  readonly written: PromiseWithResolvers<AppendedRow[]>;
}

/** Batches of one statement, and statements at once: while the server works on one, the next is made ready. */
const MAX_BATCHES = 50;
const MAX_WRITERS = 2;
/** A writer that waits longer for a locked channel gives its place to the next, ms. */
const LOCKED_FOR_MS = 1000;

/**
 * Appends messages that are only listened to, of all channels together: what comes while a statement is under way goes
 * into the next. A busy server costs one commit for many channels, and nobody waits for an answer meanwhile. Whoever
 * hands in a second batch of a channel has waited for the first. A locked channel delays no other channel.
 */
export class ListenedBatches {
  readonly #db: Database;
  /** Writes one batch by itself. */
  readonly #writeOne: (channel: ChannelId, drafts: readonly MessageDraft[]) => Promise<AppendedRow[]>;
  #waiting: Waiting[] = [];
  #writers = 0;

  constructor(
    db: Database,
    writeOne: (channel: ChannelId, drafts: readonly MessageDraft[]) => Promise<AppendedRow[]>,
  ) {
    this.#db = db;
    this.#writeOne = writeOne;
  }

  /** Resolves once the messages are durable, with a row for each. */
  async write(channel: ChannelId, drafts: readonly MessageDraft[]): Promise<AppendedRow[]> {
    const written = Promise.withResolvers<AppendedRow[]>();
    this.#waiting.push({ channel, drafts, written });
    if (this.#writers < MAX_WRITERS) void this.#work();
    return written.promise;
  }

  async #work(): Promise<void> {
    this.#writers++;
    while (this.#waiting.length > 0) await this.#writeSome(this.#waiting.splice(0, MAX_BATCHES));
    this.#writers--;
  }

  /** Must not throw: each waiting batch is told. */
  async #writeSome(batches: readonly Waiting[]): Promise<void> {
    try {
      if (batches.length === 1) return await this.#writeAlone(batches);
      const rows = await this.#writeTogether(batches);
      const locked: Waiting[] = [];
      for (const [index, one] of batches.entries()) {
        const appended = rows[index] ?? [];
        if (appended.length > 0) one.written.resolve(appended);
        else locked.push(one);
      }
      if (locked.length > 0) await this.#writeAlone(locked);
    } catch (error) {
      // One of them cannot be stored: that is no reason to refuse the others.
      if (!(error instanceof WeirError && error.retryable)) return this.#writeEach(batches);
      for (const { written } of batches) written.reject(error);
    }
  }

  async #writeAlone(batches: readonly Waiting[]): Promise<void> {
    await withDeadline(this.#writeEach(batches), LOCKED_FOR_MS);
  }

  async #writeEach(batches: readonly Waiting[]): Promise<void> {
    await Promise.all(
      batches.map(async ({ channel, drafts, written }) => {
        await this.#writeOne(channel, drafts).then(written.resolve, written.reject);
      }),
    );
  }

  async #writeTogether(batches: readonly Waiting[]): Promise<AppendedRow[][]> {
    const rows = await this.#db.query<{ batch: number; seq: number; duplicate: boolean; due: boolean }>(
      "append_listened",
      "select * from append_listened($1)",
      [
        JSON.stringify(
          batches.map(({ channel, drafts }) => ({ channel, messages: drafts.map(draftRecord) })),
        ),
      ],
    );
    const perBatch = batches.map((): AppendedRow[] => []);
    for (const { batch, ...row } of rows) perBatch[batch - 1]?.push(row);
    return perBatch;
  }
}
