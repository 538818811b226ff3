import type { ToolCall, TurnEntryDraft } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { sliceWhole, storableText } from "../text/text.ts";
import { withOwnIds } from "../llm/chat/call-ids.ts";
import { type Tool, type ToolContext, ToolFailure, ToolInputError, type ToolOutcome } from "../tools/tool.ts";

/** Calls of one answer that are run; a model that asks for more is told so. */
const MAX_CALLS = 16;

export type ToolResultDraft = Extract<TurnEntryDraft, { kind: "tool_result" }>;

export interface ToolRun {
  /** One result for each call, in the order of the calls. */
  readonly results: readonly ToolResultDraft[];
  /** Set where the model chose not to answer. */
  readonly skip: string | null;
}

export interface ToolRunParts {
  readonly tools: readonly Tool[];
  readonly timeoutMs: number;
  readonly context: Omit<ToolContext, "signal" | "callId" | "effectKey">;
  /** One for each call. */
  readonly effectKeys: readonly string[];
  readonly signal: AbortSignal;
  /** Called for every call that failed, in words for a log. */
  readonly onFailure: (tool: string, why: string) => void;
}

/** `text`: what the model is told. */
type Failure = { readonly kind: "failure"; readonly text: string };

/**
 * Runs the calls of one answer side by side. Must not throw: a tool that fails, is unknown, is slow or gets bad
 * arguments gives a result that says so, and the model goes on from there. Beside such a call a skip does not count: what
 * was meant to be seen instead of words, such as a reaction, is not there, and the model does not know.
 */
export async function runToolCalls(calls: readonly ToolCall[], parts: ToolRunParts): Promise<ToolRun> {
  const outcomes = await Promise.all(
    calls.map(async (call, index) => ({
      call,
      outcome: index < MAX_CALLS ? await runOne(call, parts.effectKeys[index] ?? call.id, parts) : failure(`At most ${MAX_CALLS} calls at once.`),
    })),
  );
  const hasFailure = outcomes.some(({ outcome }) => outcome.kind === "failure");
  const skips = outcomes.flatMap(({ outcome }) => (outcome.kind === "skip" ? outcome.reason : []));
  const skip = hasFailure ? null : (skips[0] ?? null);
  const results = outcomes.map(({ call, outcome }) => toDraft(call, outcome, skip !== null));
  return { results, skip };
}

function toDraft(call: ToolCall, outcome: ToolOutcome | Failure, isSkipped: boolean): ToolResultDraft {
  const { references, memories = [] } = outcome.kind === "result" ? outcome : { references: [] };
  const skipText = isSkipped
    ? "You stay silent."
    : "Another call has failed. Call this one alone to stay silent.";
  // What a tool says may quote the model's arguments, and those can hold what the log cannot.
  const text = storableText(outcome.kind === "skip" ? skipText : outcome.text);
  return { kind: "tool_result", callId: call.id, tool: call.name, text, references, memories };
}

function failure(text: string): Failure {
  return { kind: "failure", text: `Error: ${text}` };
}

async function runOne(call: ToolCall, effectKey: string, parts: ToolRunParts): Promise<ToolOutcome | Failure> {
  const tool = parts.tools.find(({ spec }) => spec.name === call.name);
  if (tool === undefined) {
    const known = parts.tools.map(({ spec }) => spec.name).join(", ");
    parts.onFailure(sliceWhole(call.name, 0, 64), "unknown tool");
    return failure(`there is no tool "${sliceWhole(call.name, 0, 64)}". There are: ${known}.`);
  }
  const timeoutMs = Math.min(tool.timeoutMs ?? parts.timeoutMs, parts.timeoutMs);
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([parts.signal, timeout]);
  try {
    return await Promise.race([
      tool.run(parseArguments(call.arguments), { ...parts.context, callId: call.id, effectKey, signal }),
      rejection(signal),
    ]);
  } catch (error) {
    if (error instanceof ToolFailure) {
      parts.onFailure(call.name, errorMessage(error.cause ?? error));
      return failure(error.message);
    }
    if (error instanceof ToolInputError) {
      parts.onFailure(call.name, error.message);
      return failure(`the arguments do not fit. ${error.message}`);
    }
    const why = timeout.aborted ? `no result within ${timeoutMs / 1000} s` : errorMessage(error);
    parts.onFailure(call.name, why);
    // The cause stays in the log: it may hold what no channel should see.
    return failure(timeout.aborted ? `${why}.` : "the tool failed.");
  }
}

function parseArguments(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolInputError("They are not valid JSON.");
  }
}

async function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void => {
      reject(new Error("aborted"));
    };
    if (signal.aborted) fail();
    else signal.addEventListener("abort", fail, { once: true });
  });
}

/**
 * Calls as the log can hold them: a NUL that a model wrote would be refused by Postgres each time the turn is begun
 * again. Some servers give every call the same id; a result must name one.
 */
export function storableCalls(calls: readonly ToolCall[]): ToolCall[] {
  return withOwnIds(calls).map(({ id, name, arguments: json }) => {
    return { id, name: storableText(name), arguments: storableText(json) };
  });
}
