import type { Database } from "../database/database.ts";

/** Up to when everything was heard that was said to a bot. */
export class ListeningWatermarkStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Null: it has never listened. */
  async read(platform: string, account: string): Promise<Date | null> {
    const [row] = await this.#db.query<{ heard_to: Date }>(
      {
        name: "heard_mark",
        text: "select heard_to from heard_marks where platform = $1 and account = $2",
      },
      [platform, account],
    );
    return row?.heard_to ?? null;
  }

  /** Moves the mark on. It never falls, but from a time to come: that was noted by a clock which was ahead. */
  async move(platform: string, account: string, at: Date): Promise<void> {
    await this.#db.query(
      {
        name: "heard_mark_move",
        text: `insert into heard_marks (platform, account, heard_to) values ($1, $2, $3)
               on conflict (platform, account)
               do update set heard_to = case when heard_marks.heard_to > clock_timestamp() then excluded.heard_to
                                             else greatest(heard_marks.heard_to, excluded.heard_to) end`,
      },
      [platform, account, at],
    );
  }
}
