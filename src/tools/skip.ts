import { z } from "zod";
import { words } from "./arguments.ts";
import { defineTool } from "./tool.ts";

const Input = z.strictObject({ reason: words(500) });

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
