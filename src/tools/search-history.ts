import { z } from "zod";
import type { HistoryFound } from "../memory/history-search.ts";
import { blankable, whole, words } from "./arguments.ts";
import { defineTool, ToolInputError, type ToolOutcome } from "./tool.ts";

const Input = z.strictObject({
  query: words(1000).optional(),
  person: blankable(100).optional(),
  when: blankable(100).optional(),
  context: whole(0, 3).optional(),
  limit: whole(1, 20).optional(),
  page: whole(1, 50).optional(),
});

const NOTHING = "Nothing was found in this channel besides what you see.";
const NOTHING_MORE = "Nothing more was found.";

/** `search_history`: finds earlier messages of this channel that the model is not shown. */
export const searchHistory = defineTool({
  name: "search_history",
  shownAs: "Searching earlier messages",
  needs: "messages",
  input: Input,
  isStandalone: true,
  isReadOnly: true,
  async run({ query = null, person = null, when = null, ...more }, context) {
    if (query === null && person === null && when === null)
      throw new ToolInputError("Give `query`, `person` or `when`.");
    const { limit = 8, page = 1, context: beside = 0 } = more;
    const request = { query, person, when, limit, page, context: beside };
    const found = await context.searchHistory(request, context.signal);
    return outcomeOf(found, page);
  },
});

/** @throws ToolInputError if the time was not understood */
function outcomeOf(found: HistoryFound, page: number): ToolOutcome {
  if (found.kind === "unread_time")
    throw new ToolInputError(
      '`when` names no time. Give a day (2026-05-07), a month (2026-05), a range (2026-05-01/2026-05-07), or words ("last week", "since March").',
    );
  if (found.kind === "unknown_person") {
    // Names stand in references alone: a deletion reaches no texts of results.
    const like = found.like.length === 0 ? "" : " Did you mean who said this?";
    return {
      kind: "result",
      text: `Nobody has that name in the messages that you cannot see.${like}`,
      references: found.like,
    };
  }
  const { lines, hasMore } = found;
  if (lines.length === 0) return { kind: "result", text: page > 1 ? NOTHING_MORE : NOTHING, references: [] };
  return { kind: "result", text: hasMore ? `More on page ${page + 1}.` : "", references: lines };
}
