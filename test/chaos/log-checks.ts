import { z } from "zod";
import type { Home } from "../support/e2e.ts";
import { MOST_CHARACTERS } from "./answers.ts";
import type { People } from "./people.ts";
import type { Sql } from "./sql.ts";

/** Something that must not be. `lost` and `doubled` are what the kills are about. */
export interface Problem {
  readonly kind: "lost" | "doubled" | "wrong";
  readonly what: string;
}

/** Statements whose rows are problems. Each returns a column `what`. */
const RULES: readonly { readonly kind: Problem["kind"]; readonly sql: string }[] = [
  {
    kind: "lost",
    sql: `select format('channel %s: last_seq %s, %s entries up to %s', c.id, c.last_seq, count(e.seq), max(e.seq)) as what
            from channels c left join entries e on e.channel_id = c.id group by c.id
          having c.last_seq <> count(e.seq) or c.last_seq <> coalesce(max(e.seq), 0)`,
  },
  {
    kind: "wrong",
    sql: `select format('channel %s is covered to %s, its live summaries to %s (%s entries)', c.id, c.covered_to,
                        max(s.to_seq), sum(s.to_seq - s.from_seq + 1)) as what
            from channels c left join summaries s on s.channel_id = c.id and s.live group by c.id
          having c.covered_to <> coalesce(max(s.to_seq), 0) or c.covered_to <> coalesce(sum(s.to_seq - s.from_seq + 1), 0)`,
  },
  {
    kind: "doubled",
    sql: `select format('message %s (channel %s, seq %s): settled by %s turns', e.message_id, e.channel_id, e.seq, count(t.id)) as what
            from entries e join turns t on t.channel_id = e.channel_id and t.state <> 'running'
             and e.seq between t.from_seq and t.to_seq
           where e.addressed group by e.channel_id, e.seq having count(t.id) > 1`,
  },
  {
    kind: "lost",
    sql: `select format('message %s (channel %s, seq %s): passed over by settled_to', e.message_id, c.id, e.seq) as what
            from channels c join entries e on e.channel_id = c.id and e.addressed and e.seq <= c.settled_to
           where not exists (select from turns t where t.channel_id = c.id and t.state <> 'running'
                                and e.seq between t.from_seq and t.to_seq)`,
  },
  {
    kind: "wrong",
    sql: `select format('turn %s of channel %s (%s) has %s last entries, settled_to is %s', t.id, c.id, t.state, count(e.seq), c.settled_to) as what
            from turns t join channels c on c.id = t.channel_id
            left join entries e on e.channel_id = c.id and e.turn_id = t.id and e.kind in ('assistant', 'notice')
           group by t.id, c.id
          having count(e.seq) <> (t.state in ('answered', 'failed'))::integer
              or (t.state <> 'running') <> (t.to_seq <= c.settled_to)`,
  },
  {
    kind: "lost",
    // Kills and troubles of the database are no attempts of a turn.
    sql: `select format('turn %s of channel %s was given up: %s', id, channel_id, reason) as what
            from turns where state = 'failed' and reason like 'gave up%'`,
  },
  {
    kind: "wrong",
    sql: `select format('turn %s: %s calls, %s results', turn_id, sum(calls), sum(results)) as what from (
            select turn_id, case kind when 'tool_call' then jsonb_array_length(data->'calls') else 0 end as calls,
                   (kind = 'tool_result')::integer as results
              from entries where kind in ('tool_call', 'tool_result')) of_turn
           group by turn_id having sum(calls) <> sum(results)`,
  },
  {
    kind: "wrong",
    // Only what the service takes in several messages has several parts, and then one row each.
    sql: `select format('turn %s, %s: %s deliveries up to part %s for %s characters, of them failed %s', t.id, t.state, count(d.id),
                        max(d.part), length(e.text), count(d.id) filter (where d.state = 'failed')) as what
            from turns t join channels c on c.id = t.channel_id left join deliveries d on d.turn_id = t.id
            left join entries e on e.channel_id = t.channel_id and e.turn_id = t.id and e.kind in ('assistant', 'notice')
           where t.state in ('answered', 'failed') group by t.id, c.id, e.channel_id, e.seq
          having count(d.id) = 0 or max(d.part) <> count(d.id) - 1 or bool_or(d.state = 'failed')
              or (count(d.id) > 1) <> (c.platform = 'loopback' and length(e.text) > ${MOST_CHARACTERS})`,
  },
];

interface Watermarks {
  readonly id: number;
  readonly settled_to: number;
  readonly covered_to: number;
  readonly omitted_to: number;
}

interface LoggedMessage {
  readonly channel_id: number;
  readonly platform: string;
  readonly name: string;
  readonly seq: number;
  readonly message_id: string;
  readonly author_name: string;
  readonly text: string;
  readonly deleted: boolean;
}

