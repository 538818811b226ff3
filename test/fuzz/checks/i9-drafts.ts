import type { Database } from "../../../src/store/database/database.ts";
import type { Chat } from "../chat.ts";

/**
 * Where nothing is left to do, no message shows half an answer: it was finished, or taken back. Left out is one whose id died
 * with the daemon that had sent it: nobody can know of that.
 * @returns what is wrong
 */
export async function leftDrafts(db: Database, { unfinished }: Pick<Chat, "unfinished">): Promise<string[]> {
  const rows = await db.query<{ turnId: number; messageId: string; state: string; turn: string }>(
    "fuzz_left_drafts",
    `select d.turn_id, d.message_id, d.state, t.state as turn
       from deliveries d join turns t on t.id = d.turn_id where d.message_id = any($1)`,
    [[...unfinished]],
  );
  return rows.map(
    ({ turnId: turn, messageId: id, state, turn: end }) =>
      `${id} still shows half an answer of turn ${turn}, which is ${end}; its delivery is ${state}`,
  );
}

/**
 * Where nothing is left to do, an answer whose draft was deleted stands there all the same, unless all that it answers was deleted.
 * @returns what is wrong
 */
export async function lostAnswers(db: Database, { moderated }: Pick<Chat, "moderated">): Promise<string[]> {
  const rows = await db.query<{ turnId: number; messageId: string | null; state: string }>(
    "fuzz_lost_answers",
    `select d.turn_id, d.message_id, d.state
       from deliveries d join turns t on t.id = d.turn_id
      where d.entry_seq is not null and (d.state = 'failed' or d.message_id = any($1))
        and exists (select from entries m
                     where m.channel_id = t.channel_id and m.seq between t.from_seq and t.to_seq
                       and m.addressed and m.deleted_at is null)`,
    [[...moderated]],
  );
  return rows.map(
    ({ turnId: turn, messageId: id, state }) =>
      `the answer of turn ${turn} is ${state}, and nobody sees it: its draft ${id} was deleted`,
  );
}
