import type { ChannelId, MemoryId } from "../../core/ids.ts";
import type { Revision, StatedMemory } from "../../core/memory.ts";
import { Rows } from "../database/rows.ts";
import { ASSERTER } from "./memory-rows.ts";
import { IS_FOLDED } from "./memory-scope.ts";

/** A channel's memories that no summariser has judged yet, beside those in force. */
export interface Unjudged {
  /** The newest of them. */
  readonly fresh: readonly StatedMemory[];
  /** The newest in force, those of `fresh` included. */
  readonly known: readonly StatedMemory[];
  /** The last that was made. */
  readonly upTo: MemoryId;
}

/** Statements of one request: those of a landing are mostly fewer. */
const MOST_FRESH = 20;
/** Statements that new ones are compared with. */
const MOST_KNOWN = 400;

export class RevisionStore extends Rows {
  /** Null: each memory of the channel is judged. */
  async unjudged(channel: ChannelId): Promise<Unjudged | null> {
    const known = await this.db.query<StatedMemory & { readonly judged: boolean }>(
      "memories_unjudged",
      `select m.id, m.agent, m.type, m.scope, m.subject, m.asserted_by, m.statement, m.judged, ${ASSERTER} as by,
              coalesce(last_said(m.id, ${ASSERTER}), m.valid_from) as at
         from memories m
        where m.channel_id = $1 and m.valid_to is null and m.tool is null and not ${IS_FOLDED}
          and exists (select from memories u where u.channel_id = $1 and not u.judged)
        order by m.id desc limit $2`,
      [channel, MOST_KNOWN],
    );
    const fresh = known.filter(({ judged }) => !judged).slice(0, MOST_FRESH);
    const [newest] = known;
    return newest === undefined || fresh.length === 0 ? null : { fresh, known, upTo: newest.id };
  }

  /**
   * Applies what a summariser says; what has ended or was deleted meanwhile is left out.
   * @param upTo the newest of the memories that it was asked about
   * @returns how many memories it has changed
   */
  async revise(channel: ChannelId, upTo: MemoryId, revisions: readonly Revision[]): Promise<number> {
    const [row] = await this.db.query<{ count: number }>(
      "memories_revise",
      "select revise_memories($1, $2, $3) as count",
      [channel, upTo, JSON.stringify(revisions)],
    );
    return row?.count ?? 0;
  }
}
