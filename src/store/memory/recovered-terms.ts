import { setImmediate } from "node:timers/promises";
import { argumentValues, type ToolCall } from "../../core/entry.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import { splitPrints, type TermKeys } from "../log/fingerprints.ts";

/**
 * Terms of texts that are no longer kept, as far as anything may tell of them: the terms of all that a deletion looks through, of which
 * the fingerprints are those of the texts. Nobody else's terms are found, and what nothing tells needs no deletion.
 */

/** A message that is taken back and whose text is no longer kept. */
interface ExpiredText {
  readonly seq: Seq;
  /** Null: there are none, so that it may have said anything. */
  readonly key: string | null;
  /** Of what it said, in hexadecimal. */
  readonly prints: string;
}

/** Up to where a channel was looked through. */
export interface LookedThrough {
  /** What was found there. */
  readonly terms: ReadonlySet<string>;
  /** The last of its entries; no word of theirs is new since. */
  readonly to: Seq;
  /** The oldest transaction that may have changed other rows since; null: none was looked at. */
  readonly since: string | null;
}

async function readExpired(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<readonly ExpiredText[]> {
  return client.query<ExpiredText>(
    {
      name: "prints_of_entries",
      text: `select e.seq, p.key_id as key, coalesce(encode(p.said, 'hex'), '') as prints
               from entries e left join entry_prints p on p.channel_id = e.channel_id and p.seq = e.seq
              where e.channel_id = $1 and e.seq = any($2) and e.expired_at is not null order by e.seq`,
    },
    [channel, seqs],
  );
}

/** Texts that are looked through before something else has its turn. */
const AT_ONCE = 200;

const NOTHING: LookedThrough = { terms: new Set(), to: 0, since: null };

/**
 * The terms of those of these entries whose texts are no longer kept, of what may tell of them in the channel and its threads.
 * One whose fingerprints were not made with the key may have had any: all terms of what may tell of it.
 * @param ahead what was looked through before is not looked through again; default: nothing was
 */
export async function termsOfExpired(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
  keys: TermKeys,
  ahead: LookedThrough = NOTHING,
): Promise<ReadonlySet<string>> {
  const rows = seqs.length === 0 ? [] : await readExpired(client, channel, seqs);
  if (rows.length === 0) return new Set();
  const key = await keys.find();
  const ofKey = rows.filter((row) => row.key === key?.id);
  const others = rows.filter((row) => row.key !== key?.id);
  const prints = new Set(ofKey.flatMap((row) => splitPrints(row.prints)));
  const of = [
    { rows: ofKey, had: (term: string): boolean => key !== null && prints.has(key.print(channel, term)) },
    { rows: others, had: (): boolean => true },
  ];
  const found = new Set(ahead.terms);
  for (const { rows: looked, had } of of) {
    const [first] = looked;
    if (first === undefined) continue;
    for (const term of await termsBehind(client, channel, first.seq, ahead)) if (had(term)) found.add(term);
  }
  return found;
}

/** The terms of all that a deletion compares with those of a message, from an entry on. */
async function termsBehind(
  client: Queryable,
  channel: ChannelId,
  from: Seq,
  ahead: LookedThrough,
): Promise<Set<string>> {
  const terms = new Set<string>();
  const texts = await readTellings(client, channel, from, ahead);
  for (const [index, { text, calls, telling }] of texts.entries()) {
    const all = [text, ...(calls ?? []).map((call) => argumentValues(call.arguments))];
    for (const term of all.flatMap((one) => [...tellingTerms(one)]).concat(telling ?? [])) terms.add(term);
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
  }
  return terms;
}

interface Telling {
  readonly text: string;
  readonly calls: Pick<ToolCall, "arguments">[] | null;
  /** Its terms, where a row has them. */
  readonly telling: string[] | null;
}

/** All that a deletion compares with the terms of a message, from an entry on; without what was looked through. */
async function readTellings(
  client: Queryable,
  channel: ChannelId,
  from: Seq,
  { to, since }: LookedThrough,
): Promise<Telling[]> {
  const isNew = (row: string): string => `($4::text is null or age(${row}.xmin) <= age($4::text::xid))`;
  return client.query<Telling>(
    {
      name: "tellings_behind",
      text: `with here as materialized (select $1::bigint as id union select thread_channels($1))
             select concat_ws(E'\\n', s.text, s.substitute->>'text') as text, null::jsonb as calls, null::text[] as telling
               from summaries s where s.channel_id = $1 and s.to_seq >= $2 and s.kind <> 'reset' and ${isNew("s")}
             union all
             select m.subject || ' ' || m.statement, null, m.telling from memories m where m.channel_id = $1 and ${isNew("m")}
             union all
             select n.text, null, null from notes n where n.channel_id in (select id from here) and n.gone_at is null and ${isNew("n")}
             union all
             select r.text, null, null from reminders r where r.channel_id in (select id from here) and r.state = 'active' and ${isNew("r")}
             union all
             select concat_ws(E'\\n', s.task, s.brief, s.result, s.steps::text), null, null from subagents s
              where s.channel_id in (select id from here) and s.closed_at is null and s.state <> 'void' and ${isNew("s")}
             union all
             select '', jsonb_build_array(jsonb_build_object('arguments', r.arguments)), null
               from approval_rules r where r.channel_id = $1 and ${isNew("r")}
             union all
             select e.text, null, null from entries e
              where e.channel_id = $1 and e.seq > greatest($2::bigint, $3::bigint) and is_due_work(e.message_id) and e.deleted_at is null
             union all
             select e.text, e.data->'calls', null from entries e
              where e.channel_id = $1 and e.kind = 'tool_call' and e.seq > greatest($2::bigint, $3::bigint)
             union all
             select e.text, null, null from entries e
              where e.channel_id = $1 and e.kind = 'tool_result' and e.text <> '' and e.seq > greatest($2::bigint, $3::bigint)`,
    },
    [channel, from, to, since],
  );
}
