import type { AgentConfig } from "../../config/config.ts";
import type { ToolCall } from "../../core/entry.ts";
import { answeredMessages } from "../../core/history.ts";
import type { TurnSite } from "../../channel/channel-context.ts";
import type { WrittenBeside } from "../../store/log/log.ts";
import { canonicalArguments } from "../../tools/canonical-arguments.ts";
import { asksFirst, type Tool, ToolInputError } from "../../tools/tool.ts";
import type { AppendEntries, CallGate, HeldCalls } from "../../turn/call-gate.ts";
import { MAX_CALLS, type ToolRunParts } from "../../turn/tool-calls.ts";
import { approvedCallId, type QuestionKind, questionOf } from "./question.ts";
import type { QuestionNews, QuestionStore, AskedQuestion, TakenApproval } from "./question-store.ts";
import { runApprovedCalls } from "./approved-calls.ts";
import { fingerprintOf, unreadableArguments } from "./call-fingerprint.ts";
import { isAsk, termsOf } from "./tool.ts";

/** Most questions of one channel that wait at a time: people would not read more. */
const MOST_OPEN = 20;

/** A call that waits for a person. */
interface GatedCall {
  readonly call: ToolCall;
  readonly fingerprint: string;
  readonly kind: QuestionKind;
}

/** The questions of one run of a turn. New rows are stored with the turn's entries. */
export class QuestionGate implements CallGate {
  readonly #store: QuestionStore;
  readonly #site: TurnSite;
  readonly #onAsked: () => void;

  /** @param onAsked called when people are to be asked */
  constructor(store: QuestionStore, site: TurnSite, onAsked: () => void) {
    this.#store = store;
    this.#site = site;
    this.#onAsked = onAsked;
  }

  /** Without a call that waits for a person it makes no query. */
  async hold(calls: readonly ToolCall[]): Promise<HeldCalls> {
    const { owner, agent } = this.#site;
    const { config } = agent;
    const { gated, told } = this.#gatedOf(calls);
    if (gated.length === 0) return { told };
    const look = await this.#store.look(
      owner.channel,
      config.id,
      gated.map(({ fingerprint }) => fingerprint),
    );
    const waiting = new Map(look.waiting);
    const asked: AskedQuestion[] = [];
    for (const one of gated) {
      const { call, fingerprint, kind } = one;
      if (look.allowed.has(fingerprint)) continue;
      const known = waiting.get(fingerprint);
      const id = known ?? look.free.get(fingerprint);
      if (known === undefined && (id === undefined || look.open + asked.length >= MOST_OPEN)) {
        told.set(
          call.id,
          `Error: this waits for a person, and ${MOST_OPEN} questions wait for one here already.`,
        );
        continue;
      }
      told.set(call.id, (kind === "choice" ? toldOfChoice : toldOfApproval)(id ?? 0));
      if (known !== undefined || id === undefined) continue;
      waiting.set(fingerprint, id);
      asked.push(questionOfCall(one, id, config));
    }
    return { told, beside: asked.length === 0 ? undefined : this.#beside({ asked }) };
  }

  /** Finds the calls that wait for a person. `told`: results, by call id, of calls about which no person is asked. */
  #gatedOf(calls: readonly ToolCall[]): { gated: GatedCall[]; told: Map<string, string> } {
    const { tools } = this.#site.agent;
    const told = new Map<string, string>();
    const gated: GatedCall[] = [];
    for (const call of calls.slice(0, MAX_CALLS)) {
      const tool = tools.find(({ spec }) => spec.name === call.name);
      if (tool === undefined || !(isAsk(tool) || asksFirst(tool))) continue;
      const canonical = canonicalOf(tool, call);
      if ("refusal" in canonical) told.set(call.id, `Error: ${canonical.refusal}`);
      else
        gated.push({
          call,
          fingerprint: fingerprintOf(tool, canonical.json),
          kind: isAsk(tool) ? "choice" : "approval",
        });
    }
    return { gated, told };
  }

  async runReleased(parts: ToolRunParts, append: AppendEntries): Promise<void> {
    const taken = await this.#take();
    await runApprovedCalls(taken, this.#site.agent.config.id, parts, async (id, drafts) =>
      append(drafts, this.#beside({ done: [id] })),
    );
  }

  #beside(news: QuestionNews): WrittenBeside {
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
      ({ messageId }) => questionOf(messageId) ?? [],
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

function toldOfApproval(id: number): string {
  return (
    `This waits for an approval, as #${id}: it has not run. The people here are asked, and you will be told what comes of it. ` +
    "Say so, and do not call it again."
  );
}

function toldOfChoice(id: number): string {
  return (
    `Asked, as #${id}: people see the question with its choices. You will be told the answer, or that nobody has answered in time. ` +
    "Do not repeat the question, and do not ask it again."
  );
}

function questionOfCall(
  { call, fingerprint, kind }: GatedCall,
  id: number,
  { id: agent, approvals, questions }: Pick<AgentConfig, "id" | "approvals" | "questions">,
): AskedQuestion {
  const { id: callId, name: tool, arguments: json } = call;
  const args = json.trim() === "" ? "{}" : json;
  const row = { id, callId, agent, tool, arguments: args, fingerprint, kind };
  if (kind === "approval") return { ...row, isForAnybody: false, expireMs: approvals.expireMs };
  const { isForAnybody, waitMs } = termsOf(args);
  return { ...row, isForAnybody, expireMs: waitMs ?? questions.expireMs };
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
