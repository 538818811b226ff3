import type { Carrier } from "../carrier.ts";
import type { Removal } from "../removal.ts";

/**
 * Vectors of texts. A trigger of `entries` deletes those of deleted and expired texts, and a memory's goes with it. An edited text loses
 * its vector here, and gets another one: the entries after it that have one are passed over.
 */
export const VECTORS: Carrier = {
  name: "vectors",
  texts: [],
  async take(tx, removal) {
    const seqs = editedEntries(removal);
    if (seqs.length === 0) return;
    await tx.query(
      "vectors_outdated",
      `with outdated as (delete from entry_vectors where channel_id = $1 and seq = any($2))
       update vector_progress set entries_to = $3 where channel_id = $1 and entries_to > $3`,
      [removal.channel, seqs, Math.min(...seqs) - 1],
    );
  },
};

function editedEntries({ cause, derived }: Removal): number[] {
  return [...(cause.kind === "edited" ? [cause.seq] : []), ...derived.reworded];
}
