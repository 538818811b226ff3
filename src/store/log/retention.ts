import type { Database } from "../database/database.ts";

/** A picture by its place in the order in which pictures are looked through. */
export interface ImageKey {
  readonly platform: string;
  readonly messageId: string;
  readonly number: number;
}

/** Before all pictures. */
export const BEFORE_ALL_IMAGES: ImageKey = { platform: "", messageId: "", number: 0 };

/** Lets go what is old enough. Each step is a short transaction of its own. */
export class RetentionStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Lets the pictures of messages go that are covered by a summary, answered, and from before that time.
   * @param limit pictures that are looked at
   * @param behind they stand behind this one
   * @returns the last one that was looked at, and how many went; undefined: there is none behind
   */
  async expireImages(
    before: Date,
    limit: number,
    behind: ImageKey,
  ): Promise<{ readonly last: ImageKey; readonly expired: number } | undefined> {
    const [row] = await this.#db.query<{
      platform: string;
      message_id: string;
      number: number;
      expired: number;
    }>(
      {
        name: "retention_images",
        text: "select platform, message_id, number, expired from expire_images($1, $2, $3, $4, $5)",
      },
      [before, limit, behind.platform, behind.messageId, behind.number],
    );
    if (row === undefined) return undefined;
    const { platform, message_id: messageId, number, expired } = row;
    return { last: { platform, messageId, number }, expired };
  }
}
