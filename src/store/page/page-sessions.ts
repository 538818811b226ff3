import { Rows } from "../database/rows.ts";

/** How long a session lasts without a request, and at all. */
const IDLE = "interval '12 hours'";
const LONGEST = "interval '7 days'";

/** Sessions of people who are signed in to the page, by hashes of their secrets. All daemons of the database share them. */
export class PageSessionStore extends Rows {
  /** @returns false: the code has begun a session before */
  async begin(code: Buffer, secretHash: Buffer, now: Date): Promise<boolean> {
    const begun = await this.db.query(
      "page_session_begin",
      `with ended as (delete from page_sessions where used_at <= $3::timestamptz - ${IDLE} or began_at <= $3::timestamptz - ${LONGEST})
       insert into page_sessions (code, secret_hash, began_at, used_at) values ($1, $2, $3::timestamptz, $3::timestamptz)
       on conflict (code) do nothing returning true as begun`,
      [code, secretHash, now],
    );
    return begun.length > 0;
  }

  /** Notes that a session is used. @returns false: there is none, or it has ended */
  async use(secretHash: Buffer, now: Date): Promise<boolean> {
    const used = await this.db.query(
      "page_session_use",
      `update page_sessions set used_at = greatest(used_at, $2)
        where secret_hash = $1 and used_at > $2::timestamptz - ${IDLE} and began_at > $2::timestamptz - ${LONGEST} returning true as used`,
      [secretHash, now],
    );
    return used.length > 0;
  }

  /** Its code stays known. */
  async end(secretHash: Buffer): Promise<void> {
    await this.db.query(
      "page_session_end",
      "update page_sessions set secret_hash = null where secret_hash = $1",
      [secretHash],
    );
  }
}
