import { setImmediate } from "node:timers/promises";
import type { Carrier } from "../carrier.ts";
import { deletedEntries } from "../removal.ts";
import { type Retelling, RetellingCheck } from "../retelling-check.ts";

/** Rows that are searched before other work gets its turn. */
const PAGE = 1000;

/** Reminders, here and in the channel's threads, whose turns may know the words. One ends with the message that asked for it. */
export const REMINDERS: Carrier = {
  name: "reminders",
  texts: [{ table: "reminders", text: "t.text", where: "t.state = 'active'", compared: { in: "threads" } }],
  async take(tx, removal) {
    const { channel, seqs } = removal;
    const rows = await tx.query<Retelling & { id: number; isAsked: boolean } & Record<string, unknown>>(
      "reminders_after",
      `select r.id, r.text, r.turn_id as turn, r.asked_seq as asked, null as seq, r.asked_seq = any($4) as is_asked
         from reminders r
        where r.channel_id = $1 and r.state = 'active' and (r.read_to >= $2 or r.asked_seq = any($3) or r.asked_seq = any($4))
       union all
       select r.id, r.text, r.turn_id, null, null, false from thread_channels($1) t join reminders r on r.channel_id = t
        where r.state = 'active' and r.read_to is not null`,
      [channel, Math.min(...seqs), seqs, deletedEntries(removal)],
    );
    const check = new RetellingCheck(tx, removal);
    const ended: number[] = [];
    for (const [index, row] of rows.entries()) {
      if (index % PAGE === PAGE - 1) await setImmediate();
      if (row.isAsked || (await check.repeats(row))) ended.push(row.id);
    }
    if (ended.length === 0) return;
    await tx.query("reminders_end", "select end_reminders($1, 'gone')", [ended]);
  },
};
