import { WeirError } from "../../core/errors.ts";
import type { ChannelId } from "../../core/ids.ts";
import { messageData } from "./draft-rows.ts";
import {
  type Appended,
  type AppendedRow,
  draftRecord,
  draftValues,
  type MessageDraft,
  toAppended,
} from "./message-rows.ts";
import type { Database } from "../database/database.ts";
import { GroupCommit, sizeOfNext } from "../database/group-commit.ts";
import type { TurnClaim } from "../turns/turn-rows.ts";

const MAX_MESSAGES = 100;
/** A larger batch is a transaction of its own, and is told of with a pause. */
const AT_ONCE = 10;
/** Most channels of one transaction: all wait for the last of it. */
const MAX_CHANNELS = 16;
/** Nobody waits for messages that are only listened to. */
const MAX_LISTENED = 50;

/** Messages of one channel. */
interface Batch {
  readonly channel: ChannelId;
  readonly drafts: readonly MessageDraft[];
  readonly beginner: TurnClaim | null;
}

interface Waiting {
  readonly draft: MessageDraft;
  /** Of use only to a message that goes alone. */
  readonly beginner: TurnClaim | null;
  readonly appended: PromiseWithResolvers<Appended>;
}

/**
 * Appends messages in batches. Messages that are handed in during an append of their channel share the next transaction:
 * a burst or a page of a backfill costs a few commits. A channel has one append at a time, since a page is handed in at
 * once and keeps its order; the order of events that a platform delivers is the intake's.
 */
export class AppendQueue {
  readonly #db: Database;
  /** Messages that ask for an answer have a queue of their own, so that the others do not delay them. */
  readonly #addressed: GroupCommit<Batch, AppendedRow[]>;
  readonly #listened: GroupCommit<Batch, AppendedRow[]>;
  /** Messages that wait for the running append of their channel. */
  readonly #lanes = new Map<ChannelId, Waiting[]>();

  /** The last large batch that waits for its turn of the event loop. */
  #breath: Promise<unknown> = Promise.resolve();

  constructor(db: Database, writers: number) {
    this.#db = db;
    const parts = {
      most: MAX_CHANNELS,
      writers,
      lengthOf: ({ drafts }: Batch) => drafts.reduce((length, { text }) => length + text.length, 0),
      together: async (batches: readonly Batch[]) => this.#writeTogether(batches),
      alone: async (batch: Batch) => this.#write(batch),
    };
    this.#addressed = new GroupCommit(parts);
    this.#listened = new GroupCommit({ ...parts, most: MAX_LISTENED });
  }

  /** Resolves once the message is durable. */
  async append(channel: ChannelId, draft: MessageDraft, beginner: TurnClaim | null): Promise<Appended> {
    const appended = Promise.withResolvers<Appended>();
    const lane = this.#lanes.get(channel);
    if (lane === undefined) {
      const waiting = [{ draft, beginner, appended }];
      this.#lanes.set(channel, waiting);
      void this.#workOff(channel, waiting);
    } else lane.push({ draft, beginner, appended });
    return appended.promise;
  }

  async #workOff(channel: ChannelId, lane: Waiting[]): Promise<void> {
    // Messages of the same moment share a transaction.
    await Promise.resolve();
    while (lane.length > 0)
      await this.#appendSome(
        channel,
        lane.splice(
          0,
          sizeOfNext(lane, MAX_MESSAGES, ({ draft }) => draft.text.length),
        ),
      );
    this.#lanes.delete(channel);
  }

  /** Must not throw: each waiting message is told. */
  async #appendSome(channel: ChannelId, batch: readonly Waiting[]): Promise<void> {
    try {
      const drafts = batch.map(({ draft }) => draft);
      const one = { channel, drafts, beginner: batch[0]?.beginner ?? null };
      const shared = drafts.some(({ addressed }) => addressed) ? this.#addressed : this.#listened;
      const rows = await (drafts.length <= AT_ONCE ? shared.write(one) : this.#write(one));
      if (batch.length > AT_ONCE) await this.#breathe();
      for (const [index, { draft, appended }] of batch.entries()) {
        const row = rows[index];
        if (row === undefined) throw new Error("an append returned too few rows");
        appended.resolve(toAppended(draft, row));
      }
    } catch (error) {
      const isOfOne = batch.length > 1 && !(error instanceof WeirError && error.retryable);
      // One of them cannot be stored: that is no reason to refuse the others.
      if (isOfOne) for (const one of batch) await this.#appendSome(channel, [one]);
      else for (const { appended } of batch) appended.reject(error);
    }
  }

  /**
   * Large batches are reported one at a time, with a turn of the event loop between them: the work after the pages of ten
   * channels that end together would delay answers.
   */
  async #breathe(): Promise<void> {
    this.#breath = this.#breath.then(async () => new Promise((resolve) => setImmediate(resolve)));
    await this.#breath;
  }

  async #write({ channel, drafts, beginner }: Batch): Promise<AppendedRow[]> {
    const [only] = drafts;
    if (only !== undefined && drafts.length === 1) {
      return this.#db.query(
        "append_message",
        "select * from append_message($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        [
          channel,
          ...draftValues(only),
          beginner?.epoch ?? null,
          beginner?.lastSeq ?? null,
          messageData(only),
        ],
      );
    }
    return this.#db.query("append_messages", "select * from append_messages($1, $2)", [
      channel,
      JSON.stringify(drafts.map(draftRecord)),
    ]);
  }

  async #writeTogether(batches: readonly Batch[]): Promise<(AppendedRow[] | undefined)[]> {
    const rows = await this.#db.query<AppendedRow & { batch: number }>(
      "append_batches",
      "select * from append_batches($1)",
      [JSON.stringify(batches.map(batchRecord))],
    );
    const ofBatch = Map.groupBy(rows, ({ batch }) => batch);
    return batches.map((_, index) => ofBatch.get(index + 1));
  }
}

function batchRecord({ channel, drafts, beginner }: Batch): Record<string, unknown> {
  return {
    channel,
    epoch: beginner?.epoch ?? null,
    last: beginner?.lastSeq ?? null,
    messages: drafts.map(draftRecord),
  };
}
