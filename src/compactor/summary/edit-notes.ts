import { escapeLabels } from "../../context/render.ts";
import type { CurrentText } from "../../core/entry.ts";
import { displayName, truncateMiddle } from "../../text/text.ts";
import type { WorkerAgent } from "./summary-attempt.ts";

/** Longest text of one edit, in UTF-16 units. */
const MAX_TEXT = 1000;

/** What messages say now that somebody edited after a summary of them was written. Pure. */
export function editNotes(
  edits: readonly CurrentText[],
  { texts, time }: Pick<WorkerAgent, "texts" | "time">,
): string {
  return edits
    .map(({ author, at, text }) =>
      texts.editNote({
        author: displayName(author),
        original: time.minute(at),
        text: escapeLabels(truncateMiddle(text, MAX_TEXT)),
      }),
    )
    .map((note) => note.trim())
    .join("\n");
}
