import { z } from "zod";
import { defineTool } from "./tool.ts";

const Input = z.strictObject({ text: z.string().trim().min(1).max(2000) });

/** `note`: writes a line into today's note of this channel. */
export const note = defineTool({
  name: "note",
  needs: "notes",
  input: Input,
  async run({ text }, context) {
    return {
      kind: "result",
      text: await context.writeNote({ kind: "note", text, replaces: null }),
      references: [],
    };
  },
});
