import { BAD } from "../texts.ts";
import type { RowCheck } from "./row-check.ts";

/** No summary, and no result that waits for its commit, is empty, inflated, refused or cut off. */
export const checkI10: RowCheck = (_, after, ledger) => [
  ...after.summaries
    .filter(({ id }) => id > ledger.lastSummary)
    .flatMap(({ from_seq: from, to_seq: to, kind, text }) => {
      const bad = text.match(BAD)?.[0];
      if (bad !== undefined) return [`summary ${from}-${to} is the bad output ${bad}`];
      return kind !== "reset" && !/[\p{L}\p{N}]/u.test(text) ? [`summary ${from}-${to} says nothing`] : [];
    }),
  ...after.jobs.flatMap(({ id, state, result }) =>
    state === "staged" && JSON.stringify(result).match(BAD) !== null
      ? [`job ${id} has a bad output staged`]
      : [],
  ),
];
