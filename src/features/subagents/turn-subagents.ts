import { createHash } from "node:crypto";
import { answeredMessages, type History } from "../../core/history.ts";
import { isDueWork } from "../../core/message.ts";
import type { SpawnRequest, SubagentKit } from "./key.ts";
import type { SubagentDesk } from "./subagent-desk.ts";
import type { SubagentDraft } from "./subagent-store.ts";
import { storableText } from "../../text/text.ts";
import { normalWords } from "../../text/normal-text.ts";
import { standaloneTools } from "../../tools/tools.ts";
import { type ToolContext, ToolFailure } from "../../tools/tool.ts";
import { modelsOfSubagents } from "./subagent-run.ts";
import type { TurnSite } from "../../channel/channel-context.ts";
import { answererOf } from "../../channel/guests.ts";
import { spentBudget } from "../../channel/turns/turn-budget.ts";
import { openLines, SAME_TASK } from "./report-texts.ts";
import { escapeLabels } from "../../context/labels.ts";
import type { Digester } from "../../store/compaction/extracts.ts";
import type { Seq } from "../../core/ids.ts";

export class TurnSubagents implements SubagentKit {
  readonly #site: TurnSite;
  readonly #desk: Pick<SubagentDesk, "of" | "rows">;
  /** Number of edits and deletions of the channel as of the turn's last read; null: not read yet. */
  #takenBack: number | null = null;
  /** Tasks of the turn's calls so far: a repeated task is not reported by a second call. */
  readonly #keys = new Set<string>();

  constructor(site: TurnSite, desk: Pick<SubagentDesk, "of" | "rows">) {
    this.#site = site;
    this.#desk = desk;
  }

  async lines(): Promise<readonly string[]> {
    const { owner, agent, guests, turn } = this.#site;
    const { takenBack, open } = await this.#desk.rows.look(owner.channel);
    this.#takenBack = takenBack;
    // Only the agent's own subagents; those of a removed agent belong to the channel's own agent.
    return openLines(
      open.filter((one) => answererOf(guests, one.agent) === turn.agent),
      agent.time,
    );
  }

  async spawn(
    request: SpawnRequest,
    { callId, signal }: Pick<ToolContext, "callId" | "signal">,
  ): Promise<string> {
    const { history, turn, own, ...site } = this.#site;
    if (spentBudget(this.#site, turn) !== null)
      throw new ToolFailure(
        "What may be spent today is spent: no subagent is begun. Say so, and go on without.",
      );
    const takenBack = this.#takenBack;
    if (takenBack === null) throw new ToolFailure("No subagent can be begun just now. Go on without.");
    const draft = await this.#draftOf(request, callId);
    if (this.#keys.has(draft.key)) return SAME_TASK;
    this.#keys.add(draft.key);
    try {
      const subagents = this.#desk.of({ ...site, agent: own }, history.current);
      return await subagents.spawn(turn.id, draft, takenBack, signal);
    } catch (error) {
      // The call may be repeated.
      this.#keys.delete(draft.key);
      throw error;
    }
  }

  async #draftOf(request: SpawnRequest, callId: string): Promise<SubagentDraft> {
    const { agent, history, turn, compactorAgent } = this.#site;
    const { config } = agent;
    const { persona, context } = request;
    const task = storableText(request.task);
    among("persona", persona === null ? [] : [persona], Object.keys(config.subagents.personas));
    among("model", request.model === null ? [] : [request.model], modelsOfSubagents(config));
    const mayUse = standaloneTools(agent.tools).map(({ spec }) => spec.name);
    among("tool", request.tools ?? [], mayUse);
    const model = request.model === config.model ? null : request.model;
    const asked = answeredMessages(history.current, turn).findLast(({ messageId }) => !isDueWork(messageId));
    const wanted = JSON.stringify([normalWords(task) || task, persona, model]);
    return {
      agent: config.id,
      key: createHash("sha256").update(wanted).digest("hex").slice(0, 32),
      callId,
      askedSeq: asked?.seq ?? null,
      task,
      persona,
      model,
      tools: request.tools ?? mayUse,
      brief:
        context === "none"
          ? null
          : await briefOf(await history.snapshot(), { task, toSeq: turn.toSeq }, compactorAgent.digester),
    };
  }
}

/** @throws ToolFailure that lists the known names */
function among(what: string, wanted: readonly string[], known: readonly string[]): void {
  const unknown = wanted.find((one) => !known.includes(one));
  if (unknown === undefined) return;
  const list = known.length === 0 ? "There is none." : `There are: ${known.join(", ")}.`;
  throw new ToolFailure(`There is no ${what} "${storableText(unknown)}" for a subagent. ${list}`);
}

/** Limit of a brief's summaries, in estimated tokens. */
const SUMMARY_TOKENS = 2000;
const TAIL_TOKENS = 1500;
/** Newest messages that guide the extract beside the task. */
const NEWEST = 8;

/**
 * A brief of the conversation for a task: its live summaries, and an extract of the uncovered messages that prefers the task and the
 * newest messages. Made without a model.
 * @param of.toSeq the last entry that it may contain
 */
async function briefOf(
  history: History,
  { task, toSeq }: { readonly task: string; readonly toSeq: Seq },
  digester: Digester,
): Promise<string> {
  const summaries = history.summaries.filter(({ text }) => text !== "").map(({ text }) => escapeLabels(text));
  const told = summaries.length === 0 ? "" : (await digester.ofTexts(summaries, SUMMARY_TOKENS)).text;
  const tail = history.entries.filter(
    ({ seq, kind, deleted, expired }) =>
      seq <= toSeq && !deleted && expired !== true && kind !== "tool_call" && kind !== "tool_result",
  );
  const focus = [task, ...tail.slice(-NEWEST).map(({ text }) => text)].join("\n");
  const said = tail.length === 0 ? "" : (await digester.ofEntries(tail, TAIL_TOKENS, focus)).text;
  return [told, said].filter((text) => text.trim() !== "").join("\n\n");
}
