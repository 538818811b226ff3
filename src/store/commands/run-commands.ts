import { randomUUID } from "node:crypto";
import { storableText } from "../../text/text.ts";
import type { Database } from "../database/database.ts";

/** Days that a command is remembered: a message that was missed for more than a week is not looked at as one any more. */
const KEPT_DAYS = 8;

/** Rows of `run_commands`. */
export class RunCommandStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** A token for {@link claim}. */
  newClaim(): string {
    return randomUUID();
  }

  /**
   * Notes that the command in a message is run. Once or twice with the same claim is the same.
   * @returns false: somebody else has run it
   */
  async claim(platform: string, messageId: string, claim: string): Promise<boolean> {
    const [row] = await this.#db.query<{ claim: string }>(
      {
        name: "command_claim",
        text: `with aged as (delete from run_commands where run_at < now() - make_interval(days => $4))
               insert into run_commands (platform, message_id, claim) values ($1, $2, $3)
               on conflict (platform, message_id) do update set claim = run_commands.claim returning claim`,
      },
      [platform, storableText(messageId), claim, KEPT_DAYS],
    );
    return row?.claim === claim;
  }
}
