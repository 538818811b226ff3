import type { EntryReference } from "../../core/entry.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { type ChannelRow, COLUMNS_OF_C, type RawChannel, toChannel } from "../channels/channels.ts";
import type { Digester } from "../compaction/extracts.ts";
import type { Database } from "../database/database.ts";
import { type DeletionEngine, lockShownIn, noteShownRemoved } from "./deletion-engine.ts";
import { termsRemoved } from "./removal.ts";

/** Which quotes: of one message, only if it was edited after what they have; or all of a person. */
export type QuotedWords =
  | { readonly messageId: string; readonly editedAt: Date | null }
  | { readonly person: string };

/** A condition on a row `q`: $1 the message, $2 the time of its edit, $3 the person. */
const CHOSEN = `(q.message_id = $1 and ($2::timestamptz is null or q.as_of < $2) or q.author_id = $3)`;

/** Messages that the log does not have, as they were when somebody replied to them. They are removed with what repeats them. */
export class QuoteStore {
  readonly #db: Database;
  readonly #engine: DeletionEngine;

  constructor(db: Database, engine: DeletionEngine) {
    this.#db = db;
    this.#engine = engine;
  }

  /** The quotes of messages of a channel, by the seqs of the messages that reply. */
  async of(channel: ChannelId, seqs: readonly Seq[]): Promise<Map<Seq, EntryReference>> {
    const rows = await this.#db.query<{ seq: Seq; at: Date; author: string; text: string }>(
      "quotes_of",
      "select seq, at, author_name as author, text from quotes where channel_id = $1 and seq = any($2)",
      [channel, seqs],
    );
    return new Map(rows.map(({ seq, ...quote }) => [seq, { ...quote, seq: 0 }]));
  }

  /** The channels of a platform that have such quotes. */
  async channels(platform: string, words: QuotedWords): Promise<ChannelRow[]> {
    const rows = await this.#db.query<RawChannel>(
      "quotes_channels",
      `select ${COLUMNS_OF_C} from channels c
        where c.platform = $4 and c.id in (select q.channel_id from quotes q where ${CHOSEN}) order by c.id`,
      [...valuesOf(words), platform],
    );
    return rows.map(toChannel);
  }

  /**
   * Removes such quotes from a channel, and what repeats them there.
   * @returns the first message that had one; undefined: there is none
   */
  async remove(channel: ChannelId, words: QuotedWords, digester: Digester): Promise<Seq | undefined> {
    return this.#db.transaction(async (tx) => {
      await lockShownIn(tx, channel);
      const rows = await tx.query<{ seq: Seq; text: string }>(
        "quotes_remove",
        `delete from quotes q where q.channel_id = $4 and ${CHOSEN} returning q.seq, q.text`,
        [...valuesOf(words), channel],
      );
      if (rows.length === 0) return undefined;
      const first = Math.min(...rows.map(({ seq }) => seq));
      await this.#engine.remove(tx, {
        channel,
        cause: { kind: "elsewhere" },
        seqs: [first],
        terms: termsRemoved(rows.map(({ text }) => text)),
        digester,
      });
      await noteShownRemoved(tx, channel);
      return first;
    });
  }
}

function valuesOf(words: QuotedWords): unknown[] {
  return "person" in words
    ? [null, null, storableText(words.person)]
    : [storableText(words.messageId), words.editedAt, null];
}
