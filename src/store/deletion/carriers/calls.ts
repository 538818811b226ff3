import { setImmediate } from "node:timers/promises";
import { argumentValues, callTexts, type ToolCall } from "../../../core/entry.ts";
import { type ChannelId, type MemoryId, memoryId, type Seq } from "../../../core/ids.ts";
import { tellingTerms } from "../../../text/terms.ts";
import { readChannel } from "../../channels/channels.ts";
import type { Queryable } from "../../database/queryable.ts";
import type { Carrier } from "../carrier.ts";
import type { FoundCalls } from "../removal.ts";
import { RetellingCheck } from "../retelling-check.ts";

/** An entry with calls, or with the result of one, which may be words of others. */
interface RawCalls {
  seq: number;
  text: string;
  /** Null: it is a result. */
  calls: ToolCall[] | null;
  turn: number;
}

/** Calls that are searched before other work gets its turn. */
const CALLS_AT_ONCE = 500;

/**
 * Tool calls, what the model said beside them, and their results. They repeat the words by a term that the messages which their turn
 * answers lack, and lose them. After an edit the view goes on showing the calls in it as the model has written them, and summaries
 * of them are written without them (`told_by`).
 */
export const CALLS: Carrier = {
  name: "calls",
  texts: [
    {
      table: "entries",
      text: "t.text",
      calls: "t.data->'calls'",
      where: "t.kind = 'tool_call'",
      compared: { in: "channel", isEntry: true },
    },
    {
      table: "entries",
      text: "t.text",
      where: "t.kind = 'tool_result' and t.text <> ''",
      compared: { in: "channel", isEntry: true },
    },
  ],
  async take(tx, removal) {
    const { channel, seqs, terms, cause, derived } = removal;
    if (cause.kind === "deleted") derived.calls.push(...(await blankOutdated(tx, channel, seqs)));
    if (terms.size === 0) return;
    // An edit since the search may have brought other terms.
    const isFound = cause.kind === "deleted" && terms.isSubsetOf(cause.found.terms);
    const rows = await readCalls(tx, channel, {
      after: Math.min(...seqs),
      among: isFound ? cause.found : null,
    });
    const to = cause.kind === "edited" ? (await readChannel(tx, channel)).coveredTo : Infinity;
    const check = new RetellingCheck(tx, removal);
    for (const row of rows) {
      const blanked = shares(row, terms) ? await withoutTerms(check, row, terms) : null;
      if (blanked === null) continue;
      derived.calls.push(row.seq);
      if (row.seq > to) continue;
      if (row.calls === null) derived.memories.push(...(await endProofs(tx, channel, row.seq)));
      await blank(tx, channel, row.seq, blanked);
    }
    const shown = derived.calls.filter((seq) => seq > to);
    if (cause.kind === "edited" && shown.length > 0) await noteTelling(tx, channel, cause.seq, shown);
  },
};

/** Finds the calls and results that share a term. Neither gets new words, so that what is found stays true. */
export async function findCalls(
  db: Queryable,
  channel: ChannelId,
  terms: ReadonlySet<string>,
  range: { readonly after: Seq; readonly to: Seq },
): Promise<Seq[]> {
  const seqs: Seq[] = [];
  for (const [index, row] of (await readCalls(db, channel, range)).entries()) {
    if (shares(row, terms)) seqs.push(row.seq);
    if (index % CALLS_AT_ONCE === CALLS_AT_ONCE - 1) await setImmediate();
  }
  return seqs;
}

/** @param among no others of the calls up to its `to`; null: all */
async function readCalls(
  tx: Queryable,
  channel: ChannelId,
  { after, to = Number.MAX_SAFE_INTEGER, among = null }: { after: Seq; to?: Seq; among?: FoundCalls | null },
): Promise<RawCalls[]> {
  return tx.query<RawCalls>(
    "calls_after",
    ["e.kind = 'tool_call'", "e.kind = 'tool_result' and e.text <> ''"]
      .map(
        (kind) => `select e.seq, e.text, e.data->'calls' as calls, e.turn_id as turn from entries e
              where e.channel_id = $1 and ${kind} and e.seq > greatest($2::bigint, $4::bigint) and e.seq <= $3
             union all
             select e.seq, e.text, e.data->'calls', e.turn_id from entries e
              where e.channel_id = $1 and ${kind} and e.seq > $2 and e.seq <= $3 and e.seq <= $4 and e.seq = any($5::bigint[])`,
      )
      .join(" union all "),
    [channel, after, to, among?.to ?? 0, among?.seqs ?? []],
  );
}

