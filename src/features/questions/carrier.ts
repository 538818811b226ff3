import { argumentValues } from "../../core/entry.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { Carrier } from "../../store/deletion/carrier.ts";
import { changedEntries, deletedEntries, type Removal } from "../../store/deletion/removal.ts";
import { RetellingCheck } from "../../store/deletion/retelling-check.ts";

/** The arguments of a row, as those of a call. */
const CALLS = "jsonb_build_array(jsonb_build_object('arguments', t.arguments))";

/**
 * Questions, and the rules of approvals. A question loses its words with its call (a trigger of `entries`), and is void with the message that
 * its turn answers; an answer goes with the entry that reports it. A rule ends with its approval. Once the call has expired, a question, and
 * once that has expired, a rule, loses words of its own that repeat removed ones.
 */
export const carrier: Carrier = {
  name: "questions",
  texts: [
    {
      table: "approvals",
      text: "concat_ws(E'\\n', t.reason, t.answer, t.decided_name)",
      calls: CALLS,
      compared: { in: "channel" },
    },
    { table: "approval_rules", text: "''", calls: CALLS, compared: { in: "channel" } },
  ],
  async take(tx, removal) {
    await voidAsked(tx, removal);
    if (removal.terms.size === 0) return;
    const check = new RetellingCheck(tx, removal);
    await voidExpired(tx, removal, check);
    await endRules(tx, removal, check);
  },
};

/** A changed message asks for nothing any longer; a deleted decision names nobody. */
async function voidAsked(tx: Queryable, removal: Removal): Promise<void> {
  const { channel } = removal;
  if (changedEntries(removal).length === 0) return;
  await tx.query(
    "approvals_void",
    `select void_approvals(array(
       select a.id from approvals a join turns t on t.id = a.turn_id
        where a.channel_id = $1 and a.state in ('open', 'allowed', 'asked') and exists (
          select from entries e where e.channel_id = $1 and e.seq = any($2) and e.addressed
                                  and e.seq between t.from_seq and t.to_seq)))`,
    [channel, changedEntries(removal)],
  );
  await tx.query(
    "approvals_unname",
    `update approvals a set decided_name = '', decided_by = null, answer = ''
      where a.channel_id = $1 and a.id in (
        select substring(e.message_id from '^approval/(\\d{1,15})$')::bigint from entries e
         where e.channel_id = $1 and e.seq = any($2) and e.addressed)`,
    [channel, deletedEntries(removal)],
  );
}

/** A row with words of a call, and the turn that made it. */
interface Called {
  readonly id: number;
  readonly arguments: string;
  readonly turn: number;
}

/** The trigger of `entries` does not see them: their calls have no words left that could be removed. */
async function voidExpired(tx: Queryable, removal: Removal, check: RetellingCheck): Promise<void> {
  const { channel, seqs, terms } = removal;
  const asked = await tx.query<Called>(
    "approvals_after",
    `select a.id, a.arguments, a.turn_id as turn from approvals a join turns t on t.id = a.turn_id
      where a.channel_id = $1 and a.arguments not in ('', '{}') and t.to_seq >= $2 and exists (
        select from entries e where e.channel_id = $1 and e.turn_id = a.turn_id and e.kind = 'tool_call' and e.expired_at is not null)`,
    [channel, Math.min(...seqs)],
  );
  const ids = await repeating(check, terms, asked);
  if (ids.length > 0) await tx.query("approvals_void_expired", "select void_approvals($1)", [ids]);
}

async function endRules(tx: Queryable, removal: Removal, check: RetellingCheck): Promise<void> {
  const { channel, seqs, terms } = removal;
  const rules = await tx.query<Called>(
    "rules_after",
    `select r.id, r.arguments, a.turn_id as turn
       from approval_rules r join approvals a on a.id = r.approval_id join turns t on t.id = a.turn_id
      where r.channel_id = $1 and a.arguments = '' and t.to_seq >= $2`,
    [channel, Math.min(...seqs)],
  );
  const ended = await repeating(check, terms, rules);
  if (ended.length === 0) return;
  await tx.query("rules_end", "delete from approval_rules where id = any($1)", [ended]);
}

/** The ids of those whose arguments have removed words that the messages which their turn answers lack. */
async function repeating(
  check: RetellingCheck,
  terms: ReadonlySet<string>,
  rows: readonly Called[],
): Promise<number[]> {
  const ids: number[] = [];
  for (const row of rows) {
    const shared = tellingTerms(argumentValues(row.arguments)).intersection(terms);
    if (shared.size > 0 && (await check.notAsked(row.turn, shared)).size > 0) ids.push(row.id);
  }
  return ids;
}
