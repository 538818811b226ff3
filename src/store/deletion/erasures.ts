import type { ChannelAddress } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";

/** Channels that were deleted on their platform, and their remaining messages. */
export class ErasureStore extends Rows {
  /** Notes that a channel was deleted, its threads with it. @returns how many of them the log knows */
  async note({ platform, name }: ChannelAddress, at: Date): Promise<number> {
    const rows = await this.db.query(
      "channel_gone",
      `update channels set gone_at = coalesce(gone_at, $3)
        where platform = $1 and (name = $2 or (kind = 'thread' and place->'parent'->>'id' = $2))
       returning id`,
      [platform, name, at],
    );
    return rows.length;
  }

  /** Some deleted channels with remaining messages, the earliest deleted first. */
  async open(limit: number): Promise<ChannelAddress[]> {
    return this.db.query<{ platform: string; name: string }>(
      "channels_to_erase",
      `select c.platform, c.name from channels c
        where c.gone_at is not null and exists (
          select from entries e where e.channel_id = c.id and e.kind = 'user' and e.deleted_at is null)
        order by c.gone_at, c.id limit $1`,
      [limit],
    );
  }

  /** The platform's ids of some remaining messages of a channel; the oldest first. */
  async left({ platform, name }: ChannelAddress, limit: number): Promise<string[]> {
    const rows = await this.db.query<{ messageId: string }>(
      "channel_left",
      `select e.message_id from channels c join entries e on e.channel_id = c.id
        where c.platform = $1 and c.name = $2 and e.kind = 'user' and e.deleted_at is null
        order by e.seq limit $3`,
      [platform, name, limit],
    );
    return rows.map((row) => row.messageId);
  }
}
