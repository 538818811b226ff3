import type { ModelSpending } from "../../core/cost.ts";
import type { ChannelId } from "../../core/ids.ts";
import type { UsageKey } from "../../core/listings.ts";
import { OWN_AUTHOR } from "../../core/message.ts";
import { Rows } from "../database/rows.ts";
import { SPENDING } from "./model-calls.ts";

/** What calls of one model have cost, for whom or what. */
export interface Usage extends ModelSpending {
  /** `discord:1234` for a person or a channel, `2026-11-21` for a day; null: no person has asked for it. */
  readonly key: string | null;
  /** A person's newest name there; of anything else "". */
  readonly name: string;
}

export interface UsageScope {
  readonly since: Date;
  /** Default: all channels. */
  readonly channel?: ChannelId;
  /** Only what this person has asked for, by the platform's id. Default: everybody. */
  readonly person?: { readonly platform: string; readonly id: string };
}

/**
 * Calls with whom they count for. A turn that answers several people is that of who has asked first; that of a turn's
 * further work is its turn's; a compaction, an embedding, and work of Weir's own, nobody has asked for.
 */
const CALLS = `from model_calls m join channels c on c.id = m.channel_id
  left join turns t on t.id = m.turn_id
  left join lateral (
    select e.author_id, e.author_name from entries e
     where e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq and e.addressed and e.author_id <> '${OWN_AUTHOR}'
     order by e.seq limit 1) asker on true`;

const PERSON = "c.platform || ':' || asker.author_id";

const KEY_OF: Readonly<Record<UsageKey, string>> = {
  agent: "coalesce(t.agent, c.agent)",
  channel: "c.platform || ':' || c.name",
  person: PERSON,
  day: "to_char(m.at at time zone $4, 'YYYY-MM-DD')",
  model: "m.model",
  purpose: "m.purpose",
};

/** What was spent today for one agent, channel, person and model. */
export interface SpentToday extends ModelSpending {
  readonly agent: string;
  readonly channel: ChannelId;
  readonly address: string;
  /** As `discord:1234`; null: no person has asked for it. */
  readonly person: string | null;
  /** Of an embedding model. */
  readonly isEmbedding: boolean;
}

/** What model calls have cost, over channels. It writes nothing. */
export class UsageStore extends Rows {
  /**
   * Spendings by key and model.
   * @param timeZone in which a day begins
   */
  async by(key: UsageKey, { since, channel, person }: UsageScope, timeZone: string): Promise<Usage[]> {
    const name = key === "person" ? "asker.author_name" : "''::text";
    return this.db.query<Usage>(
      `usage_by_${key}`,
      `select key, coalesce((array_agg(name order by id desc))[1], '') as name, ${SPENDING}
         from (select ${KEY_OF[key]} as key, ${name} as name, m.*, $4::text as zone ${CALLS}
                where m.at >= $1 and ($2::bigint is null or m.channel_id = $2) and ($3::text is null or ${PERSON} = $3)
              ) calls
        group by key, model order by key, model`,
      [since, channel ?? null, person === undefined ? null : `${person.platform}:${person.id}`, timeZone],
    );
  }

  async today(timeZone: string, now: Date): Promise<SpentToday[]> {
    return this.db.query<SpentToday>(
      "usage_today",
      `select agent, channel, address, person, purpose = 'embedding' as is_embedding, ${SPENDING}
         from (select ${KEY_OF.agent} as agent, c.id as channel, ${KEY_OF.channel} as address, ${PERSON} as person, m.* ${CALLS}
                where m.at >= date_trunc('day', $2::timestamptz at time zone $1) at time zone $1) calls
        group by agent, channel, address, person, is_embedding, model`,
      [timeZone, now],
    );
  }
}
