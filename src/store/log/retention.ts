import { channelId, type ChannelId } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";

/** What one step of a retention has taken. */
export interface ExpiredTexts {
  /** Entries whose text went. */
  readonly entries: number;
  /** False: there was nothing to take. */
  readonly isAny: boolean;
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

  /** Lets the texts under one summary of a channel go, which are all from before that time. */
  async expireTexts(channel: ChannelId, before: Date, limit: number): Promise<ExpiredTexts> {
    const [row] = await this.#db.query<{ summary: number | null; entries: number }>(
      { name: "retention_texts", text: "select summary, entries from expire_texts($1, $2, $3)" },
      [channel, before, limit],
    );
    return { entries: row?.entries ?? 0, isAny: row !== undefined && row.summary !== null };
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
