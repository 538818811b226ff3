import type { Ledger } from "../ledger.ts";
import type { JobRow, State, SummaryRow } from "../observe.ts";
import type { RowCheck } from "./row-check.ts";

/** Summaries that were not there at the look before. */
function fresh({ summaries }: State, ledger: Ledger): SummaryRow[] {
  return summaries.filter(({ id }) => id > ledger.lastSummary);
}

function jobOf({ jobs }: State, summary: SummaryRow): JobRow | undefined {
  return jobs.find(({ id }) => id === summary.job_id);
}

/**
 * An entry leaves the view only with a summary of it: of what a model's summary covers, the model was shown each message,
 * or, where it makes one summary of several or writes one again, a summary of it.
 */
export const checkI2: RowCheck = (_, after, ledger) =>
  fresh(after, ledger).flatMap((summary) => {
    const job = jobOf(after, summary);
    if (summary.kind !== "model" || job === undefined) return [];
    const { markers, ranges } = ledger.shownTo(job.id);
    const isSummarised = (seq: number | null): boolean =>
      seq !== null && ranges.some(({ from, to }) => seq >= from && seq <= to);
    const missing = ledger
      .messagesIn(summary.from_seq, summary.to_seq)
      .filter(({ marker, seq }) => !markers.has(marker) && !isSummarised(seq));
    return missing.length === 0
      ? []
      : [
          `summary ${summary.from_seq}-${summary.to_seq} of a ${job.kind} covers ${missing.length} messages that its model never saw, ` +
            `entry ${missing[0]?.seq} first`,
        ];
  });

/** A commit covers its job's range, and nothing behind it. */
export const checkI4: RowCheck = (_, after, ledger) =>
  fresh(after, ledger).flatMap((summary) => {
    if (summary.kind === "reset" || summary.job_id === null) return [];
    const job = jobOf(after, summary);
    const range = `${summary.from_seq}-${summary.to_seq}`;
    if (job === undefined) return [];
    if (job.state !== "committed") return [`summary ${range} is of job ${job.id}, which is ${job.state}`];
    const isSame = job.from_seq === summary.from_seq && job.to_seq === summary.to_seq;
    return isSame ? [] : [`job ${job.id} of ${job.from_seq}-${job.to_seq} has committed ${range}`];
  });
