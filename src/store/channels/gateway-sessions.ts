import type { GatewayPlace, KeptSession } from "../../core/gateway.ts";
import { Rows } from "../database/rows.ts";

/** Rows of `gateway_sessions`: where the next start goes on. */
export class GatewaySessionStore extends Rows {
  /** @returns undefined: none was kept. `ageMs`: since it was known to live, by the clock of the database */
  async read(platform: string, shard: number): Promise<KeptSession | undefined> {
    const [row] = await this.db.query<KeptSession>(
      "gateway_session",
      `select shard, shards, account, session, resume_url, sequence,
              (extract(epoch from clock_timestamp() - heard_at) * 1000)::float8 as age_ms
         from gateway_sessions where platform = $1 and shard = $2`,
      [platform, shard],
    );
    return row;
  }

  /**
   * Replaces what was kept of that shard. Of one session the sequence never falls.
   * @param epoch with which the daemon has taken the shard; null: it belongs to no cluster
   * @returns false: another daemon has taken the shard since, and what it keeps stays
   */
  async keep(platform: string, row: GatewayPlace, epoch: number | null): Promise<boolean> {
    const { shard, shards, account, session, resumeUrl, sequence } = row;
    const kept = await this.db.query(
      "gateway_session_keep",
      `with held as materialized (
         select from gateway_shards s where s.platform = $1 and s.shard = $2 and s.epoch = $8::bigint for share)
       insert into gateway_sessions as g (platform, shard, shards, account, session, resume_url, sequence)
       select $1, $2::smallint, $3::smallint, $4, $5, $6, $7::bigint where $8::bigint is null or exists (select from held)
       on conflict (platform, shard) do update set
         shards = excluded.shards, account = excluded.account, session = excluded.session,
         resume_url = excluded.resume_url, heard_at = clock_timestamp(),
         sequence = case when g.session = excluded.session then greatest(g.sequence, excluded.sequence)
                         else excluded.sequence end
       returning shard`,
      [platform, shard, shards, account, session, resumeUrl, sequence, epoch],
    );
    return kept.length > 0;
  }
}
