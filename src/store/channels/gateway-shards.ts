import { Rows } from "../database/rows.ts";
import { TAKE_LIMIT_MS } from "./partitions.ts";
import type { GatewayPlace, KeptSession } from "../../core/gateway.ts";

export interface TakenShard {
  readonly shard: number;
  readonly epoch: number;
}

/** Who took a shard, for people. */
export interface ShardState extends TakenShard {
  readonly platform: string;
  /** Among how many shards the platform's servers are divided. */
  readonly of: number;
  /** The daemon that took it last. */
  readonly owner: string;
  readonly takenAt: Date;
}

/** Rows of `gateway_shards` and what belongs to them: how the daemons of a cluster share the connections to a platform. */
export class GatewayShardStore extends Rows {
  /**
   * Among how many shards the daemons divide a platform's servers: as many as this one wants, unless a daemon that is there has a shard
   * by another number.
   */
  async agree(platform: string, wanted: number): Promise<number> {
    const [row] = await this.db.query<{ shards: number }>(
      "gateway_shards_agree",
      "select agree_on_shards($1, $2::smallint) as shards",
      [platform, wanted],
    );
    return row?.shards ?? wanted;
  }

  /**
   * Raises the epochs of shards in one statement: earlier owners can no longer keep places of them.
   * @param of among how many shards the daemon takes the servers to be divided
   * @param member the daemon's row of `members`
   * @returns null: the daemons have agreed on another number of shards
   */
  async take(
    platform: string,
    shards: readonly number[],
    of: number,
    { owner, member }: { readonly owner: string; readonly member: string },
  ): Promise<TakenShard[] | null> {
    const rows = await this.db.query<TakenShard>(
      "gateway_shards_take",
      "select shard, epoch from take_shards($1, $2, $3::smallint, $4, $5)",
      [platform, shards, of, owner, member],
      TAKE_LIMIT_MS,
    );
    return rows.length === 0 && shards.length > 0 ? null : rows;
  }

  /** A daemon has given shards back in order: those that nobody has taken since. */
  async release(platform: string, held: readonly TakenShard[]): Promise<void> {
    await this.db.query(
      "gateway_shards_release",
      `update gateway_shards s set member = null from unnest($2::smallint[], $3::bigint[]) h(shard, epoch)
        where s.platform = $1 and s.shard = h.shard and s.epoch = h.epoch`,
      [platform, held.map(({ shard }) => shard), held.map(({ epoch }) => epoch)],
    );
  }

  /**
   * Takes the login of a bucket if it is free. A waiting daemon reserves nothing, so its end blocks no login.
   * @param everyMs between two logins of one bucket
   * @returns 0: it is taken; else after how long it may be free, ms, by the clock of the database
   */
  async takeLogin(platform: string, bucket: number, everyMs: number): Promise<number> {
    // A clock that was set back must not keep anybody waiting for longer than the pause.
    const [taken] = await this.db.query(
      "gateway_login_take",
      `insert into gateway_logins as l (platform, bucket, free_at)
       values ($1, $2, clock_timestamp() + $3 * interval '1 ms')
       on conflict (platform, bucket) do update set free_at = clock_timestamp() + $3 * interval '1 ms'
       where l.free_at <= clock_timestamp() or l.free_at > clock_timestamp() + $3 * interval '1 ms'
       returning true`,
      [platform, bucket, everyMs],
    );
    if (taken !== undefined) return 0;
    const [row] = await this.db.query<{ waitMs: number }>(
      "gateway_login_wait",
      `select greatest(1, ceil(extract(epoch from free_at - clock_timestamp()) * 1000))::float8 as wait_ms
         from gateway_logins where platform = $1 and bucket = $2`,
      [platform, bucket],
    );
    return row?.waitMs ?? 1;
  }

  /** Those that the platforms' servers are divided among now, as far as any daemon has taken them. */
  async all(): Promise<ShardState[]> {
    return this.db.query<ShardState>(
      "gateway_shards_all",
      `select s.platform, s.shard, c.shards as of, s.epoch, s.owner, s.taken_at
         from gateway_shards s join gateway_shard_counts c on c.platform = s.platform and s.shard < c.shards
        order by s.platform, s.shard`,
    );
  }
}

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