function shares({ text, calls }: RawCalls, terms: ReadonlySet<string>): boolean {
  return callTexts(text, calls).some((one) => !tellingTerms(one).isDisjointFrom(terms));
}

/** The row without these terms; null: it has none of them. */
async function withoutTerms(
  check: RetellingCheck,
  { text, calls, turn }: RawCalls,
  terms: ReadonlySet<string>,
): Promise<Pick<RawCalls, "text" | "calls"> | null> {
  const repeats = async (one: string): Promise<boolean> =>
    (await check.notAsked(turn, tellingTerms(one).intersection(terms))).size > 0;
  const isTextRemoved = await repeats(text);
  if (calls === null) return isTextRemoved ? { text: "", calls } : null;
  const blanked: ToolCall[] = [];
  for (const call of calls)
    blanked.push((await repeats(argumentValues(call.arguments))) ? { ...call, arguments: "{}" } : call);
  if (!isTextRemoved && blanked.every((call, index) => call === calls[index])) return null;
  return { text: isTextRemoved ? "" : text, calls: blanked };
}

/** Ends what a result proves. @returns the memories that were removed */
async function endProofs(tx: Queryable, channel: ChannelId, seq: Seq): Promise<MemoryId[]> {
  const [row] = await tx.query<{ ids: number[] }>(
    "result_proofs",
    "select take_proofs($1, $2, null) as ids",
    [channel, seq],
  );
  return (row?.ids ?? []).map(memoryId);
}

async function blank(
  tx: Queryable,
  channel: ChannelId,
  seq: Seq,
  { text, calls }: Pick<RawCalls, "text" | "calls">,
): Promise<void> {
  if (calls === null)
    await tx.query(
      "result_blank",
      "update entries set text = '', deleted_at = clock_timestamp() where channel_id = $1 and seq = $2",
      [channel, seq],
    );
  else
    await tx.query(
      "calls_blank",
      "update entries set data = jsonb_set(data, '{calls}', $3::jsonb), text = $4 where channel_id = $1 and seq = $2",
      [channel, seq, JSON.stringify(calls), text],
    );
}

/**
 * Removes the words of calls and results in the view that repeat what the messages said before an edit, or whose model had not read that
 * edit: what a message said before may be forgotten, and its terms are then unknown.
 */
async function blankOutdated(tx: Queryable, channel: ChannelId, seqs: readonly Seq[]): Promise<Seq[]> {
  const rows = await tx.query<{ seq: Seq }>(
    "calls_blank_outdated",
    `update entries e set text = '', data = case when e.kind = 'tool_call' then without_arguments(e.data) else e.data end,
            deleted_at = case when e.kind = 'tool_result' then clock_timestamp() else e.deleted_at end
       from channels c
      where c.id = $1 and e.channel_id = $1 and e.seq > c.covered_to
        and (e.kind = 'tool_call' or e.kind = 'tool_result' and e.text <> '')
        and exists (select from revisions r
                     where r.channel_id = $1 and r.seq = any($2)
                       and (r.told_by @> array[e.seq] or r.noted_seq > e.after_seq and r.noted_seq < e.seq))
     returning e.seq`,
    [channel, seqs],
  );
  return rows.map(({ seq }) => seq);
}

/** Notes at the last edit of a message which calls and results in the view repeat an earlier text. */
export async function noteTelling(
  tx: Queryable,
  channel: ChannelId,
  message: Seq,
  telling: readonly Seq[],
): Promise<void> {
  await tx.query(
    "revision_told_by",
    `update revisions set told_by = coalesce(told_by, '{}') || $3::bigint[]
      where channel_id = $1 and seq = $2
        and revision = (select max(revision) from revisions where channel_id = $1 and seq = $2)`,
    [channel, message, telling],
  );
}
