import { z } from "zod";
import { defineTool, type ToolContext, type ToolOutcome } from "../../tools/tool.ts";
import { type NoteRequest, NOTES } from "./key.ts";

async function write({ kitOf }: ToolContext, request: NoteRequest): Promise<ToolOutcome> {
  return { kind: "result", text: await kitOf(NOTES).write(request), references: [] };
}

/** `note`: writes a line into today's note of this channel. */
export const note = defineTool({
  name: "note",
  writesFolder: true,
  leftOutBy: "notes = false",
  input: z.strictObject({ text: z.string().trim().min(1).max(2000) }),
  run: async ({ text }, context) => write(context, { kind: "note", text, replaces: null }),
});

/** `memory_write`: adds, replaces or removes a line of this channel's MEMORY.md. */
export const memoryWrite = defineTool({
  name: "memory_write",
  writesFolder: true,
  leftOutBy: "notes = false",
  input: z.strictObject({
    text: z.string().trim().max(2000),
    replaces: z.string().trim().min(1).max(2000).optional(),
  }),
  run: async ({ text, replaces = null }, context) => write(context, { kind: "memory", text, replaces }),
});
