import { channelId, type ChannelId, type Seq } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";

/** Texts that may go: of one summary's range, all from before some time. */
export interface OldTexts {
  readonly summary: number;
  /** Where the summary's range begins. */
  readonly summaryFrom: Seq;
  readonly first: Seq;
  readonly last: Seq;
}

/** Which summaries are looked at: resets or all others, from a place on in their order. */
export interface LookedAt {
  readonly isReset: boolean;
  readonly from: Seq;
  readonly summary: number;
}

/** Lets go what is old enough. Each step is a short transaction of its own. */
export class RetentionStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Channels with a summary whose texts may all be from before that time. */
  async channels(before: Date): Promise<ChannelId[]> {
    const rows = await this.#db.query<{ channel_id: number }>(
      { name: "retention_channels", text: "select channel_id from channels_with_old_texts($1)" },
      [before],
    );
    return rows.map((row) => channelId(row.channel_id));
  }

  /** The next texts of a channel that are all from before that time, `limit` entries at most; undefined: none may go. Takes no lock. */
  async nextTexts(
    channel: ChannelId,
    before: Date,
    limit: number,
    { isReset, from, summary }: LookedAt,
  ): Promise<OldTexts | undefined> {
    const [row] = await this.#db.query<{ summary: number; summary_from: Seq; first: Seq; last: Seq }>(
      {
        name: "retention_next",
        text: "select summary, summary_from, first, last from next_old_texts($1, $2, $3, $4, $5, $6)",
      },
      [channel, before, limit, isReset, from, summary],
    );
    if (row === undefined) return undefined;
    const { summary_from: summaryFrom, ...texts } = row;
    return { ...texts, summaryFrom };
  }

  /** Lets texts go that {@link nextTexts} has found. @returns entries whose text went; null: something has come between */
  async expireTexts(channel: ChannelId, { summary, first, last }: OldTexts): Promise<number | null> {
    const [row] = await this.#db.query<{ entries: number | null }>(
      { name: "retention_texts", text: "select expire_texts($1, $2, $3, $4) as entries" },
      [channel, summary, first, last],
    );
    return row?.entries ?? null;
  }

  /** Lets pictures go that were kept before that time. @returns how many went; fewer than `limit`: no other is old enough */
  async expireImages(before: Date, limit: number): Promise<number> {
    const [row] = await this.#db.query<{ count: number }>(
      { name: "retention_images", text: "select expire_images($1, $2) as count" },
      [before, limit],
    );
    return row?.count ?? 0;
  }
}
