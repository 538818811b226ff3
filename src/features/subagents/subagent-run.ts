import { escapeLabels } from "../../context/labels.ts";
import { unlessAborted } from "../../async/deadline.ts";
import { partAt } from "../../context/usage.ts";
import type { TurnChannel } from "../../turn/turn-channel.ts";
import type { AgentConfig } from "../../config/config.ts";
import type { ToolCall } from "../../core/entry.ts";
import { canonical, type TextEnd } from "../../core/canonical.ts";
import type { ModelMessage } from "../../core/context.ts";
import type { Memory } from "../../core/memory.ts";
import { type ModelAnswer, ModelError, type Thoughts } from "../../llm/model.ts";
import type { SaveOutcome, Subagent, SubagentChange, SubagentStep } from "./subagent-store.ts";
import { storableText, truncateMiddle } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { type Tool, ToolFailure, type ToolKit } from "../../tools/tool.ts";
import { standaloneTools } from "../../tools/tools.ts";
import { type Agent, budgetOf, forFallback } from "../../turn/agent.ts";
import { keysBehind } from "../../turn/effect-keys.ts";
import { failureKind, RefusedCall } from "../../turn/outcome.ts";
import { runToolCalls, storableCalls } from "../../turn/tool-calls.ts";
import { visibleAnswer } from "../../turn/visible-answer.ts";
import type { MadeRequest } from "../../llm/retrying-model.ts";
import { estimateMessage } from "../../context/render.ts";
import { stubOf, type StubSize } from "../../context/cap.ts";

/** Models that a subagent of an agent may use, as the configuration names them. */
export function modelsOfSubagents({ model, fallbacks }: Pick<AgentConfig, "model" | "fallbacks">): string[] {
  return [...new Set([model, ...fallbacks])];
}

/** The entries and memories that its tools returned in a step. */
type SubagentRead = Required<Pick<SubagentChange, "entries" | "memories">>;

export interface SubagentChannel extends Pick<
  TurnChannel,
  "cacheKey" | "searchHistory" | "readMessages" | "onAttempt" | "onCall" | "onToolFailure"
> {
  /** @returns the number of edits and deletions of the channel so far; null: it has ended, and must ask no model */
  look(): Promise<number | null>;
  /** @param seen result of `look` before the model was asked */
  save(step: SubagentStep, read: SubagentRead, seen: number): Promise<SaveOutcome>;
  /** @param seen null: the text is Weir's own */
  end(state: "done" | "failed", text: string, seen: number | null): Promise<SaveOutcome>;
  recallMemories(query: string, limit: number, signal: AbortSignal): Promise<Memory[]>;
}

/** Longest report, in UTF-16 units; a longer one loses its middle. */
const LONGEST_REPORT = 8000;
/** Longest stored result of one call, in UTF-16 units. */
const LONGEST_RESULT = 20_000;
/** How often in a row a step is repeated because a text was edited or deleted meanwhile. */
const MOST_CHANGES = 5;
/** Why there is no report, for its agent. */
const WHY_NOT = {
  too_long: "Its task is too long for its model.",
  unavailable: "Its model did not answer.",
  misconfigured: "Its model refused the request.",
  moderated: "Its model's provider declined the words of its task.",
  unpaid: "The account of its model is used up.",
  loading: "Its model was still being loaded.",
  empty: "It has written nothing.",
  changed: "Messages were edited or deleted all the while.",
  too_many_calls: "For the message that it was begun for, models were called as often as is allowed.",
  spent: "What may be spent today is spent.",
} as const;

/** It takes no part in the conversation. */
const NO_KIT: ToolKit = {
  react: async () => refused(),
  handOff: async () => refused(),
  kitOf: () => refused(),
};

function refused(): never {
  throw new ToolFailure("A subagent cannot do that.");
}

/**
 * Works on a subagent's task until it has reported, or failed. Each step is stored, so that none is paid for again after a crash.
 * @param signal ends the run at once: the row stays as it is
 * @throws if its row cannot be written
 */
