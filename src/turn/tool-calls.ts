import type { ToolCall, TurnEntryDraft } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { sliceWhole, storableText } from "../core/text.ts";
import { type Tool, type ToolContext, ToolInputError, type ToolOutcome } from "../tools/tool.ts";

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
  readonly context: Omit<ToolContext, "signal">;
  readonly signal: AbortSignal;
  /** Told of every call that failed, in words for a log. */
  readonly onFailure: (tool: string, why: string) => void;
}

/**
 * Runs the calls of one answer side by side. Must not throw: a tool that fails, is unknown, is slow or gets bad
 * arguments gives a result that says so, and the model goes on from there.
 */
export async function runToolCalls(calls: readonly ToolCall[], parts: ToolRunParts): Promise<ToolRun> {
  let skip: string | null = null;
  const results = await Promise.all(
    calls.map(async (call, index): Promise<ToolResultDraft> => {
      const outcome =
        index < MAX_CALLS ? await runOne(call, parts) : failure(`At most ${MAX_CALLS} calls at once.`);
      if (outcome.kind === "skip") {
        skip ??= outcome.reason;
        return toDraft(call, { kind: "result", text: "", references: [] });
      }
      return toDraft(call, outcome);
    }),
  );
  return { results, skip };
}

function toDraft(call: ToolCall, outcome: Extract<ToolOutcome, { kind: "result" }>): ToolResultDraft {
  const { text, references, memories = [] } = outcome;
  // What a tool says may quote the model's arguments, and those can hold what the log cannot.
  const said = { text: storableText(text), references, memories };
  return { kind: "tool_result", callId: call.id, tool: call.name, ...said };
}

function failure(text: string): Extract<ToolOutcome, { kind: "result" }> {
  return { kind: "result", text: `Error: ${text}`, references: [] };
}

async function runOne(call: ToolCall, parts: ToolRunParts): Promise<ToolOutcome> {
  const tool = parts.tools.find(({ spec }) => spec.name === call.name);
  if (tool === undefined) {
    const known = parts.tools.map(({ spec }) => spec.name).join(", ");
    parts.onFailure(sliceWhole(call.name, 0, 64), "unknown tool");
    return failure(`there is no tool "${sliceWhole(call.name, 0, 64)}". There are: ${known}.`);
  }
  const timeout = AbortSignal.timeout(parts.timeoutMs);
  const signal = AbortSignal.any([parts.signal, timeout]);
  try {
    return await Promise.race([
      tool.run(parseArguments(call.arguments), { ...parts.context, signal }),
      rejection(signal),
    ]);
  } catch (error) {
    if (error instanceof ToolInputError) {
      parts.onFailure(call.name, error.message);
      return failure(`the arguments do not fit. ${error.message}`);
    }
    const why = timeout.aborted ? `no result within ${parts.timeoutMs / 1000} s` : errorMessage(error);
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
