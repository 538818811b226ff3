import type { ModelMessage } from "../../../src/core/context.ts";
import type { PromptCheck } from "./prompt-check.ts";

/** Each call is directly followed by its results, no result is without its call, and the roles take turns. */
export const checkI5: PromptCheck = ({ prompt }) => [...findUnpaired(prompt.messages), ...prompt.formFaults];

export function findUnpaired(messages: readonly ModelMessage[]): string[] {
  const wrong: string[] = [];
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.delete(message.callId)) wrong.push(`the result of ${message.callId} stands without its call`);
      continue;
    }
    if (open.size > 0) wrong.push(`the calls ${[...open].join(", ")} have no result behind them`);
    open = new Set(message.role === "assistant" ? message.calls.map(({ id }) => id) : []);
  }
  if (open.size > 0) wrong.push(`the calls ${[...open].join(", ")} have no result behind them`);
  return wrong;
}
