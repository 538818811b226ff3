import { setImmediate } from "node:timers/promises";
import { channelId } from "../../../core/ids.ts";
import { tellingTerms } from "../../../text/terms.ts";
import type { Carrier } from "../carrier.ts";
import { RetellingCheck } from "../retelling-check.ts";

/** Lines that are searched before other work gets its turn. */
const PAGE = 1000;

/**
 * Lines of an agent's notes, here and in the channel's threads, which are shown its notes. A line repeats the words by a term that the
 * messages which its turn answers lack. The rows lose their texts at once; the files follow.
 */
export const NOTES: Carrier = {
  name: "notes",
  texts: [{ table: "notes", text: "t.text", where: "t.gone_at is null", compared: { in: "threads" } }],
  async take(tx, removal) {
    const { channel, seqs, terms, derived } = removal;
    if (terms.size === 0) return;
    const lines = await tx.query<{ id: number; text: string; turn: number; channel: number }>(
      "notes_after",
      `select id, text, turn_id as turn, channel_id as channel from notes
        where channel_id = $1 and gone_at is null and read_to >= $2
       union all
       select n.id, n.text, n.turn_id, n.channel_id from thread_channels($1) t join notes n on n.channel_id = t
        where n.gone_at is null`,
      [channel, Math.min(...seqs)],
    );
    const telling: { readonly id: number; turn: number; channel: number; shared: ReadonlySet<string> }[] = [];
    for (const [index, { text, ...line }] of lines.entries()) {
      const shared = tellingTerms(text).intersection(terms);
      if (shared.size > 0) telling.push({ ...line, shared });
      if (index % PAGE === PAGE - 1) await setImmediate();
    }
    const check = new RetellingCheck(tx, removal);
    const removed: number[] = [];
    for (const { id, turn, shared, channel: of } of telling) {
      if ((await check.notAsked(turn, shared)).size === 0) continue;
      removed.push(id);
      derived.noteTerms.set(channelId(of), shared.union(derived.noteTerms.get(channelId(of)) ?? new Set()));
    }
    if (removed.length === 0) return;
    await tx.query(
      "notes_take",
      "update notes set text = '', gone_at = clock_timestamp() where id = any($1)",
      [removed.toSorted((a, b) => a - b)],
    );
  },
};
