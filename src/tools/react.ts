import { z } from "zod";
import { PlatformError } from "../platforms/platform.ts";
import { words } from "./arguments.ts";
import { defineTool, type Reaction, type ToolContext, ToolFailure } from "./tool.ts";

const Input = z.strictObject({ emoji: words(64) });
/** A reaction must not delay the answer. */
const TIMEOUT_MS = 3000;
/** Why there is no reaction, and what the model can do instead. */
const WHY_NOT = {
  unsupported: "There are no reactions here. Use words, where something is to be said.",
  gone: "There is no reaction: the message is gone, or you may not react there.",
  enough:
    "There is no reaction: you get no more of them this time. Use words, where something is to be said.",
  rejected:
    "There is no reaction: this emoji cannot be put there. Give a common one itself, such as 👍, or use words.",
  unavailable:
    "There is no reaction: the platform takes none just now. Use words, where something is to be said.",
} as const;

/** `react`: puts an emoji under the newest message that is being answered. */
export const react = defineTool({
  name: "react",
  input: Input,
  timeoutMs: TIMEOUT_MS,
  shownAs: null,
  async run(input, context) {
    const reaction = await putReaction(input.emoji, context);
    if (reaction !== "shown") throw new ToolFailure(WHY_NOT[reaction]);
    return { kind: "result", text: "Your reaction is under the newest message.", references: [] };
  },
});

/** @throws ToolFailure if the platform does not take it */
async function putReaction(emoji: string, context: Pick<ToolContext, "react">): Promise<Reaction> {
  try {
    return await context.react(emoji);
  } catch (error) {
    if (error instanceof PlatformError) throw new ToolFailure(WHY_NOT[error.kind], { cause: error });
    throw error;
  }
}
