import type { ChannelId, Seq } from "../../src/core/ids.ts";
import type { Queryable } from "../../src/store/database/queryable.ts";

/** Most entries that are ranked. */
const CANDIDATES = 4000;

/** Entries of a channel by the index alone: those up to `to` that hold any of `pick`, ranked by the server with all of `terms`. */
export async function byWords(
  db: Queryable,
  channel: ChannelId,
  { pick, terms, to, limit }: { pick: string; terms: string; to: Seq; limit: number },
): Promise<Seq[]> {
  const rows = await db.query<{ seq: Seq }>(
    "search_words",
    `select seq from (
       select seq, tsv from entry_search
        where channel_id + 0 = $1 and tsv @@ $2::tsquery and seq + 0 <= $4
        limit ${CANDIDATES}
     ) candidates order by ts_rank('{0.4, 0.4, 0.4, 1}', tsv, $3::tsquery) desc, seq desc limit $5`,
    [channel, pick, terms, to, limit],
  );
  return rows.map(({ seq }) => seq);
}
