import { Rows } from "../database/rows.ts";

/** A daemon of a cluster, as it has last told of itself. */
export interface Member {
  /** Of one run. */
  readonly id: string;
  /** Its name in the cluster: two may have the same while one leaves, or is cut off. */
  readonly name: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: Date;
  /** How long ago it told of itself, by the clock of the database, ms. */
  readonly silentMs: number;
  /** Somebody has asked it to hand its partitions on. */
  readonly isDrained: boolean;
  readonly held: readonly number[];
  /** Identifies the daemon's signing key; null: it has none. */
  readonly keyId: string | null;
  /** As it has written it; it may be of another version. */
  readonly vitals: unknown;
}

/** A share of the channels: who took it, and what waits in it. */
export interface PartitionState {
  readonly id: number;
  readonly epoch: number;
  /** The daemon that took it last; null: it was never taken. */
  readonly owner: string | null;
  readonly takenAt: Date | null;
  readonly channels: number;
  /** Channels in which a message waits for its turn, and for how long the oldest has, ms. */
  readonly due: { readonly channels: number; readonly longestMs: number };
}

export type Presence = Omit<Member, "silentMs" | "isDrained" | "vitals"> & { readonly vitals: object };

/** Silence after which a daemon counts as absent, ms: it reports every two seconds. */
export const GONE_MS = 10_000;

/** Whether the last report of a daemon is recent. Pure. */
export function isPresent({ silentMs }: Pick<Member, "silentMs">): boolean {
  return silentMs < GONE_MS;
}

/** Rows of daemons that were killed are shown for so long, s. */
const KEPT_S = 3600;

/** Rows of `members`: the daemons of a cluster, for people. Decided by them are only who is to be drained, and whether old texts wait. */
export class MemberStore extends Rows {
  /** Tells that a daemon is there. @returns whether it is to hand on its partitions */
  async tell({ id, name, version, host, pid, startedAt, held, keyId, vitals }: Presence): Promise<boolean> {
    const [row] = await this.db.query<{ isDrained: boolean }>(
      "member_tell",
      `with aged as (delete from members where seen_at < clock_timestamp() - ${KEPT_S} * interval '1 s' and id <> $1)
       insert into members (id, name, version, host, pid, started_at, held, vitals, key_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       on conflict (id) do update set seen_at = clock_timestamp(), held = excluded.held, vitals = excluded.vitals,
         key_id = excluded.key_id
       returning is_drained`,
      [id, name, version, host, pid, startedAt, held, JSON.stringify(vitals), keyId],
    );
    return row?.isDrained === true;
  }

  /** A daemon has ended in order. */
  async remove(id: string): Promise<void> {
    await this.db.query("member_remove", "delete from members where id = $1", [id]);
  }

  /** Also those that are gone for a while; by name, the youngest of a name first. */
  async all(): Promise<Member[]> {
    return this.db.query<Member>(
      "members_all",
      `select id, name, version, host, pid, started_at, is_drained, held, key_id, vitals,
              greatest(0, extract(epoch from clock_timestamp() - seen_at) * 1000)::float8 as silent_ms
         from members order by name, started_at desc`,
    );
  }

  /** Present members with another signing key or none: they cannot compare fingerprints made with this key. */
  async strangersTo(keyId: string): Promise<Pick<Member, "name" | "host">[]> {
    return this.db.query<{ name: string; host: string }>(
      "members_strange",
      `select name, host from members
        where seen_at > clock_timestamp() - ${GONE_MS} * interval '1 ms' and key_id is distinct from $1
        order by name, host`,
      [keyId],
    );
  }

  /** Asks the daemons of a name that are there to hand on their partitions, or takes that back. @returns how many are asked */
  async setDrained(name: string, isDrained: boolean): Promise<number> {
    const rows = await this.db.query(
      "members_drain",
      `update members set is_drained = $2
        where name = $1 and seen_at > clock_timestamp() - ${GONE_MS} * interval '1 ms' returning id`,
      [name, isDrained],
    );
    return rows.length;
  }

  async partitions(): Promise<PartitionState[]> {
    return this.db.query<PartitionState>(
      "members_partitions",
      `select p.id, p.epoch, p.owner, p.taken_at, coalesce(c.channels, 0) as channels, json_build_object(
                'channels', coalesce(c.due, 0), 'longestMs', coalesce(greatest(0, c.longest_ms), 0)::float8) as due
         from partitions p left join (
                select c.partition, count(*) as channels, count(d.appended_at) as due,
                       extract(epoch from clock_timestamp() - min(d.appended_at)) * 1000 as longest_ms
                  from channels c left join lateral (
                         select e.appended_at from entries e
                          where c.due_to > c.settled_to and e.channel_id = c.id and e.addressed and e.seq > c.settled_to
                          order by e.seq limit 1) d on true
                 group by c.partition) c on c.partition = p.id
        order by p.id`,
    );
  }
}
