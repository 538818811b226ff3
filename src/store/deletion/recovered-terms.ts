import { setImmediate } from "node:timers/promises";
import { callTexts, type ToolCall } from "../../core/entry.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import { type Carrier, type CarriedText, selectTexts } from "./carrier.ts";
import { splitPrints, type TermKeys } from "./fingerprints.ts";
import type { LookedThrough } from "./removal.ts";

/**
 * Recovers terms of expired texts, as far as anything may repeat them: of the terms of everything that a deletion compares, those whose
 * fingerprints the texts have. No other person's terms are found, and what nothing repeats needs no deletion.
 */

interface ExpiredText {
  readonly seq: Seq;
  /** Null: there are no fingerprints, so that it may have said anything. */
  readonly key: string | null;
  /** Of what it said, in hexadecimal. */
  readonly prints: string;
}

async function readExpired(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<readonly ExpiredText[]> {
  return client.query<ExpiredText>(
    "prints_of_entries",
    `select e.seq, p.key_id as key, coalesce(encode(p.said, 'hex'), '') as prints
       from entries e left join entry_prints p on p.channel_id = e.channel_id and p.seq = e.seq
      where e.channel_id = $1 and e.seq = any($2) and e.expired_at is not null order by e.seq`,
    [channel, seqs],
  );
}

/** Texts that are searched before other work gets its turn. */
const AT_ONCE = 200;

const NOTHING: LookedThrough = { terms: new Set(), to: 0, since: null };

/**
 * Finds the terms of those of these entries that have expired. An entry whose fingerprints were not made with the key may have had any
 * term, so all terms count that are found.
 * @param ahead is not searched again; default: nothing was searched before
 */
export async function recoverTerms(
  client: Queryable,
  { carriers, keys }: { readonly carriers: readonly Carrier[]; readonly keys: TermKeys },
  channel: ChannelId,
  seqs: readonly Seq[],
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
    const terms = await readTerms(client, carriers, channel, first.seq, ahead);
    for (const term of terms) if (had(term)) found.add(term);
  }
  return found;
}

/** The terms of everything that may repeat words of an entry. */
async function readTerms(
  client: Queryable,
  carriers: readonly Carrier[],
  channel: ChannelId,
  from: Seq,
  ahead: LookedThrough,
): Promise<Set<string>> {
  const terms = new Set<string>();
  const texts = await readCompared(client, carriers, channel, from, ahead);
  for (const [index, { text, calls, terms: kept }] of texts.entries()) {
    const all = callTexts(text, calls);
    for (const term of all.flatMap((one) => [...tellingTerms(one)]).concat(kept ?? [])) terms.add(term);
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
  }
  return terms;
}

interface RawText {
  readonly text: string;
  readonly calls: Pick<ToolCall, "arguments">[] | null;
  readonly terms: string[] | null;
}

async function readCompared(
  client: Queryable,
  carriers: readonly Carrier[],
  channel: ChannelId,
  from: Seq,
  { to, since }: LookedThrough,
): Promise<RawText[]> {
  const selects = carriers
    .flatMap(({ texts }) => texts)
    .flatMap((text) => (text.compared === undefined ? [] : [selectTexts(text, condition(text.compared))]));
  return client.query<RawText>(
    "texts_compared",
    `with here as materialized (select $1::bigint as id union select thread_channels($1)) ${selects.join(" union all ")}`,
    [channel, from, to, since],
  );
}

/** Limits rows to those that may repeat words of $1's entry $2, and were not searched up to $3 and $4. */
function condition({ in: place, lastRead, isEntry }: NonNullable<CarriedText["compared"]>): string {
  const isHere = place === "threads" ? "t.channel_id in (select id from here)" : "t.channel_id = $1";
  if (isEntry) return `${isHere} and t.seq > greatest($2::bigint, $3::bigint)`;
  const isAfter = lastRead === undefined ? "" : ` and ${lastRead} >= $2`;
  return `${isHere}${isAfter} and ($4::text is null or age(t.xmin) <= age($4::text::xid))`;
}
