import type { Carrier } from "../carrier.ts";

/**
 * The messages of people and the answers, with their revisions and their search index. An edit has changed its message already, so that
 * its outcome is known.
 */
export const ENTRIES: Carrier = {
  name: "entries",
  texts: [
    { table: "entries", text: "t.text", where: "t.kind in ('user', 'assistant', 'notice')" },
    { table: "revisions", text: "t.text" },
    { table: "entry_search", text: "concat_ws(E'\\n', t.body, t.line)" },
  ],
  async take(tx, { channel, cause }) {
    if (cause.kind !== "deleted") return;
    for (const id of cause.messageIds)
      await tx.query("delete_message", "select seq from delete_message($1, $2)", [channel, id]);
  },
};
