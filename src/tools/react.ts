import { z } from "zod";
import { parametersOf, type Tool, ToolInputError } from "./tool.ts";

const Input = z.strictObject({ emoji: z.string().trim().min(1).max(64) });

/** `react`: puts an emoji under the newest message that is being answered. Once or twice is the same. */
export function createReact(description: string): Tool {
  return {
    spec: { name: "react", description, parameters: parametersOf(Input) },
    async run(input, context) {
      const parsed = Input.safeParse(input);
      if (!parsed.success) throw new ToolInputError(z.prettifyError(parsed.error));
      const isShown = await context.react(parsed.data.emoji);
      const text = isShown ? "Your reaction is there." : "There are no reactions here. Use words.";
      return { kind: "result", text, references: [] };
    },
  };
}
