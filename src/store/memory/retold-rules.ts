import { argumentValues } from "../../core/entry.ts";
import type { ChannelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Unsaid } from "./retold.ts";
import { readAsked, SaidTerms } from "./said.ts";

/**
 * Ends what is allowed from now on where it tells what is said no more, and the text of its call is no longer kept: with the arguments of
 * one that is kept it ends by itself. It tells it as the call would have: not by what the messages have that the call's turn answers.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 */
export async function takeRetoldRules(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms, keys }: Unsaid,
): Promise<void> {
  if (terms.size === 0) return;
  const rules = await client.query<{ id: number; arguments: string; turn: number }>(
    {
      name: "rules_behind",
      text: `select r.id, r.arguments, a.turn_id as turn
               from approval_rules r join approvals a on a.id = r.approval_id join turns t on t.id = a.turn_id
              where r.channel_id = $1 and a.arguments = '' and t.to_seq >= $2`,
    },
    [channel, Math.min(...seqs)],
  );
  const gone: number[] = [];
  for (const rule of rules) {
    const told = tellingTerms(argumentValues(rule.arguments)).intersection(terms);
    if (told.size === 0) continue;
    const asked = new SaidTerms(await readAsked(client, rule.turn), keys);
    if ((await asked.without(told)).size > 0) gone.push(rule.id);
  }
  if (gone.length === 0) return;
  await client.query({ name: "rules_end", text: "delete from approval_rules where id = any($1)" }, [gone]);
}
