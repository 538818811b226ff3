import type { EntryReference } from "../../core/entry.ts";
import type { AgentId, ChannelId, Seq } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";
import { readSaid, said } from "../log/entry-rows.ts";

export interface LineRange {
  readonly channel: ChannelId;
  readonly from: Seq;
  readonly to: Seq;
}

export interface LineFilter {
  /** People by their names as the log has them, or an agent; null: whoever said it. */
  readonly by: SpokenBy | null;
  /** Said at this time or later; null: no limit. */
  readonly since: Date | null;
  /** Said before this time; null: no limit. */
  readonly until: Date | null;
}

/** `agent`: null: the channel's own. */
export type SpokenBy = { readonly names: readonly string[] } | { readonly agent: AgentId | null };

export interface SpokenName {
  readonly name: string;
  readonly newest: Seq;
}

/** What people and agents said. The stand-in is left out: it repeats others. */
const SPOKEN = "e.kind in ('user', 'assistant') and e.data->'standIn' is null";
const KEPT = `${SPOKEN} and e.expired_at is null`;
const LEFT = `${KEPT} and e.deleted_at is null`;
const IN_RANGE = "e.channel_id = $1 and e.seq between $2 and $3";
/** A {@link LineFilter} by $4 to $8. */
const WANTED = `case when $7::boolean then e.kind = 'assistant' and e.data->>'agent' is not distinct from $8::text
                     else $4::text[] is null or e.author_name = any($4) end
  and ($5::timestamptz is null or e.at >= $5) and ($6::timestamptz is null or e.at < $6)`;

function values({ channel, from, to }: LineRange, { by, since, until }: LineFilter): unknown[] {
  const names = by !== null && "names" in by ? by.names : null;
  const agent = by !== null && "agent" in by ? by : null;
  return [channel, from, to, names, since, until, agent !== null, agent?.agent ?? null];
}

/** Lines of a channel's log by who said them, when, and beside which others. Each look-up ends with its signal. */
export class SpokenLineStore extends Rows {
  /** The names under which people spoke in a range. */
  async names({ channel, from, to }: LineRange, signal?: AbortSignal): Promise<SpokenName[]> {
    return this.db.lookUps(signal).query<SpokenName>(
      "lines_names",
      // Work of Weir's own is taken out by the newest line of each name: by every line that took three times as long.
      `select n.name, n.newest from (
         select e.author_name as name, max(e.seq) as newest from entries e
          where ${IN_RANGE} and e.kind = 'user' and e.deleted_at is null group by e.author_name
       ) n join entries e on e.channel_id = $1 and e.seq = n.newest
        where not is_due_work(e.message_id) order by n.newest desc`,
      [channel, from, to],
    );
  }

  /** The first and the last of the wanted lines; null: there is none. */
  async span(
    range: LineRange,
    filter: LineFilter,
    signal?: AbortSignal,
  ): Promise<{ readonly from: Seq; readonly to: Seq } | null> {
    const [row] = await this.db
      .lookUps(signal)
      .query<{ from: Seq; to: Seq }>(
        "lines_span",
        `select min(e.seq) as "from", max(e.seq) as "to" from entries e where ${IN_RANGE} and ${LEFT} and ${WANTED} having count(*) > 0`,
        values(range, filter),
      );
    return row ?? null;
  }

  /** Those of some lines that are wanted, in their order. */
  async among(
    range: LineRange,
    filter: LineFilter,
    seqs: readonly Seq[],
    signal?: AbortSignal,
  ): Promise<Seq[]> {
    if (seqs.length === 0) return [];
    const rows = await this.db
      .lookUps(signal)
      .query<{ seq: Seq }>(
        "lines_among",
        `select e.seq from entries e where ${IN_RANGE} and e.seq = any($9) and ${LEFT} and ${WANTED}`,
        [...values(range, filter), seqs],
      );
    const wanted = new Set(rows.map(({ seq }) => seq));
    return seqs.filter((seq) => wanted.has(seq));
  }

  /** The newest of the wanted lines, the last first. */
  async newest(range: LineRange, filter: LineFilter, limit: number, signal?: AbortSignal): Promise<Seq[]> {
    const rows = await this.db
      .lookUps(signal)
      .query<{ seq: Seq }>(
        "lines_newest",
        `select e.seq from entries e where ${IN_RANGE} and ${LEFT} and ${WANTED} order by e.seq desc limit $9`,
        [...values(range, filter), limit],
      );
    return rows.map(({ seq }) => seq);
  }

  /** Up to `count` lines before and after each of some lines, the nearest first. */
  async beside(
    { channel, from, to }: LineRange,
    seqs: readonly Seq[],
    count: number,
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<Seq, readonly Seq[]>> {
    if (count === 0 || seqs.length === 0) return new Map();
    const side = (compare: string, order: string): string =>
      `(select e.seq from entries e where ${IN_RANGE} and e.seq ${compare} h.seq and ${LEFT} order by e.seq ${order} limit $5)`;
    const rows = await this.db.lookUps(signal).query<{ line: Seq; near: Seq }>(
      "lines_beside",
      `select h.seq as line, n.seq as near from unnest($4::bigint[]) h (seq)
        cross join lateral (${side("<", "desc")} union all ${side(">", "asc")}) n
        order by line, abs(n.seq - h.seq), near`,
      [channel, from, to, seqs, count],
    );
    const lines = Map.groupBy(rows, ({ line }) => line);
    return new Map([...lines].map(([line, found]) => [line, found.map(({ near }) => near)]));
  }

  /** What is said at some seqs, in their order; without deleted lines. */
  async at(channel: ChannelId, seqs: readonly Seq[], signal?: AbortSignal): Promise<EntryReference[]> {
    if (seqs.length === 0) return [];
    const rows = await readSaid(this.db.lookUps(signal), {
      name: "lines_at",
      seqs: "$2::bigint[]",
      values: [channel, seqs],
    });
    return rows.filter(({ standIn }) => !standIn).map(said);
  }

  /** The first lines of a range whose texts are kept, in order, deleted ones too: without their text. */
  async first(
    { channel, from, to }: LineRange,
    limit: number,
    signal?: AbortSignal,
  ): Promise<EntryReference[]> {
    const rows = await readSaid(this.db.lookUps(signal), {
      name: "lines_first",
      seqs: `array(select e.seq from entries e where ${IN_RANGE} and ${KEPT} order by e.seq limit $4)`,
      values: [channel, from, to, limit],
      withDeleted: true,
    });
    return rows.map(said);
  }
}
