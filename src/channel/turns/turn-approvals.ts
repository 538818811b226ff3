import { approvalOf, approvedCallId } from "../../core/approval.ts";
import type { ToolCall } from "../../core/entry.ts";
import { answeredMessages, type TurnRange } from "../../core/history.ts";
import {
  canonicalArguments,
  fingerprintOf,
  needsApproval,
  unreadableArguments,
} from "../../tools/approval.ts";
import { type Tool, ToolInputError } from "../../tools/tool.ts";
import type { AskedApproval, TakenApproval } from "../../store/turns/approvals.ts";
import type { HeldCalls, TurnApprovals } from "../../turn/approved-calls.ts";
import { MAX_CALLS } from "../../turn/tool-calls.ts";
import type { ActorParts } from "../channel-context.ts";
import type { GuardedHistory } from "../guarded-history.ts";

/** Calls of one channel that wait at a time: an approver is not to look through more. */
const MOST_OPEN = 20;

const NOTHING_HELD: HeldCalls = { told: new Map(), asked: [] };

type Parts = Pick<ActorParts, "store" | "owner" | "agent"> & {
  readonly history: Pick<GuardedHistory, "current">;
  readonly turn: TurnRange;
};

/** Whether any call of the agent may have to wait: also of a server that has not told yet what tools it has. */
export function mayAskApprovals({ tools, config }: Pick<ActorParts["agent"], "tools" | "config">): boolean {
  return (
    config.mcp.some(({ approve }) => approve !== "never") ||
    tools.some((tool) => needsApproval(tool, config.approvals.tools))
  );
}

/** A call that needs an approval, and what tells it from others. */
interface GatedCall {
  readonly call: ToolCall;
  readonly fingerprint: string;
}

/** What one turn does with approvals. The rows that it makes are stored with its entries. */
export function turnApprovals(parts: Parts): TurnApprovals {
  return { hold: async (calls) => hold(parts, calls), take: async () => take(parts) };
}

async function hold({ store, owner, agent }: Parts, calls: readonly ToolCall[]): Promise<HeldCalls> {
  const { tools, config } = agent;
  const told = new Map<string, string>();
  const gated: GatedCall[] = [];
  for (const call of calls.slice(0, MAX_CALLS)) {
    const tool = tools.find(({ spec }) => spec.name === call.name);
    if (tool === undefined || !needsApproval(tool, config.approvals.tools)) continue;
    const canonical = canonicalOf(tool, call);
    if ("refusal" in canonical) told.set(call.id, `Error: ${canonical.refusal}`);
    else gated.push({ call, fingerprint: fingerprintOf(tool, canonical.json) });
  }
  if (gated.length === 0) return told.size === 0 ? NOTHING_HELD : { told, asked: [] };
  const look = await store.approvals.look(
    owner.channel,
    config.id,
    gated.map(({ fingerprint }) => fingerprint),
  );
  const waiting = new Map(look.waiting);
  const asked: AskedApproval[] = [];
  for (const { call, fingerprint } of gated) {
    if (look.allowed.has(fingerprint)) continue;
    const known = waiting.get(fingerprint);
    const id = known ?? look.free.get(fingerprint);
    if (known === undefined && (id === undefined || look.open + asked.length >= MOST_OPEN)) {
      told.set(call.id, `Error: this needs an approval, and ${MOST_OPEN} calls wait for one here already.`);
      continue;
    }
    told.set(
      call.id,
      `This waits for an approval, as #${id}: it has not run. The people here are asked, and you will be told what comes of it. ` +
        "Say so, and do not call it again.",
    );
    if (known !== undefined || id === undefined) continue;
    waiting.set(fingerprint, id);
    const { name: tool, arguments: json } = call;
    const args = json.trim() === "" ? "{}" : json;
    const { id: agentId, approvals } = config;
    const row = { id, callId: call.id, agent: agentId, tool, arguments: args, fingerprint };
    asked.push({ ...row, expireMs: approvals.expireMs });
  }
  return { told, asked };
}

/** Nobody is asked about a call that could not run. */
function canonicalOf(tool: Tool, call: ToolCall): { readonly json: string } | { readonly refusal: string } {
  try {
    const refusal = unreadableArguments(call.arguments);
    if (refusal !== null) return { refusal };
    const json = canonicalArguments(call.arguments);
    tool.check?.(JSON.parse(json));
    return { json };
  } catch (error) {
    if (error instanceof ToolInputError) return { refusal: `the arguments do not fit. ${error.message}` };
    return { refusal: "the arguments do not fit. They are not valid JSON." };
  }
}

async function take({ store, owner, history, turn }: Parts): Promise<readonly TakenApproval[]> {
  const ids = decidedIn(answeredMessages(history.current, turn));
  if (ids.length === 0) return [];
  const there = new Set(
    history.current.entries.flatMap((entry) =>
      entry.kind === "tool_call" ? entry.calls.map(({ id }) => id) : [],
    ),
  );
  const wanted = ids.filter((id) => !there.has(approvedCallId(id)));
  if (wanted.length === 0) return [];
  const taken = await store.approvals.take(owner, wanted);
  return taken.filter(({ was }) => was === "allowed" || was === "running" || was === "void");
}

/** The approvals of whose decisions messages tell. */
export function decidedIn(messages: readonly { readonly messageId: string }[]): number[] {
  return messages.flatMap(({ messageId }) => approvalOf(messageId) ?? []);
}
