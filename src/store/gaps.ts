import type { ChannelAddress } from "../core/ids.ts";
import {
  type ChannelDescription,
  type ChannelRow,
  COLUMNS_OF_C,
  OWN_IDS,
  type RawChannel,
  toChannel,
} from "./channels.ts";
import type { Database } from "./pool.ts";

/** A channel whose messages after `afterId` may not all be in the log. */
export interface GapRow extends ChannelRow {
  readonly afterId: string;
}

const GAPS = `select ${COLUMNS_OF_C}, coalesce(c.fetched_to, said.message_id) as after_id
  from channels c left join lateral (
    select e.message_id, e.at from entries e
     where e.channel_id = c.id and e.kind = 'user' and not (e.message_id like any ($2))
     order by e.seq desc limit 1) said on true
 where c.platform = $1 and c.gone_at is null and coalesce(c.fetched_to, said.message_id) is not null`;

type RawGap = RawChannel & { readonly after_id: string };

function toGap(row: RawGap): GapRow {
  return { ...toChannel(row), afterId: row.after_id };
}

/** From where on messages of channels may be missing. */
export class GapStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Channels of a platform with the last message before which none is missing; the newest activity first. */
  async all(platform: string, limit: number): Promise<GapRow[]> {
    const rows = await this.#db.query<RawGap>(
      { name: "channels_gaps", text: `${GAPS} order by c.fetched_to is null, said.at desc limit $3` },
      [platform, OWN_IDS, limit],
    );
    return rows.map(toGap);
  }

  /** The same of one channel; undefined: nothing of it is in the log. */
  async of({ platform, name }: ChannelAddress): Promise<GapRow | undefined> {
    const values = [platform, OWN_IDS, name];
    const [row] = await this.#db.query<RawGap>(
      { name: "channel_gap", text: `${GAPS} and c.name = $3` },
      values,
    );
    return row && toGap(row);
  }

  /**
   * A gap is open behind that message, or behind an earlier one where that is on record: what is missing between the two would
   * never be looked for. The channel's row is made where it is new. Ids of a channel are numbers, or have the same form and
   * length, so the longer one came later.
   */
  async keep(channel: ChannelDescription, afterId: string): Promise<void> {
    const { address, kind, workspace, place, agent } = channel;
    await this.#db.query(
      {
        name: "channel_keep_gap",
        text: `insert into channels (platform, name, kind, workspace, place, agent, fetched_to)
               values ($1, $2, $3, $4, $5, $6, $7)
               on conflict (platform, name) do update set fetched_to = case
                 when (length(channels.fetched_to), channels.fetched_to collate "C")
                    < (length(excluded.fetched_to), excluded.fetched_to collate "C") then channels.fetched_to
                 else excluded.fetched_to end`,
      },
      [address.platform, address.name, kind, workspace, place ?? null, agent, afterId],
    );
  }

  async close(address: ChannelAddress): Promise<void> {
    await this.#db.query(
      {
        name: "channel_close_gap",
        text: `update channels set fetched_to = null
                where platform = $1 and name = $2 and fetched_to is not null`,
      },
      [address.platform, address.name],
    );
  }
}
