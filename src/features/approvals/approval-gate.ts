import type { ToolCall } from "../../core/entry.ts";
import { answeredMessages } from "../../core/history.ts";
import type { TurnSite } from "../../channel/channel-context.ts";
import type { WrittenBeside } from "../../store/log/log.ts";
import { canonicalArguments } from "../../tools/canonical-arguments.ts";
import { asksFirst, type Tool, ToolInputError } from "../../tools/tool.ts";
import type { AppendEntries, CallGate, HeldCalls } from "../../turn/call-gate.ts";
import { MAX_CALLS, type ToolRunParts } from "../../turn/tool-calls.ts";
import { approvalOf, approvedCallId } from "./approval.ts";
import type { ApprovalNews, ApprovalStore, AskedApproval, TakenApproval } from "./approval-store.ts";
import { runApprovedCalls } from "./approved-calls.ts";
import { fingerprintOf, unreadableArguments } from "./call-fingerprint.ts";

/** Most calls of one channel that wait at a time: approvers would not read more. */
const MOST_OPEN = 20;

/** A call that needs an approval. */
interface GatedCall {
  readonly call: ToolCall;
  readonly fingerprint: string;
}

/** The approvals of one run of a turn. New rows are stored with the turn's entries. */
export class ApprovalGate implements CallGate {
  readonly #store: ApprovalStore;
  readonly #site: TurnSite;
  readonly #onAsked: () => void;

  /** @param onAsked called when people are to be asked */
  constructor(store: ApprovalStore, site: TurnSite, onAsked: () => void) {
    this.#store = store;
    this.#site = site;
    this.#onAsked = onAsked;
  }

  /** Without a call that needs an approval it makes no query. */
  async hold(calls: readonly ToolCall[]): Promise<HeldCalls> {
    const { owner, agent } = this.#site;
    const { tools, config } = agent;
    const told = new Map<string, string>();
    const gated: GatedCall[] = [];
    for (const call of calls.slice(0, MAX_CALLS)) {
      const tool = tools.find(({ spec }) => spec.name === call.name);
      if (tool === undefined || !asksFirst(tool)) continue;
      const canonical = canonicalOf(tool, call);
      if ("refusal" in canonical) told.set(call.id, `Error: ${canonical.refusal}`);
      else gated.push({ call, fingerprint: fingerprintOf(tool, canonical.json) });
    }
    if (gated.length === 0) return { told };
    const look = await this.#store.look(
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
    return { told, beside: asked.length === 0 ? undefined : this.#beside({ asked }) };
  }

  async runReleased(parts: ToolRunParts, append: AppendEntries): Promise<void> {
    const taken = await this.#take();
    await runApprovedCalls(taken, this.#site.agent.config.id, parts, async (id, drafts) =>
      append(drafts, this.#beside({ done: [id] })),
    );
  }

  #beside(news: ApprovalNews): WrittenBeside {
    return {
      write: async (client, turn) => this.#store.note(client, this.#site.owner, turn, news),
      ...(news.asked !== undefined && { written: this.#onAsked }),
    };
  }

  /**
   * Takes up the calls whose decisions the turn answers, each once: from here on they may have had their effect, whatever becomes of
   * the turn. Those whose result the log has are not among them.
   */
  async #take(): Promise<readonly TakenApproval[]> {
    const { owner, history, turn } = this.#site;
    const ids = answeredMessages(history.current, turn).flatMap(
      ({ messageId }) => approvalOf(messageId) ?? [],
    );
    if (ids.length === 0) return [];
    const there = new Set(
      history.current.entries.flatMap((entry) =>
        entry.kind === "tool_call" ? entry.calls.map(({ id }) => id) : [],
      ),
    );
    const wanted = ids.filter((id) => !there.has(approvedCallId(id)));
    if (wanted.length === 0) return [];
    const taken = await this.#store.take(owner, wanted);
    return taken.filter(({ was }) => was === "allowed" || was === "running" || was === "void");
  }
}

/** Refuses a call that could not run, so that nobody is asked about it. */
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