export async function runSubagent(
  agent: Agent,
  subagent: Subagent,
  channel: SubagentChannel,
  clock: { now: () => Date },
  signal: AbortSignal,
): Promise<void> {
  const tools = await toolsOf(agent, subagent, signal);
  if (signal.aborted) return;
  const run = new SubagentRun(agent, tools, subagent, channel, signal);
  try {
    await run.untilOver(clock.now());
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.kind === "aborted" || signal.aborted) return;
    if (error instanceof RefusedCall) {
      const isOfCalls = error.refusal.failure === "too_many_calls";
      return void (await channel.end("failed", isOfCalls ? WHY_NOT.too_many_calls : WHY_NOT.spent, null));
    }
    await channel.end("failed", WHY_NOT[failureKind(error)], null);
  }
}

/** The tools that it may call now. After a restart it waits for the servers of its tools. */
async function toolsOf(
  { tools, changingTools }: Agent,
  { tools: names }: Subagent,
  signal: AbortSignal,
): Promise<readonly Tool[]> {
  const begun = changingTools?.whenBegun() ?? null;
  if (begun !== null) await unlessAborted(begun, signal);
  const mayHave = standaloneTools(changingTools?.current ?? tools);
  return mayHave.filter(({ spec }) => names.includes(spec.name));
}

class SubagentRun {
  readonly #agent: Agent;
  readonly #subagent: Subagent;
  readonly #channel: SubagentChannel;
  readonly #signal: AbortSignal;
  readonly #tools: readonly Tool[];
  readonly #steps: SubagentStep[];
  /** The model's thoughts before its calls; dropped at any edit or deletion in the channel. */
  #thoughts: readonly Thoughts[] = [];
  #seen: number | null = null;

  constructor(
    agent: Agent,
    tools: readonly Tool[],
    subagent: Subagent,
    channel: SubagentChannel,
    signal: AbortSignal,
  ) {
    this.#agent = agent;
    this.#subagent = subagent;
    this.#channel = channel;
    this.#signal = signal;
    this.#steps = [...subagent.steps];
    this.#tools = tools;
  }

  async untilOver(now: Date): Promise<void> {
    const first = this.#firstMessages(now);
    for (let changes = 0; changes < MOST_CHANGES;) {
      const seen = await this.#channel.look();
      if (seen === null) return;
      if (seen !== this.#seen) this.#thoughts = [];
      this.#seen = seen;
      const isLast = this.#steps.length >= this.#agent.config.subagents.maxSteps;
      const answer = await this.#ask(first, isLast || this.#tools.length === 0 ? "none" : "auto");
      if (this.#signal.aborted) return;
      const outcome =
        isLast || answer.calls.length === 0 ? await this.#end(answer, seen) : await this.#step(answer, seen);
      if (outcome === "over") return;
      changes = outcome === "changed" ? changes + 1 : 0;
    }
    await this.#channel.end("failed", WHY_NOT.changed, null);
  }

  #firstMessages(now: Date): ModelMessage[] {
    const { texts, config, time } = this.#agent;
    const { persona, task, brief } = this.#subagent;
    const system = texts.render("subagent", {
      agentName: config.name,
      date: time.day(now),
      persona: persona === null ? "" : (config.subagents.personas[persona] ?? ""),
      tools: this.#tools.map(({ spec }) => spec.name),
    });
    return [
      { role: "system", text: system },
      {
        role: "user",
        text: texts.render("subagent-task", { task: escapeLabels(task), brief: brief ?? "" }).trim(),
      },
    ];
  }

  async #end(answer: ModelAnswer, seen: number): Promise<SaveOutcome> {
    const text = visibleAnswer(answer.text);
    const ended =
      text === ""
        ? await this.#channel.end("failed", WHY_NOT.empty, null)
        : await this.#channel.end("done", truncateMiddle(storableText(text), LONGEST_REPORT), seen);
    return ended === "changed" ? "changed" : "over";
  }

