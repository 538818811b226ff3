import { escapeLabels } from "../../context/labels.ts";
import type { History } from "../../core/history.ts";
import type { Digester } from "../../store/compaction/extracts.ts";
import type { Seq } from "../../core/ids.ts";

/** What a brief may take, in estimated tokens. */
const SUMMARY_TOKENS = 2000;
const TAIL_TOKENS = 1500;
/** Newest messages that say, beside the task, what it is about. */
const NEWEST = 8;

/**
 * What somebody who was not there is told of a conversation, for a task: its live summaries, and of what no summary covers an extract in
 * which the task and the newest messages come first. Made without a model.
 * @param of.toSeq nothing behind it
 */
export async function briefOf(
  history: History,
  { task, toSeq }: { readonly task: string; readonly toSeq: Seq },
  digester: Digester,
): Promise<string> {
  const summaries = history.summaries.filter(({ text }) => text !== "").map(({ text }) => escapeLabels(text));
  const told = summaries.length === 0 ? "" : (await digester.ofTexts(summaries, SUMMARY_TOKENS)).text;
  const tail = history.entries.filter(
    ({ seq, kind, deleted, expired }) =>
      seq <= toSeq && !deleted && expired !== true && kind !== "tool_call" && kind !== "tool_result",
  );
  const focus = [task, ...tail.slice(-NEWEST).map(({ text }) => text)].join("\n");
  const said = tail.length === 0 ? "" : (await digester.ofEntries(tail, TAIL_TOKENS, focus)).text;
  return [told, said].filter((text) => text.trim() !== "").join("\n\n");
}
