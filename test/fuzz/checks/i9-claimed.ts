import type { ChannelId } from "../../../src/core/ids.ts";
import type { Database } from "../../../src/store/database/database.ts";

/**
 * Each message that is settled was one of those that some turn was begun for, or a reset went over it: what a turn has not
 * claimed it does not show its model as asked.
 * @returns what is wrong, in all of a channel's log
 */
export async function unclaimed(db: Database, channel: ChannelId): Promise<string[]> {
  const rows = await db.query<{ seq: number }>(
    "fuzz_unclaimed",
    `select e.seq from entries e join channels c on c.id = e.channel_id
      where c.id = $1 and e.addressed and e.seq <= c.settled_to
        and not exists (select from turns t where t.channel_id = c.id and e.seq between t.from_seq and t.to_seq)
        and not exists (select from summaries s where s.channel_id = c.id and s.kind = 'reset' and e.seq <= s.to_seq)`,
    [channel],
  );
  return rows.map(({ seq }) => `entry ${seq} is settled, and no turn was begun for it`);
}
