import type { ChannelId, Seq } from "../../../core/ids.ts";
import type { Queryable } from "../../database/queryable.ts";
import type { Carrier } from "../carrier.ts";
import { readRemaining, RemainingTerms } from "../remaining-terms.ts";
import { deletedEntries, type Removal, tellingEntries } from "../removal.ts";

const DELETED = "a message that it had read was deleted";
const EDITED = "a message that it had read was edited";
const REPEATED = "what it had read told of a deleted message";

/**
 * Compaction jobs. A deletion ends those that have read one of the entries, and so does an edit of what is written ahead: that voids one
 * stretch, and the next is written from the text as it is then. Another job goes on after an edit: what it had read becomes no
 * memory, and a summary that repeats it is written again.
 */
export const JOBS: Carrier = {
  name: "jobs",
  texts: [{ table: "jobs", text: "concat_ws(E'\\n', t.result::text, array_to_string(t.edited_terms, ' '))" }],
  async take(tx, removal) {
    const { channel, cause, derived } = removal;
    if (cause.kind === "edited") await endJobs(tx, channel, [cause.seq, ...cause.notices], EDITED, AHEAD);
    await endJobs(tx, channel, deletedEntries(removal), DELETED);
    await endJobs(tx, channel, derived.reworded, EDITED, AHEAD);
    if (cause.kind === "edited") await noteEdit(tx, removal);
    else await endJobs(tx, channel, derived.calls, REPEATED);
  },
};

const UNFINISHED = "state in ('running', 'staged', 'ahead')";
const AHEAD = "(state = 'ahead' or state = 'running' and is_ahead)";

export async function endJobsReading(tx: Queryable, channel: ChannelId, seqs: readonly Seq[]): Promise<void> {
  await endJobs(tx, channel, seqs, REPEATED);
}

/** Ends the jobs that may have read one of these entries. */
async function endJobs(
  tx: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
  reason: string,
  which: typeof UNFINISHED | typeof AHEAD = UNFINISHED,
): Promise<void> {
  if (seqs.length === 0) return;
  await tx.query(
    which === AHEAD ? "jobs_end_ahead" : "jobs_end_reading",
    `update jobs set state = 'stale', reason = $3, ended_at = clock_timestamp()
      where channel_id = $1 and ${which}
        and exists (select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)`,
    [channel, seqs, reason],
  );
}

/** Notes an edit at the jobs that had read the text before it. */
async function noteEdit(tx: Queryable, removal: Removal): Promise<void> {
  const { channel, terms, keys } = removal;
  const seqs = tellingEntries(removal);
  const jobs = await tx.query<{ id: number; fromSeq: number; toSeq: number }>(
    "jobs_reading",
    `select id, from_seq, to_seq from jobs where channel_id = $1 and state in ('running', 'staged')
        and exists (select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)`,
    [channel, seqs],
  );
  for (const { id, fromSeq: from, toSeq: to } of jobs) {
    const remaining = new RemainingTerms(await readRemaining(tx, channel, from, to), keys);
    await tx.query(
      "job_edited",
      `update jobs set edited_seqs = edited_seqs || $2::bigint[], edited_terms = edited_terms || $3::text[],
              edited = edited or exists (select from unnest($2::bigint[]) seq where seq between from_seq and to_seq)
        where id = $1`,
      [id, seqs, [...(await remaining.without(terms))]],
    );
  }
}
