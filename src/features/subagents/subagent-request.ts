import { estimateMessage } from "../../context/render.ts";
import { stubOf, type StubSize } from "../../context/cap.ts";
import type { ModelMessage } from "../../core/context.ts";
import type { SubagentStep } from "./subagent-store.ts";

/** Length of a shortened result, in UTF-16 units. */
const STUB_LENGTH = 200;
const STUB: StubSize = { stubOver: STUB_LENGTH * 1.5, stubLength: STUB_LENGTH };

/**
 * The messages of a subagent's request: its instructions and its task stay whole; its oldest steps are shortened first, then left
 * out, until the request fits. Pure.
 * @param room estimated tokens
 * @returns null: not even the task fits
 */
export function subagentMessages(
  first: readonly ModelMessage[],
  steps: readonly SubagentStep[],
  room: number,
): { readonly messages: ModelMessage[]; readonly tokens: number } | null {
  const fixed = tokensOf(first);
  if (fixed > room) return null;
  const whole = steps.map(messagesOf);
  const shown = whole.map((messages) => ({ messages, tokens: tokensOf(messages) }));
  let tokens = fixed + shown.reduce((sum, one) => sum + one.tokens, 0);
  for (let index = 0; tokens > room && index < steps.length; index++) {
    const [step, before] = [steps[index], shown[index]];
    if (step === undefined || before === undefined) break;
    const messages = messagesOf(stubbed(step));
    const short = { messages, tokens: tokensOf(messages) };
    shown[index] = short;
    tokens += short.tokens - before.tokens;
  }
  let from = 0;
  for (; tokens > room && from < shown.length; from++) tokens -= shown[from]?.tokens ?? 0;
  return { messages: [...first, ...shown.slice(from).flatMap(({ messages }) => messages)], tokens };
}

function messagesOf({ text, calls, results }: SubagentStep): ModelMessage[] {
  return [
    { role: "assistant", text, calls },
    ...results.map(({ callId, text: result }): ModelMessage => ({ role: "tool", callId, text: result })),
  ];
}

function stubbed({ text, calls, results }: SubagentStep): SubagentStep {
  return {
    text: stubOf(text, STUB),
    calls: calls.map((call) => (call.arguments.length > STUB_LENGTH ? { ...call, arguments: "{}" } : call)),
    results: results.map((result) => ({ ...result, text: stubOf(result.text, STUB) })),
  };
}

function tokensOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}
