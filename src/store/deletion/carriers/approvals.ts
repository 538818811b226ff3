import { argumentValues } from "../../../core/entry.ts";
import { tellingTerms } from "../../../text/terms.ts";
import type { Queryable } from "../../database/queryable.ts";
import type { Carrier } from "../carrier.ts";
import { changedEntries, deletedEntries, type Removal } from "../removal.ts";
import { RetellingCheck } from "../retelling-check.ts";

/**
 * Approvals and their rules. An approval loses its arguments with its call (a trigger of `entries`), and is void with the message that its
 * turn answers. A rule ends with its approval; once that has expired, where its own arguments repeat the words.
 */
export const APPROVALS: Carrier = {
  name: "approvals",
  texts: [
    { table: "approvals", text: "concat_ws(E'\\n', t.arguments, t.reason, t.decided_name)" },
    {
      table: "approval_rules",
      text: "''",
      calls: "jsonb_build_array(jsonb_build_object('arguments', t.arguments))",
      compared: { in: "channel" },
    },
  ],
  async take(tx, removal) {
    await voidAsked(tx, removal);
    await endRules(tx, removal);
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
        where a.channel_id = $1 and a.state in ('open', 'allowed') and exists (
          select from entries e where e.channel_id = $1 and e.seq = any($2) and e.addressed
                                  and e.seq between t.from_seq and t.to_seq)))`,
    [channel, changedEntries(removal)],
  );
  await tx.query(
    "approvals_unname",
    `update approvals a set decided_name = '', decided_by = null
      where a.channel_id = $1 and a.id in (
        select substring(e.message_id from '^approval/(\\d{1,15})$')::bigint from entries e
         where e.channel_id = $1 and e.seq = any($2) and e.addressed)`,
    [channel, deletedEntries(removal)],
  );
}

async function endRules(tx: Queryable, removal: Removal): Promise<void> {
  const { channel, seqs, terms } = removal;
  if (terms.size === 0) return;
  const rules = await tx.query<{ id: number; arguments: string; turn: number }>(
    "rules_after",
    `select r.id, r.arguments, a.turn_id as turn
       from approval_rules r join approvals a on a.id = r.approval_id join turns t on t.id = a.turn_id
      where r.channel_id = $1 and a.arguments = '' and t.to_seq >= $2`,
    [channel, Math.min(...seqs)],
  );
  const check = new RetellingCheck(tx, removal);
  const ended: number[] = [];
  for (const rule of rules) {
    const shared = tellingTerms(argumentValues(rule.arguments)).intersection(terms);
    if (shared.size > 0 && (await check.notAsked(rule.turn, shared)).size > 0) ended.push(rule.id);
  }
  if (ended.length === 0) return;
  await tx.query("rules_end", "delete from approval_rules where id = any($1)", [ended]);
}
