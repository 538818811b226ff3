import { setImmediate } from "node:timers/promises";
import { type ChannelId, channelId } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import type { Unsaid } from "./retold.ts";
import { readAsked, SaidTerms } from "./said.ts";
import type { Noted } from "./showings.ts";

/** Lines that are looked through before something else has its turn. */
const PAGE = 1000;

/**
 * Takes the lines that tell what is said no more, here and in the channel's threads, which are shown its notes: that share a term
 * with it which the messages that their turn answers do not have. Their texts go at once; the files follow.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 * @returns what the lines told that went
 */
export async function takeRetoldNotes(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms, keys }: Unsaid,
): Promise<Noted> {
  const noted = new Map<ChannelId, Set<string>>();
  if (terms.size === 0) return noted;
  const notes = await client.query<{ id: number; text: string; turn: number; channel: number }>(
    {
      name: "notes_behind",
      text: `select id, text, turn_id as turn, channel_id as channel from notes
              where channel_id = $1 and gone_at is null and read_to >= $2
             union all
             select n.id, n.text, n.turn_id, n.channel_id from thread_channels($1) t join notes n on n.channel_id = t
              where n.gone_at is null`,
    },
    [channel, seqs.reduce((least, seq) => Math.min(least, seq))],
  );
  const telling: (Omit<(typeof notes)[number], "text"> & { readonly told: ReadonlySet<string> })[] = [];
  for (const [index, { text, ...line }] of notes.entries()) {
    const told = tellingTerms(text).intersection(terms);
    if (told.size > 0) telling.push({ ...line, told });
    if (index % PAGE === PAGE - 1) await setImmediate();
  }
  const gone: number[] = [];
  for (const [turn, lines] of Map.groupBy(telling, (one) => one.turn)) {
    const asked = new SaidTerms(await readAsked(client, turn), keys);
    for (const { id, told, channel: of } of lines) {
      if ((await asked.without(told)).size === 0) continue;
      gone.push(id);
      noted.set(channelId(of), told.union(noted.get(channelId(of)) ?? new Set()));
    }
  }
  if (gone.length === 0) return noted;
  await client.query(
    {
      name: "notes_take",
      text: "update notes set text = '', gone_at = clock_timestamp() where id = any($1)",
    },
    [gone.toSorted((a, b) => a - b)],
  );
  return noted;
}
