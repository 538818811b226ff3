import { z } from "zod";
import { defineTool } from "./tool.ts";

const Input = z.strictObject({
  text: z.string().trim().max(2000),
  replaces: z.string().trim().min(1).max(2000).optional(),
});

/** `memory_write`: adds, replaces or removes a line of this channel's MEMORY.md. */
export const memoryWrite = defineTool({
  name: "memory_write",
  needs: "notes",
  input: Input,
  async run({ text, replaces = null }, context) {
    return {
      kind: "result",
      text: await context.writeNote({ kind: "memory", text, replaces }),
      references: [],
    };
  },
});