/** Looks at the log after each kill, when nobody writes to it. */
export class LogChecks {
  /** Where each message stands, by its mark. */
  readonly seqs = new Map<string, { readonly channel: string; readonly seq: number }>();
  /** Seqs of what persons said, by channel. */
  readonly userSeqs = new Map<string, number[]>();
  readonly channelIds = new Map<string, number>();
  readonly #sql: Sql;
  readonly #people: People;
  readonly #read = new Map<number, number>();
  #watermarks = new Map<number, Watermarks>();

  constructor(sql: Sql, people: People) {
    this.#sql = sql;
    this.#people = people;
  }

  async problems(): Promise<Problem[]> {
    const found: Problem[] = await this.#readNew();
    for (const { kind, sql } of RULES) {
      for (const { what } of await this.#sql.rows<{ what: string }>(sql)) found.push({ kind, what });
    }
    found.push(...(await this.#falling()));
    for (const one of this.#people.said.values()) {
      const place = this.seqs.get(one.id);
      if (one.seq !== null && place?.seq !== one.seq) {
        found.push({
          kind: "lost",
          what: `${one.id} was accepted at ${one.seq}, the log has it at ${place?.seq}`,
        });
      }
    }
    for (const what of this.#people.complaints.splice(0)) found.push({ kind: "doubled", what });
    return found;
  }

  /** Takes in what the log has since the last look, and compares it with what was said. */
  async #readNew(): Promise<Problem[]> {
    const found: Problem[] = [];
    for (const { id, last_seq: last } of await this.#sql.rows<{ id: number; last_seq: number }>(
      "select id, last_seq from channels",
    )) {
      const rows = await this.#sql.rows<LoggedMessage>(
        `select e.channel_id, c.platform, c.name, e.seq, e.message_id, e.author_name, e.text, e.deleted_at is not null as deleted
           from entries e join channels c on c.id = e.channel_id
          where e.channel_id = $1 and e.seq > $2 and e.kind = 'user' order by e.seq`,
        [id, this.#read.get(id) ?? 0],
      );
      for (const row of rows) found.push(...this.#take(row));
      this.#read.set(id, last);
    }
    return found;
  }

  #take({
    channel_id: id,
    platform,
    name,
    seq,
    message_id: mark,
    author_name: author,
    text,
    deleted,
  }: LoggedMessage): Problem[] {
    const channel = `${platform}:${name}`;
    const said = this.#people.said.get(mark);
    const isKnown = this.seqs.has(mark);
    this.seqs.set(mark, { channel, seq });
    this.userSeqs.set(channel, [...(this.userSeqs.get(channel) ?? []), seq]);
    this.channelIds.set(channel, id);
    if (isKnown) return [{ kind: "doubled", what: `${mark} is in the log twice` }];
    if (said === undefined) return [{ kind: "wrong", what: `nobody said ${mark}` }];
    const isSame = said.channel === name && said.platform === platform && said.author === author;
    // What no model has read is replaced by an edit.
    if (isSame && (said.text === text || said.newText === text || (said.isChanged && deleted))) return [];
    return [{ kind: "wrong", what: `${mark} is in the log otherwise than it was said` }];
  }

  async #falling(): Promise<Problem[]> {
    const rows = await this.#sql.rows<Watermarks>(
      "select id, settled_to, covered_to, omitted_to from channels",
    );
    const fallen = rows.filter((now) => {
      const before = this.#watermarks.get(now.id) ?? now;
      return (["settled_to", "covered_to", "omitted_to"] as const).some((key) => now[key] < before[key]);
    });
    this.#watermarks = new Map(rows.map((row) => [row.id, row]));
    return fallen.map(({ id }) => ({ kind: "wrong", what: `a watermark of channel ${id} fell` }));
  }
}

const logLine = z.object({ seq: z.number(), messageId: z.string().optional() });

/** What `weir log --json` shows of a channel of each platform is what the rows were. */
export async function logProblems(home: Home, { seqs, channelIds }: LogChecks): Promise<Problem[]> {
  const found: Problem[] = [];
  const platforms = Map.groupBy(channelIds.keys(), (channel) => channel.split(":")[0]);
  for (const channel of [...platforms.values()].flatMap(([first]) => first ?? [])) {
    const { out } = await home.run("log", channel, "--json");
    const log = out.map((line) => logLine.parse(JSON.parse(line)));
    const shown = log.flatMap(({ messageId, seq }) =>
      messageId === undefined ? [] : `${messageId} at ${seq}`,
    );
    const known = [...seqs].flatMap(([mark, place]) =>
      place.channel === channel ? `${mark} at ${place.seq}` : [],
    );
    if (shown.toSorted().join() !== known.toSorted().join()) {
      found.push({
        kind: "lost",
        what: `weir log ${channel} shows ${shown.length} messages of ${known.length}`,
      });
    }
    if (log.some(({ seq }, index) => seq !== index + 1))
      found.push({ kind: "lost", what: `weir log ${channel} has gaps` });
  }
  return found;
}
