import type { Carrier } from "../carrier.ts";

/**
 * Quotes of messages that the log did not have when somebody replied to them. One goes by a trigger with the message that replies, by
 * `QuoteStore` with its original, and here with an original that has come into the log since.
 */
export const QUOTES: Carrier = {
  name: "quotes",
  texts: [{ table: "quotes", text: "t.text" }],
  async take(tx, { channel, cause }) {
    if (cause.kind === "elsewhere") return;
    const [ids, seq] = cause.kind === "deleted" ? [cause.messageIds, null] : [[], cause.seq];
    await tx.query(
      "quotes_delete",
      `delete from quotes q where q.channel_id = $1 and (q.message_id = any($2)
          or q.message_id = (select e.message_id from entries e where e.channel_id = $1 and e.seq = $3))`,
      [channel, ids, seq],
    );
  },
};
