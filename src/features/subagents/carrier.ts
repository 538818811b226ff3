import { setImmediate } from "node:timers/promises";
import { tellingTerms } from "../../text/terms.ts";
import type { Carrier } from "../../store/deletion/carrier.ts";
import { RetellingCheck } from "../../store/deletion/retelling-check.ts";

const TEXT = "concat_ws(E'\\n', t.task, t.brief, t.result, t.steps::text)";

/**
 * Open runs of subagents, here and in the channel's threads. A run is voided if it has read the words or repeats them, by a term that the
 * messages which its turn answers lack; in a deleted channel each is.
 */
export const carrier: Carrier = {
  name: "subagents",
  texts: [
    {
      table: "subagents",
      text: TEXT,
      where: "t.closed_at is null and t.state <> 'void'",
      compared: { in: "threads" },
    },
  ],
  async take(tx, removal) {
    const { channel, seqs, terms } = removal;
    const open = await tx.query<{
      id: number;
      turn: number;
      hasRead: boolean;
      isGone: boolean;
      text: string;
    }>(
      "subagents_after",
      `select t.id, t.turn_id as turn,
              t.channel_id = $1 and (t.entries && $2::bigint[]
                or t.brief is not null and exists (select from unnest($2::bigint[]) seq where seq <= t.read_to)) as has_read,
              c.gone_at is not null as is_gone, ${TEXT} as text
         from subagents t join channels c on c.id = t.channel_id
        where (t.channel_id = $1 or t.channel_id in (select thread_channels($1))) and t.closed_at is null and t.state <> 'void'
        order by t.id`,
      [channel, seqs],
    );
    const check = new RetellingCheck(tx, removal);
    const voided: number[] = [];
    for (const { id, turn, hasRead, isGone, text } of open) {
      const shared = tellingTerms(text).intersection(terms);
      const repeats = shared.size > 0 && (await check.notAsked(turn, shared)).size > 0;
      if (isGone || repeats || (hasRead && terms.size > 0)) voided.push(id);
      await setImmediate();
    }
    if (voided.length === 0) return;
    await tx.query("subagents_void", "select blank_subagents($1, 'void')", [voided]);
  },
};
