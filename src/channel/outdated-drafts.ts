import { callTexts, type Entry, isEditNotice, type TurnEntryDraft } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";
import { tellingTerms } from "../text/terms.ts";

/** A call or a result that repeats what a message said before an edit. */
export interface OutdatedDraft {
  /** Its place among the drafts. */
  readonly draft: number;
  /** The message. */
  readonly seq: Seq;
}

/**
 * Finds calls and results of a turn that repeat a text which the view still shows although an edit has replaced it: they have a term of it
 * that no message in the view has now. Pure.
 * @param entries the raw entries of the view
 */
export function outdatedDrafts(
  entries: readonly Entry[],
  drafts: readonly TurnEntryDraft[],
): OutdatedDraft[] {
  // The common case: nothing in the view was edited.
  if (!entries.some(isEditNotice)) return [];
  const { now, before } = textsOf(entries);
  const found: OutdatedDraft[] = [];
  const said = drafts.map((draft) => tellingTerms(wordsOf(draft)));
  for (const [seq, texts] of before) {
    const outdated = tellingTerms(texts.join("\n"));
    for (const [draft, terms] of said.entries()) {
      const shared = terms.intersection(outdated);
      if (shared.size > 0 && lacked(shared, now.values())) found.push({ draft, seq });
    }
  }
  return found;
}

/** What each message says now, and what the view shows that it said before. */
function textsOf(entries: readonly Entry[]) {
  const now = new Map<Seq, string>();
  const before = new Map<Seq, string[]>();
  for (const entry of entries) {
    if (entry.kind === "user") now.set(entry.seq, entry.text);
    if (!isEditNotice(entry)) continue;
    const { seq } = entry.edits;
    const replaced = now.get(seq);
    if (replaced !== undefined) before.set(seq, [...(before.get(seq) ?? []), replaced]);
    now.set(seq, entry.text);
  }
  return { now, before };
}

/** Whether one of the terms is in none of the texts. */
function lacked(terms: ReadonlySet<string>, texts: Iterable<string>): boolean {
  let left = terms;
  for (const text of texts) {
    left = left.difference(tellingTerms(text));
    if (left.size === 0) return false;
  }
  return true;
}

function wordsOf(draft: TurnEntryDraft): string {
  if (draft.kind === "tool_call") return callTexts(draft.text, draft.calls).join("\n");
  return draft.kind === "tool_result" ? draft.text : "";
}
