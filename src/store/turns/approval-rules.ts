import type { ChannelId } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";

/** Calls of a tool with some arguments that need no approval. */
export interface ApprovalRule {
  readonly id: number;
  readonly tool: string;
  readonly arguments: string;
  /** Who has allowed it; "": not known any more. */
  readonly by: string;
  /** The number of the approval by which it was. */
  readonly approval: number;
}

/** Rules of a channel that are listed. */
const MOST = 500;

/** Rows of `approval_rules`: what is allowed from now on. A decision makes them. */
export class ApprovalRuleStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** What is allowed in a channel from now on, the oldest first. */
  async list(channel: ChannelId): Promise<ApprovalRule[]> {
    return this.#db.query<ApprovalRule>(
      {
        name: "approval_rules",
        text: `select r.id, r.tool, r.arguments, a.decided_name as by, r.approval_id as approval from approval_rules r join approvals a on a.id = r.approval_id
                where r.channel_id = $1 order by r.id limit $2`,
      },
      [channel, MOST],
    );
  }

  /** @returns false: there is no such rule */
  async end(channel: ChannelId, id: number): Promise<boolean> {
    const ended = await this.#db.query(
      {
        name: "approval_rule_end",
        text: "delete from approval_rules where channel_id = $1 and id = $2 returning id",
      },
      [channel, id],
    );
    return ended.length > 0;
  }
}
