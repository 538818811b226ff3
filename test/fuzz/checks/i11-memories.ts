import { SEEN_HEAD } from "../looks.ts";
import type { Ledger } from "../ledger.ts";
import type { ProofRow, State } from "../observe.ts";
import type { RowCheck } from "./row-check.ts";

/**
 * A memory comes with its summary, and each source of it, also one that a later job has added, with the summary of the job
 * that has found it: it lies in that summary's range, and the quote stands in it.
 */
export const checkI11: RowCheck = (_, after, ledger) => {
  const proofs = after.proofs.filter((proof) => !ledger.proofs.has(keyOf(proof)));
  const wrong = proofs.flatMap((proof) =>
    faultsOf(proof, after, ledger).map((what) => `memory ${proof.memory_id}: ${what}`),
  );
  for (const { id, statement, summary_id: by } of after.memories) {
    const own = after.summaries.find((summary) => summary.id === by);
    const isProven = proofs.some(
      ({ memory_id: memory, seq }) =>
        memory === id && own !== undefined && seq >= own.from_seq && seq <= own.to_seq,
    );
    const told = `memory ${id} ("${statement}")`;
    if (by === null) wrong.push(`${told} belongs to no summary`);
    else if (!isProven) wrong.push(`${told} has no source in the range of its summary`);
    if (statement.startsWith("unfounded")) wrong.push(`${told} should not have passed the gates`);
  }
  return wrong;
};

export function keyOf({ memory_id: memory, seq }: ProofRow): string {
  return `${memory}/${seq}`;
}

function faultsOf({ seq, quote, texts }: ProofRow, { channel, summaries }: State, ledger: Ledger): string[] {
  const wrong: string[] = [];
  const kind = ledger.entries.get(seq)?.kind;
  const isSeen = kind === "tool_result" && quote.startsWith(SEEN_HEAD);
  if (kind !== "user" && kind !== "assistant" && !isSeen)
    wrong.push(`its source ${seq} is no message but ${kind}`);
  if (seq > channel.covered_to) wrong.push(`its source ${seq} is not covered`);
  const isFound = summaries.some(
    ({ id, job_id: job, from_seq: from, to_seq: to }) =>
      id > ledger.lastSummary && job !== null && seq >= from && seq <= to,
  );
  if (!isFound) wrong.push(`its source ${seq} is in the range of no summary that was committed with it`);
  // What was committed since the last look may have lost its texts since.
  if (texts !== null && !texts.some((text) => plain(text).includes(plain(quote))))
    wrong.push(`"${quote}" does not stand in entry ${seq}`);
  return wrong;
}

function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
