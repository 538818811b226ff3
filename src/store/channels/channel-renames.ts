import type { ChannelRename } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../database/rows.ts";

/** Ids that platforms have given to channels of the log since. */
export class ChannelRenameStore extends Rows {
  /** The oldest first. */
  async all(platform: string): Promise<ChannelRename[]> {
    return this.db.query<ChannelRename>(
      "channel_renames",
      "select id, first_id from channel_renames where platform = $1 order by noted_at, id",
      [platform],
    );
  }

  /** Twice is once; leaves a channel alone whose new id has messages of its own. */
  async note(platform: string, from: string, to: string): Promise<void> {
    await this.db.query("channel_rename", "select rename_channel($1, $2, $3)", [
      platform,
      storableText(from),
      storableText(to),
    ]);
  }
}
