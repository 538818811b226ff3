import type { ChannelId, MemoryId, Seq } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";

/** Which texts everybody of a workspace may read, as memories are shared: by when they were said. It writes nothing. */
export class PublicTextStore extends Rows {
  /** Those of these entries that were said in public; a deleted one was not. */
  async said(channel: ChannelId, seqs: readonly Seq[]): Promise<ReadonlySet<Seq>> {
    if (seqs.length === 0) return new Set();
    const [row] = await this.db.query<{ seqs: Seq[] }>(
      "said_in_public",
      "select said_in_public($1, $2)::float8[] as seqs",
      [channel, seqs],
    );
    return new Set(row?.seqs);
  }

  /** Up to which entry all of a channel was said in public: what Weir has made of them alone may be read. -1: of nothing. */
  async saidTo(channel: ChannelId): Promise<Seq> {
    const [row] = await this.db.query<{ seq: Seq }>("public_to", "select public_to($1) as seq", [channel]);
    return row?.seq ?? -1;
  }

  /** Those of these memories that rest on what was said in public. */
  async memories(ids: readonly MemoryId[]): Promise<ReadonlySet<MemoryId>> {
    if (ids.length === 0) return new Set();
    const rows = await this.db.query<{ id: MemoryId }>(
      "remembered_in_public",
      "select m.id from memories m where m.id = any($1) and remembered_in_public(m)",
      [[...new Set(ids)]],
    );
    return new Set(rows.map(({ id }) => id));
  }
}
