import { z } from "zod";
import { parametersOf, type Tool, ToolInputError } from "./tool.ts";

const Input = z.strictObject({
  query: z.string().trim().min(1).max(1000),
  limit: z.number().int().min(1).max(20).default(8),
});

/** `search_history`: finds what was said in this channel before, in view or not. */
export function createSearchHistory(description: string): Tool {
  return {
    spec: { name: "search_history", description, parameters: parametersOf(Input) },
    async run(input, context) {
      const parsed = Input.safeParse(input);
      if (!parsed.success) throw new ToolInputError(z.prettifyError(parsed.error));
      const references = await context.searchHistory(parsed.data.query, parsed.data.limit, context.signal);
      const text = references.length === 0 ? "Nothing was found in this channel." : "";
      return { kind: "result", text, references };
    },
  };
}
