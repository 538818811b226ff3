import type { Carrier } from "../carrier.ts";
import { changedEntries } from "../removal.ts";

/** How people want to be answered: a wish is removed with its message, and with an edit of it. */
export const WISHES: Carrier = {
  name: "wishes",
  texts: [{ table: "wishes", text: "concat_ws(E'\\n', t.topic, t.wish, t.quote)" }],
  async take(tx, removal) {
    await tx.query("wishes_take", "delete from wishes where channel_id = $1 and seq = any($2)", [
      removal.channel,
      changedEntries(removal),
    ]);
  },
};
