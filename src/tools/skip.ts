import { z } from "zod";
import { parametersOf, type Tool, ToolInputError } from "./tool.ts";

const Input = z.strictObject({ reason: z.string().trim().min(1).max(500) });

/** `skip`: the agent chooses not to answer, and says why (for the log, not for the channel). */
export function createSkip(description: string): Tool {
  return {
    spec: { name: "skip", description, parameters: parametersOf(Input) },
    async run(input) {
      const parsed = Input.safeParse(input);
      if (!parsed.success) throw new ToolInputError(z.prettifyError(parsed.error));
      return { kind: "skip", reason: parsed.data.reason };
    },
  };
}
