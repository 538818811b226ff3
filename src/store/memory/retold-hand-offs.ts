import type { ChannelId, Seq } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/database.ts";
import { readAsked, termsOf, type Unsaid } from "./retold.ts";

/** What agents handed over to each other, in their own words: it goes with what it retells. */

/** What stands in place of a hand-off whose question was edited: whoever it was handed to still answers. */
const REWORDED = "The message that this was about has changed: answer it as it reads now.";

interface RawHandOff {
  seq: Seq;
  id: string;
  text: string;
  turn: number;
}

/**
 * Deletes the hand-offs that tell what is said no more: that share a term with it which the messages do not have that their turn
 * answers.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 * @returns their entries
 */
export async function takeRetoldHandOffs(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
): Promise<Seq[]> {
  return changeRetold(client, channel, unsaid, async ({ id }) => {
    await client.query({ name: "delete_message", text: "select seq from delete_message($1, $2)" }, [
      channel,
      id,
    ]);
  });
}

/** Takes the words of such hand-offs after an edit. @returns their entries */
export async function rewordRetoldHandOffs(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
): Promise<Seq[]> {
  return changeRetold(client, channel, unsaid, async ({ seq }) => {
    await client.query({ name: "handoff_reword", text: "select reword_hand_off($1, $2, $3)" }, [
      channel,
      seq,
      REWORDED,
    ]);
  });
}

async function changeRetold(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms }: Unsaid,
  change: (row: RawHandOff) => Promise<void>,
): Promise<Seq[]> {
  if (terms.size === 0 || seqs.length === 0) return [];
  const rows = await client.query<RawHandOff & Record<string, unknown>>(
    {
      name: "handoffs_behind",
      text: `select seq, message_id as id, text, split_part(message_id, '/', 2)::bigint as turn from entries
              where channel_id = $1 and seq > $2 and data ? 'chain' and deleted_at is null order by seq`,
    },
    [channel, Math.min(...seqs)],
  );
  const changed: Seq[] = [];
  // One may retell another, which is changed before it is asked.
  for (const row of rows) {
    const shared = tellingTerms(row.text).intersection(terms);
    if (shared.size === 0) continue;
    if (shared.difference(termsOf(await readAsked(client, row.turn))).size === 0) continue;
    await change(row);
    changed.push(row.seq);
  }
  return changed;
}
