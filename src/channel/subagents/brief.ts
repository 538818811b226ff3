import { escapeLabels } from "../../context/labels.ts";
import type { Entry } from "../../core/entry.ts";
import type { History } from "../../core/history.ts";
import type { Digester } from "../../store/compaction/extracts.ts";
import type { Seq } from "../../core/ids.ts";
import { tellingTerms } from "../../text/terms.ts";

/** What a brief may take, in estimated tokens. */
const SUMMARY_TOKENS = 2000;
const TAIL_TOKENS = 1500;
/** The newest messages stand in it whatever they say. */
const NEWEST = 8;

/**
 * What somebody who was not there is told of a conversation, for a task: its live summaries, and of what no summary covers the weightiest
 * sentences of the newest messages and of those that share a term with the task. Made without a model.
 * @param of.toSeq nothing behind it
 */
export async function briefOf(
  history: History,
  { task, toSeq }: { readonly task: string; readonly toSeq: Seq },
  digester: Digester,
): Promise<string> {
  const summaries = history.summaries.filter(({ text }) => text !== "").map(({ text }) => escapeLabels(text));
  const told = summaries.length === 0 ? "" : (await digester.ofTexts(summaries, SUMMARY_TOKENS)).text;
  const tail = focused(
    history.entries.filter(({ seq }) => seq <= toSeq),
    task,
  );
  const said = tail.length === 0 ? "" : (await digester.ofEntries(tail, TAIL_TOKENS)).text;
  return [told, said].filter((text) => text.trim() !== "").join("\n\n");
}

/** The messages that a task is about, each with the one before it and the one behind it, and the newest. */
function focused(entries: readonly Entry[], task: string): Entry[] {
  const said = entries.filter(
    ({ kind, deleted }) => !deleted && kind !== "tool_call" && kind !== "tool_result",
  );
  const terms = tellingTerms(task);
  const fits = said.map((entry) => !tellingTerms(entry.text).isDisjointFrom(terms));
  return said.filter(
    (_, index) =>
      index >= said.length - NEWEST ||
      fits[index] === true ||
      fits[index - 1] === true ||
      fits[index + 1] === true,
  );
}
