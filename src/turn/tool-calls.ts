import { jsonOf } from "../core/json.ts";
import { steadyNow } from "../async/clock.ts";
import { abortedAfter } from "../async/deadline.ts";
import type { ToolCall, TurnEntryDraft } from "../core/entry.ts";
import type { History, TurnRange } from "../core/history.ts";
import { errorMessage } from "../core/errors.ts";
import { sliceWhole, storableText } from "../text/text.ts";
import { inSpan } from "../telemetry/trace-scope.ts";
import { withOwnIds } from "../llm/chat/call-ids.ts";
import {
  type HandOff,
  type Tool,
  type ToolContext,
  ToolFailure,
  ToolInputError,
  type ToolOutcome,
} from "../tools/tool.ts";

/** Most calls of one answer that are run; further calls get a result that says so. */
export const MAX_CALLS = 16;

/** Tools that end a turn: without an answer, or with a hand-off to another agent. */
export const SKIP = "skip";
const HAND_OFF = "hand_off";

export type ToolResultDraft = Extract<TurnEntryDraft, { kind: "tool_result" }>;

export interface ToolRun {
  /** For the log: without a hand-off, which its settlement appends. */
  readonly calls: readonly ToolCall[];
  readonly results: readonly ToolResultDraft[];
  /** Set if the model chose not to answer. */
  readonly skip: string | null;
  /** Set if another agent shall answer. */
  readonly handOff: HandOff | null;
}

export interface ToolCallRecord {
  /** "unknown" if there is no such tool: the model may have made the name from people's words. */
  readonly tool: string;
  readonly callId: string;
  readonly outcome: "done" | "failed";
  readonly ms: number;
}

export interface ToolStart {
  readonly callId: string;
  readonly title: string;
  readonly isDelegated: boolean;
}

export interface ToolRunParts {
  readonly tools: readonly Tool[];
  readonly timeoutMs: number;
  readonly context: Omit<ToolContext, "signal" | "callId" | "effectKey">;
  readonly effectKeys: (calls: readonly ToolCall[]) => Promise<readonly string[]>;
  readonly signal: AbortSignal;
  /** Results of calls that are not run, by call id. Default: all are run. */
  readonly held?: ReadonlyMap<string, string>;
  /** Called for every failed call, with a reason for the log. */
  readonly onFailure: (tool: string, why: string) => void;
  /** Called for every call that people may see, before it is run. Default: no listener. */
  readonly onStart?: (call: ToolStart) => void;
  /** Called for every call that was run. Default: no listener. */
  readonly onCall?: (call: ToolCallRecord) => void;
}

/** `text`: the result for the model. */
type Failure = { readonly kind: "failure"; readonly text: string };

/**
 * Runs the calls of one answer in parallel. Must not throw: a tool that fails, is unknown, is slow or gets bad
 * arguments returns a result that says so, and the model continues from there. A failed call cancels a skip beside it:
 * its effect, such as a reaction, was to replace the answer, and the model does not know that it is missing.
 */
export async function runToolCalls(calls: readonly ToolCall[], parts: ToolRunParts): Promise<ToolRun> {
  const isSecond = secondHandOff(calls);
  const keys = await parts.effectKeys(calls);
  const outcomes = await Promise.all(
    calls.map(async (call, index) => ({
      call,
      outcome:
        index >= MAX_CALLS
          ? failure(`At most ${MAX_CALLS} calls at once.`)
          : isSecond(call)
            ? failure("Your turn ends with one hand-off: choose one agent.")
            : await runOne(call, keys[index] ?? call.id, parts),
    })),
  );
  const hasFailure = outcomes.some(({ outcome }) => outcome.kind === "failure");
  const skips = outcomes.flatMap(({ outcome }) => (outcome.kind === "skip" ? outcome.reason : []));
  const skip = hasFailure ? null : (skips[0] ?? null);
  const handed = outcomes.flatMap(({ outcome }) => (outcome.kind === "hand_off" ? outcome : []));
  const handOff = hasFailure ? null : (handed[0] ?? null);
  // Not logged yet: a turn that begins again before its end must not find a hand-off in the log.
  const told = handOff === null ? outcomes : outcomes.filter(({ call }) => call.name !== HAND_OFF);
  const results = told.map(({ call, outcome }) => {
    const draft = toDraft(call, outcome, skip !== null);
    return outcome.kind === "result" && findsOut(call, parts)
      ? { ...draft, isFinding: true as const }
      : draft;
  });
  return { calls: told.map(({ call }) => call), results, skip, handOff };
}

/** Whether a call was run, by a tool that finds out something. */
function findsOut({ id, name }: ToolCall, { tools, held }: ToolRunParts): boolean {
  return held?.has(id) !== true && tools.find(({ spec }) => spec.name === name)?.findsOut === true;
}

