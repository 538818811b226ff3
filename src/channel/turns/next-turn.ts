import { type Budget, partAt } from "../../context/usage.ts";
import { dueMessages, type History } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";

/** Most messages that one turn answers. */
const MAX_MESSAGES = 100;
/** Share of the usable window that the messages of one turn may take. */
const MAX_SHARE = 0.4;

/**
 * What the next turn answers: all that is due, together; after an outage, as much of it as leaves room for an
 * answer, the rest in the turns behind. Pure.
 */
export function nextTurn(history: History, budget: Budget): { fromSeq: Seq; toSeq: Seq } | null {
  const due = dueMessages(history);
  const first = due[0];
  if (first === undefined) return null;
  const limit = partAt(budget, MAX_SHARE);
  let toSeq = first.seq;
  let tokens = 0;
  let count = 0;
  // What was only listened to between them is shown with them, and counts.
  for (const entry of history.entries) {
    if (entry.seq < first.seq || entry.kind !== "user") continue;
    tokens += entry.tokens;
    count++;
    if (count > 1 && (tokens > limit || count > MAX_MESSAGES)) break;
    if (entry.addressed) toSeq = entry.seq;
  }
  return { fromSeq: first.seq, toSeq };
}
