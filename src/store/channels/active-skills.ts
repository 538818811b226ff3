import type { ChannelId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import type { Database } from "../database/database.ts";

/** Rows of `active_skills`. */
export class ActiveSkillStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Names, the one that was taken up first before the others. */
  async names(channel: ChannelId): Promise<string[]> {
    const rows = await this.#db.query<{ name: string }>(
      {
        name: "skills_active",
        text: "select name from active_skills where channel_id = $1 order by since, name",
      },
      [channel],
    );
    return rows.map(({ name }) => name);
  }

  /** Once or twice is the same. */
  async activate(channel: ChannelId, name: string): Promise<void> {
    await this.#db.query(
      {
        name: "skill_activate",
        text: "insert into active_skills (channel_id, name) values ($1, $2) on conflict do nothing",
      },
      [channel, name],
    );
  }

  /** @param name null: all of them @returns the names of those that were active */
  async deactivate(channel: ChannelId, name: string | null): Promise<string[]> {
    const rows = await this.#db.query<{ name: string }>(
      {
        name: "skill_deactivate",
        text: "delete from active_skills where channel_id = $1 and ($2::text is null or name = $2) returning name",
      },
      [channel, name === null ? null : storableText(name)],
    );
    return rows.map((row) => row.name);
  }
}
