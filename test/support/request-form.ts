import type { ModelMessage } from "../../src/core/context.ts";

/**
 * The faults of a request's form, by the checks of strict chat templates: the system text first and once, then user and
 * assistant in turns, from a user to a user or results. Calls and their results are part of the assistant's turn.
 */
export function formFaults(messages: readonly ModelMessage[]): string[] {
  const wrong: string[] = [];
  const systems = messages.filter(({ role }) => role === "system").length;
  if (systems > 1 || (systems === 1 && messages[0]?.role !== "system"))
    wrong.push(`${systems} system messages, the first message is of ${messages[0]?.role}`);
  const rest = messages.filter(({ role }) => role !== "system");
  if (rest[0]?.role !== "user") wrong.push(`it begins with ${rest[0]?.role}`);
  const last = rest.at(-1)?.role;
  if (last !== "user" && last !== "tool") wrong.push(`it ends with ${last}`);
  for (const [index, message] of rest.entries()) {
    const before = rest[index - 1];
    const mayFollowResults =
      message.role === "user" && (message.isOfImages === true || message.isSteering === true);
    if (message.role !== "tool" && before?.role === message.role)
      wrong.push(`two messages of ${message.role} behind one another`);
    if (message.role === "user" && before?.role === "tool" && !mayFollowResults)
      wrong.push("somebody speaks behind results");
    const isCall = message.role === "assistant" && message.calls.length > 0;
    const isPictured = message.role === "user" && message.images !== undefined;
    if (message.role !== "tool" && !isCall && !isPictured && message.text.trim() === "")
      wrong.push(`a message of ${message.role} says nothing`);
  }
  return wrong;
}

/** The texts as a chat template would write them, which a prefix cache compares. */
export function templateText(messages: readonly ModelMessage[]): string {
  return messages
    .map((message) => {
      const calls =
        message.role === "assistant" && message.calls.length > 0 ? JSON.stringify(message.calls) : "";
      return `<${message.role}>${message.text}${calls}`;
    })
    .join("");
}
