import type { ToolCall, TurnEntryDraft } from "../../core/entry.ts";
import { approvedCallId } from "./question.ts";
import type { AgentId } from "../../core/ids.ts";
import type { TakenApproval } from "./question-store.ts";
import { fingerprintOf } from "./call-fingerprint.ts";
import { canonicalArguments } from "../../tools/canonical-arguments.ts";
import type { Tool, ToolKit } from "../../tools/tool.ts";
import { runToolCalls, type ToolResultDraft, type ToolRunParts } from "../../turn/tool-calls.ts";

const UNKNOWN =
  "Nobody knows whether this has run: it was begun, and then Weir was interrupted. Look whether it had its effect before you ask for it again.";
const VOID =
  "This was not run: what it was asked for was taken back or changed meanwhile. Ask for it again only if somebody wants it now.";
const ANOTHER_CALL =
  "This was not run: the tool of that name, or what is stored of the call, is not what was allowed any more. Ask for it again if somebody still wants it.";
const OTHER_AGENT = "This was not run: another agent had asked for it, which does not answer here any more.";

/**
 * Runs the calls that were allowed since the previous turn: each is appended to the log a second time, with its result. A call that was
 * interrupted is never run twice: nobody knows whether it had its effect.
 * @param agent the agent that answers the turn
 * @param append appends the entries of an approval, and notes that its call has run
 */
export async function runApprovedCalls(
  taken: readonly TakenApproval[],
  agent: AgentId,
  parts: ToolRunParts,
  append: (id: number, drafts: readonly TurnEntryDraft[]) => Promise<void>,
): Promise<void> {
  for (const approval of taken) {
    if (parts.signal.aborted) return;
    const call = { id: approvedCallId(approval.id), name: approval.tool, arguments: approval.arguments };
    const blank = { ...call, arguments: "{}" };
    const [drawn, result] = await resultOf(approval, call, agent, parts);
    // The message that asked for it may be deleted by now: the log gets neither arguments nor result.
    const [shown, told] = parts.signal.aborted ? [blank, textOf(call, UNKNOWN)] : [drawn, result];
    await append(approval.id, [{ kind: "tool_call", text: "", calls: [shown] }, told]);
  }
}

async function resultOf(
  { was, agent: askedBy, askedFor, askedIn, fingerprint }: TakenApproval,
  call: ToolCall,
  agent: AgentId,
  parts: ToolRunParts,
): Promise<readonly [ToolCall, ToolResultDraft]> {
  if (was === "void") return [{ ...call, arguments: "{}" }, textOf(call, VOID)];
  const shown = call.arguments === "" ? { ...call, arguments: "{}" } : call;
  if (was === "running") return [shown, textOf(call, UNKNOWN)];
  if (askedBy !== agent) return [shown, textOf(call, OTHER_AGENT)];
  if (isAnotherCall(call, fingerprint, parts.tools))
    return [{ ...call, arguments: "{}" }, textOf(call, ANOTHER_CALL)];
  const { context } = parts;
  // The turn answers a decision, which has no message on the platform: the reaction goes to the message that asked for the call.
  const react: ToolKit["react"] = async (emoji) => context.react(emoji, askedFor);
  const { results } = await runToolCalls([call], { ...parts, context: { ...context, react, askedIn } });
  return [shown, results[0] ?? textOf(call, UNKNOWN)];
}

/** Whether the call differs from the one that people were shown: another tool has its name now, or the row has other arguments. */
function isAnotherCall(
  { name, arguments: json }: ToolCall,
  fingerprint: string,
  tools: readonly Tool[],
): boolean {
  const tool = tools.find(({ spec }) => spec.name === name);
  // A missing tool has its own result.
  return tool !== undefined && fingerprintOf(tool, canonicalArguments(json)) !== fingerprint;
}

function textOf({ id: callId, name: tool }: ToolCall, text: string): ToolResultDraft {
  return { kind: "tool_result", callId, tool, text, references: [], memories: [] };
}
