import type { ModelMessage } from "../../../src/core/context.ts";
import type { Mutant } from "./mutant.ts";
import { sending } from "./requests.ts";

/** Leaves out the summaries that are to become one. */
function withoutSummaries(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.filter(({ text }) => !text.startsWith("[Compaction Summary]:"));
}

/** Leaves out the text of which a summary is to be written again. */
function withoutRange(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const isRedo = messages.some(({ text }) => text.includes("An earlier summary of these lines"));
  return isRedo ? messages.filter(({ text }) => !/^\d+\. \[/.test(text)) : messages;
}

/** Does not tell what has become of the memories that are to be saved. */
function withoutResults(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.filter(({ role }) => role !== "tool");
}

/** Summarisers that are not shown what they should be. */
export const SUMMARISER_MUTANTS: readonly Mutant[] = [
  { name: "a merge that sees nothing", breaks: ["I2"], model: sending("summarise", withoutSummaries) },
  { name: "a redo that sees nothing", breaks: ["I2"], model: sending("summarise", withoutRange) },
  {
    name: "as many calls as there are parts",
    breaks: ["I14"],
    // In a small window, so that there are many.
    compactorAgent: (agent) => ({ ...agent, maxCalls: 1000, windowOf: () => 2400 }),
  },
  { name: "memories saved without an answer", breaks: ["I5"], model: sending("summarise", withoutResults) },
];
