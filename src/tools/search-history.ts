import { z } from "zod";
import { fittingResults } from "../memory/recall-worth.ts";
import { defineTool } from "./tool.ts";

const Input = z.strictObject({
  query: z.string().trim().min(1).max(1000),
  limit: z.number().int().min(1).max(20).default(8),
});

/** `search_history`: finds earlier messages of this channel, in view or not. */
export const searchHistory = defineTool({
  name: "search_history",
  shownAs: "Searching earlier messages",
  needs: "messages",
  input: Input,
  isStandalone: true,
  isReadOnly: true,
  async run(input, context) {
    const found = await context.searchHistory(input.query, input.limit, context.signal);
    const references = fittingResults(found);
    const text = references.length === 0 ? "Nothing was found in this channel." : "";
    return { kind: "result", text, references };
  },
});
