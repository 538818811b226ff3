import { z } from "zod";
import { defineTool } from "./tool.ts";

const Input = z.strictObject({ reason: z.string().trim().min(1).max(500) });

/** `skip`: the agent chooses not to answer, and says why (for the log, not for the channel). */
export const skip = defineTool({
  name: "skip",
  input: Input,
  isReadOnly: true,
  shownAs: null,
  async run(input) {
    return { kind: "skip", reason: input.reason };
  },
});
