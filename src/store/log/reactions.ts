import type { ChannelAddress, ChannelId } from "../../core/ids.ts";
import { REACTION_PREFIX } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import { ADDRESS_OF_C } from "../channels/channels.ts";
import { Rows } from "../database/rows.ts";

/** A reaction in the log, given or taken back. */
export interface ReactionRow {
  readonly channel: ChannelId;
  readonly address: ChannelAddress;
  readonly id: string;
  readonly person: string;
  readonly at: Date;
  readonly isTakenBack: boolean;
}

export class ReactionStore extends Rows {
  /** All that were ever given under a message, by the person or by anybody; the oldest first. */
  async under(platform: string, messageId: string, person: string | null): Promise<ReactionRow[]> {
    return this.db.query<ReactionRow>(
      "reactions_under",
      `select e.channel_id as channel, ${ADDRESS_OF_C} as address, e.message_id as id, e.author_id as person, e.at,
              e.deleted_at is not null as is_taken_back
         from entries e join channels c on c.id = e.channel_id
        where e.reply_to = $2 and e.message_id like '${REACTION_PREFIX}%' and c.platform = $1
          and ($3::text is null or e.author_id = $3)
        order by e.channel_id, e.seq`,
      [platform, storableText(messageId), person === null ? null : storableText(person)],
    );
  }
}