  async #step(answer: ModelAnswer, seen: number): Promise<SaveOutcome> {
    const calls = storableCalls(answer.calls);
    const { results } = await runToolCalls(calls, {
      tools: this.#tools,
      timeoutMs: this.#agent.config.toolTimeoutMs,
      signal: this.#signal,
      effectKeys: async (wanted) => this.#effectKeys(wanted),
      context: {
        ...NO_KIT,
        // Its steps are kept as texts.
        seesImages: false,
        searchHistory: async (request, signal) => this.#channel.searchHistory(request, signal),
        readMessages: async (request, signal) => this.#channel.readMessages(request, signal),
        recallMemories: async (query, limit, signal) => this.#channel.recallMemories(query, limit, signal),
      },
      onFailure: (tool, why) => this.#channel.onToolFailure(tool, why),
    });
    if (this.#signal.aborted) return "over";
    const step = {
      text: storableText(answer.text),
      calls,
      results: results.map((result) => ({
        callId: result.callId,
        text: storableText(
          truncateMiddle(this.#agent.renderer.toolText({ ...result, deleted: false }), LONGEST_RESULT),
        ),
      })),
    };
    const read = {
      entries: results.flatMap(({ references }) => references.map(({ seq }) => seq)),
      memories: results.flatMap(({ memories }) => memories.map(({ id }) => id)),
    };
    const outcome = await this.#channel.save(step, read, seen);
    if (outcome !== "saved") return outcome;
    this.#steps.push(step);
    if (answer.thoughts !== undefined) this.#thoughts = [...this.#thoughts, answer.thoughts];
    return outcome;
  }

  #effectKeys(wanted: readonly ToolCall[]): string[] {
    const { turn, task } = this.#subagent;
    const made = this.#steps.flatMap(({ calls }) => calls);
    // Two databases number their subagents alike; tasks tell them apart.
    return keysBehind(made, wanted, `${this.#channel.cacheKey}\n${turn}\n${task}`);
  }

  async #ask(first: readonly ModelMessage[], toolChoice: "auto" | "none"): Promise<ModelAnswer> {
    const { models, config } = this.#agent;
    const own = await models.resolve(this.#subagent.model ?? config.model);
    /** Estimated tokens of the running request. */
    let estimated = 0;
    return models.model.answer(
      {
        model: own,
        make: async (model, window) => {
          const made = await this.#make(first, toolChoice, { model, own, window });
          if (made === null && model === own && window === Infinity)
            throw new ModelError("context_length", own, "the task is over the window");
          estimated = made?.estimated ?? estimated;
          return made;
        },
      },
      {
        signal: this.#signal,
        onAttempt: (model) => {
          const refusal = this.#channel.onAttempt(model, estimated);
          if (refusal !== null) throw new RefusedCall(model, refusal);
        },
        onCall: (record) => this.#channel.onCall(record, estimated),
      },
    );
  }

  /** @returns null: not even the task fits the window */
  async #make(
    first: readonly ModelMessage[],
    toolChoice: "auto" | "none",
    { model, own, window }: { readonly model: string; readonly own: string; readonly window: number },
  ): Promise<MadeRequest | null> {
    const agent = model === own ? this.#agent : forFallback(this.#agent);
    const name = model === own ? own : await agent.models.resolve(model);
    const budget = budgetOf(agent, name, null, window);
    const tools = this.#tools.map(({ spec }) => spec);
    const described = tools.length === 0 ? 0 : estimateTokens(JSON.stringify(tools));
    const made = subagentMessages(first, this.#steps, partAt(budget, 1) - described);
    if (made === null) return null;
    const { messages } = canonical(made.messages);
    return {
      estimated: made.tokens + described,
      window: budget.window,
      reserve: budget.reserve,
      request: {
        model: name,
        messages,
        tools,
        toolChoice,
        maxOutputTokens: Math.min(agent.config.maxOutputTokens, budget.reserve),
        temperature: agent.config.temperature ?? undefined,
        cacheKey: this.#channel.cacheKey,
        thoughts: this.#thoughts,
        stableEnds: [endOfText(messages, 0), endOfText(messages, messages.length - 1)],
      },
    };
  }
}

function endOfText(messages: readonly ModelMessage[], message: number): TextEnd {
  return { message, length: messages[message]?.text.length ?? 0 };
}

/** Length of a shortened result, in UTF-16 units. */
const STUB_LENGTH = 200;
const STUB: StubSize = { stubOver: STUB_LENGTH * 1.5, stubLength: STUB_LENGTH };

/**
 * The messages of a subagent's request: its instructions and its task stay whole; its oldest steps are shortened first, then left
 * out, until the request fits. Pure.
 * @param room estimated tokens
 * @returns null: not even the task fits
 */
function subagentMessages(
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
