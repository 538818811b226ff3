import { type Budget, partAt } from "../../context/usage.ts";
import { dueMessages, type History } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";

/** Most messages that one turn answers. */
const MAX_MESSAGES = 100;
/** Share of the usable window that the messages of one turn may take. */
const MAX_SHARE = 0.4;

/**
 * Chooses the messages of the next turn: all that are due, or, after an outage, as many as leave room for an answer. Pure.
 */
export function nextTurn(history: History, budget: Budget): { fromSeq: Seq; toSeq: Seq } | null {
  const due = dueMessages(history);
  const first = due[0];
  if (first === undefined) return null;
  const limit = partAt(budget, MAX_SHARE);
  let toSeq = first.seq;
  let tokens = 0;
  let count = 0;
  // Messages between them that need no answer are shown as well, and count.
  for (const entry of history.entries) {
    if (entry.seq < first.seq || entry.kind !== "user") continue;
    tokens += entry.tokens;
    count++;
    if (count > 1 && (tokens > limit || count > MAX_MESSAGES)) break;
    if (entry.addressed) toSeq = entry.seq;
  }
  return { fromSeq: first.seq, toSeq };
}