/** Whether a call is a further hand-off of the same answer. */
function secondHandOff(calls: readonly ToolCall[]): (call: ToolCall) => boolean {
  const first = calls.find(({ name }) => name === HAND_OFF);
  return (call) => call.name === HAND_OFF && call !== first;
}

function toDraft(call: ToolCall, outcome: ToolOutcome | Failure, isSkipped: boolean): ToolResultDraft {
  const { references, memories = [], images = [] } = outcome.kind === "result" ? outcome : { references: [] };
  // A tool's result may quote the model's arguments, with characters that the log cannot hold.
  const text = storableText(textOf(outcome, isSkipped));
  const draft = {
    kind: "tool_result",
    callId: call.id,
    tool: call.name,
    text,
    references,
    memories,
  } as const;
  return images.length === 0 ? draft : { ...draft, images };
}

function textOf(outcome: ToolOutcome | Failure, isSkipped: boolean): string {
  switch (outcome.kind) {
    case "skip":
      return isSkipped ? "You stay silent." : "Another call has failed. Call this one alone to stay silent.";
    // The log has such a call only if it failed.
    case "hand_off":
      return "Nothing was handed over: another call has failed. Call this one alone.";
    default:
      return outcome.text;
  }
}

/** The result of a call that was not begun, because of a message that came. */
export function skippedResult({ id, name }: ToolCall): ToolResultDraft {
  const text = "Skipped: a new message came. Read it first.";
  return { kind: "tool_result", callId: id, tool: name, text, references: [], memories: [] };
}

function failure(text: string): Failure {
  return { kind: "failure", text: `Error: ${text}` };
}

async function runOne(
  call: ToolCall,
  effectKey: string,
  parts: ToolRunParts,
): Promise<ToolOutcome | Failure> {
  const told = parts.held?.get(call.id);
  if (told !== undefined) return { kind: "result", text: told, references: [] };
  return inSpan("tool", async () => {
    const startedAt = steadyNow();
    const tool = parts.tools.find(({ spec }) => spec.name === call.name);
    const title = tool === undefined ? null : shownTitle(tool);
    if (title !== null) parts.onStart?.({ callId: call.id, title, isDelegated: tool?.isDelegation === true });
    const outcome = await runCall(call, effectKey, parts);
    parts.onCall?.({
      tool: tool !== undefined ? call.name : "unknown",
      callId: call.id,
      outcome: outcome.kind === "failure" ? "failed" : "done",
      ms: steadyNow() - startedAt,
    });
    return outcome;
  });
}

/** `github__list_issues` → `github list issues`. */
function shownTitle({ spec, shownAs }: Pick<Tool, "spec" | "shownAs">): string | null {
  return shownAs === undefined ? spec.name.replaceAll(/[_-]+/g, " ").trim() : shownAs;
}

async function runCall(
  call: ToolCall,
  effectKey: string,
  parts: ToolRunParts,
): Promise<ToolOutcome | Failure> {
  const tool = parts.tools.find(({ spec }) => spec.name === call.name);
  if (tool === undefined) {
    const known = parts.tools.map(({ spec }) => spec.name).join(", ");
    parts.onFailure(sliceWhole(call.name, 0, 64), "unknown tool");
    return failure(`there is no tool "${sliceWhole(call.name, 0, 64)}". There are: ${known}.`);
  }
  const { timeoutMs: own = parts.timeoutMs } = tool;
  const timeoutMs = own === "own" ? null : Math.min(own, parts.timeoutMs);
  const timeout = timeoutMs === null ? null : abortedAfter(timeoutMs);
  const signal = timeout === null ? parts.signal : AbortSignal.any([parts.signal, timeout]);
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
    const isLate = timeout?.aborted === true;
    const why = isLate ? `no result within ${(timeoutMs ?? 0) / 1000} s` : errorMessage(error);
    parts.onFailure(call.name, why);
    // The cause is only logged: it may contain text that no channel should see.
    return failure(isLate ? `${why}.` : "the tool failed.");
  }
}

function parseArguments(text: string): unknown {
  const value = text.trim() === "" ? {} : jsonOf(text);
  if (value === undefined) throw new ToolInputError("They are not valid JSON.");
  return value;
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

/** The calls that the log has of a turn. Pure. */
export function madeCalls({ entries }: Pick<History, "entries">, turn: Pick<TurnRange, "id">): ToolCall[] {
  return entries.flatMap((entry) =>
    entry.kind === "tool_call" && entry.turnId === turn.id ? entry.calls : [],
  );
}

/**
 * Makes calls storable: Postgres would refuse a NUL from a model each time the turn begins again. Some servers give
 * every call the same id, but a result must name one call.
 * @param taken ids of the turn's earlier calls: turn and id identify a call's effect
 */
export function storableCalls(calls: readonly ToolCall[], taken: readonly string[] = []): ToolCall[] {
  return withOwnIds(calls, taken).map(({ id, name, arguments: json }) => {
    return { id, name: storableText(name), arguments: storableText(json) };
  });
}
