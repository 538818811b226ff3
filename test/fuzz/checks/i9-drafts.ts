import type { Database } from "../../../src/store/pool.ts";
import type { Chat } from "../chat.ts";

/**
 * Where nothing is left to do, no message shows half an answer: it was finished, or taken back. Left out is one whose id died
 * with the daemon that had sent it: nobody can know of that.
 * @returns what is wrong
 */
export async function leftDrafts(db: Database, { unfinished }: Pick<Chat, "unfinished">): Promise<string[]> {
  const rows = await db.query<{ turn_id: number; message_id: string; state: string; turn: string }>(
    {
      name: "fuzz_left_drafts",
      text: `select d.turn_id, d.message_id, d.state, t.state as turn
               from deliveries d join turns t on t.id = d.turn_id where d.message_id = any($1)`,
    },
    [[...unfinished]],
  );
  return rows.map(
    ({ turn_id: turn, message_id: id, state, turn: end }) =>
      `${id} still shows half an answer of turn ${turn}, which is ${end}; its delivery is ${state}`,
  );
}
