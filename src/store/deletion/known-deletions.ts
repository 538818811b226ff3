import type { ChannelId, Owner, TurnId } from "../../core/ids.ts";
import type { Queryable } from "../database/queryable.ts";

/** Of which deletions a channel's owner knows: calls of a turn that may not know of one are logged without words. */

/**
 * Notes that the channel's owner has read the rows as they were after its last deletion, and no turn of it runs.
 * @param last when that was, as the snapshot says that was read: to the microsecond
 * @returns false: there is a later one, and nothing was noted
 */
export async function knowDeletions(
  client: Queryable,
  { channel, epoch }: Owner,
  last: string,
): Promise<boolean> {
  const [row] = await client.query<{ isAll: boolean }>(
    "deletions_known",
    "select know_deletions($1, $2, $3::timestamptz) as is_all",
    [channel, epoch, last],
  );
  return row?.isAll === true;
}

/** Whether nothing was deleted of what a turn's model may have read since its owner has read the rows. */
export async function knowsDeletions(client: Queryable, channel: ChannelId, turn: TurnId): Promise<boolean> {
  const [row] = await client.query<{ knows: boolean }>(
    "deletions_known_to",
    "select knows_deletions($1, $2) as knows",
    [channel, turn],
  );
  return row?.knows === true;
}
