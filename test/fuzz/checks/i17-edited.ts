import { MARKER } from "../texts.ts";
import type { RowCheck } from "./row-check.ts";

/**
 * A summary that tells what was edited away is shown alone until it is written again, and has what it becomes ready; and nothing that waits
 * to be shown tells it.
 */
export const checkI17: RowCheck = (_, { summaries, jobs }, ledger) => {
  const told = (text: string): string[] =>
    (text.match(MARKER) ?? []).filter((marker) => ledger.editedAwayBefore.has(marker));
  const kept = summaries.flatMap(({ id, text, live, needs_redo: isDue, substitute }) => {
    const [marker] = told(text);
    const [later] = told(substitute ?? "");
    if (later !== undefined)
      return [`summary ${id} is to become one that tells ${later}, which was edited away`];
    if (marker === undefined || (live && isDue && substitute !== null)) return [];
    const state = `${live ? "live" : "replaced"}, ${isDue ? "due" : "not due"}, ${substitute === null ? "without" : "with"} a substitute`;
    return [`summary ${id} tells ${marker}, which was edited away (${state})`];
  });
  const waiting = jobs.flatMap(({ id, state, result }) => {
    const marker = told(JSON.stringify(result)).find(
      (one) => state === "ahead" || id > (ledger.editedAway.get(one) ?? id),
    );
    return marker === undefined ? [] : [`job ${id} is ${state} and tells ${marker}, which was edited away`];
  });
  return [...kept, ...waiting];
};
