import { z } from "zod";
import { words } from "./arguments.ts";
import { defineTool } from "./tool.ts";

const Input = z.strictObject({ query: words(1000) });
const LIMIT = 10;

/**
 * `memory_recall`: finds memories that may be shown in this channel. Its result stores ids and no text, so that a deleted memory
 * disappears from stored results, too.
 */
export const memoryRecall = defineTool({
  name: "memory_recall",
  shownAs: "Looking through memories",
  needs: "memories",
  input: Input,
  isStandalone: true,
  isReadOnly: true,
  async run(input, context) {
    const found = await context.recallMemories(input.query, LIMIT, context.signal);
    const memories = found.map(({ id, type, assertedBy, tool, at, refers, statement, otherwise }) => {
      const more = {
        ...(tool !== undefined && { tool }),
        ...(refers && { refers }),
        ...(otherwise && { otherwise }),
      };
      return { id, memory: { type, assertedBy, at, statement, ...more } };
    });
    const text = memories.length === 0 ? "Nothing is remembered about that." : "";
    return { kind: "result", text, references: [], memories };
  },
});
