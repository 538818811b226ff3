import { z } from "zod";
import type { Prompts } from "../prompts/load.ts";
import { makeTool, type Tool } from "./tool.ts";

const Input = z.strictObject({
  agent: z.string().trim().min(1).max(100),
  message: z.string().trim().min(1).max(8000),
});

/**
 * `hand_off`: another agent of the channel answers instead, and the turn ends.
 * @param self the name of the agent that has the tool
 * @param others those that it may hand over to
 */
export function handOffTool(
  prompts: Prompts,
  self: string,
  others: readonly { readonly id: string; readonly name: string }[],
): Tool {
  const agents = others.map(({ id, name }) => (name === id ? id : `${id} (${name})`));
  return makeTool({
    name: "hand_off",
    shownAs: null,
    description: prompts.render("tool-hand-off", { self, agents }).trim(),
    input: Input,
    run: async (input, context) => context.handOff(input),
  });
}
