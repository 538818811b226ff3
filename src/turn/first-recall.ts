import { dueMessages, type History } from "../core/history.ts";
import type { AgentConfig } from "../config/config.ts";
import type { Seq } from "../core/ids.ts";

/** Entries, and memories, that recall may bring to a turn. */
const RECALL_LIMIT = 20;
const MEMORY_LIMIT = 6;

/** What a turn looks for before it asks its model: a text, and how much may come; 0: nothing is looked for. */
export interface FirstRecall {
  readonly text: string;
  readonly entries: number;
  readonly memories: number;
}

/** What an agent may look up. */
type Recallable = AgentConfig["memory"]["recall"];

/** Pure. @param toSeq the last message that the turn answers */
export function firstRecall(history: History, toSeq: Seq, recall: Recallable): FirstRecall {
  const due = dueMessages(history).filter(({ seq }) => seq <= toSeq);
  return recallFor(history, due.map((message) => message.text).join("\n"), recall);
}

/** What a turn will look for whose messages say this. Pure. */
export function recallFor(history: History, text: string, recall: Recallable): FirstRecall {
  const isAllInView = Math.max(history.coveredTo, history.omittedTo) === 0;
  const isLookedUp = (what: Recallable): boolean => !isAllInView && (recall === "all" || recall === what);
  return {
    text,
    entries: isLookedUp("messages") ? RECALL_LIMIT : 0,
    // What is remembered of what is in view need not be looked up: asking would cost each turn a query.
    memories: isLookedUp("memories") ? MEMORY_LIMIT : 0,
  };
}
