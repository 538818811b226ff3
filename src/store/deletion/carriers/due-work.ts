import { setImmediate } from "node:timers/promises";
import type { Seq } from "../../../core/ids.ts";
import type { Carrier } from "../carrier.ts";
import { REMAINING_PRINTS } from "../remaining-terms.ts";
import { type Retelling, RetellingCheck } from "../retelling-check.ts";

/** Rows that are searched before other work gets its turn. */
const PAGE = 1000;
/** The text of a hand-off whose question was edited: the other agent still answers. */
const REWORDED = "The message that this was about has changed: answer it as it reads now.";

/**
 * Due work in the log: occurrences of reminders, reports of subagents, hand-offs, approved calls. It is deleted like a message if it
 * repeats the words, or if a deleted message asked for it. Expired texts are deleted as well: an expired entry would still count as a
 * source of its turn's texts. A hand-off whose question was edited only gets another text. Schedules of the configuration repeat nobody.
 * This carrier comes first, since the texts of a turn that answers due work may repeat the words as well.
 */
export const DUE_WORK: Carrier = {
  name: "due work",
  texts: [
    {
      table: "entries",
      text: "t.text",
      where: "is_due_work(t.message_id) and t.deleted_at is null",
      compared: { in: "channel", isEntry: true },
    },
  ],
  async take(tx, removal) {
    const { channel, seqs, cause, derived } = removal;
    const rows = await tx.query<Retelling & { seq: Seq; message: string }>(
      "due_work_after",
      `select e.seq, e.message_id as message, e.text, r.asked_seq as asked, ${REMAINING_PRINTS} as prints,
              coalesce(r.turn_id, s.turn_id, a.turn_id, substring(e.message_id from '^handoff/(\\d{1,18})/')::bigint) as turn
         from entries e
         left join reminders r on r.id = reminder_of(e.message_id)
         left join subagents s on s.channel_id = e.channel_id
               and s.number = substring(e.message_id from '^subagent/(\\d{1,9})(?:/|$)')::integer
         left join approvals a on a.id = substring(e.message_id from '^approval/(\\d{1,15})$')::bigint
        where e.channel_id = $1 and e.seq > $2 and is_due_work(e.message_id)
          and e.deleted_at is null and r.name is null
        order by e.seq`,
      [channel, Math.min(...seqs)],
    );
    for (const [index, row] of rows.entries()) {
      if (index % PAGE === PAGE - 1) await setImmediate();
      const wasAsked = cause.kind === "deleted" && row.asked !== null && seqs.includes(row.asked);
      // Each is checked by what is left after the one before it was deleted.
      if (!wasAsked && !(await new RetellingCheck(tx, removal).repeats(row))) continue;
      if (cause.kind === "edited" && row.message.startsWith("handoff/") && row.text !== "") {
        await tx.query("handoff_reword", "select reword_hand_off($1, $2, $3)", [channel, row.seq, REWORDED]);
        derived.reworded.push(row.seq);
      } else {
        await tx.query("delete_message", "select seq from delete_message($1, $2)", [channel, row.message]);
        derived.dueWork.push(row.seq);
      }
    }
  },
};
