import { fitContext } from "../context/emergency.ts";
import { contextMessages } from "../core/context.ts";
import type { EntryReference, ToolCall, TurnEntryDraft } from "../core/entry.ts";
import { errorMessage } from "../core/errors.ts";
import { dueMessages, type History, type TurnRange } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { type ModelAnswer, type ModelCallRecord, ModelError } from "../llm/model.ts";
import { storableText } from "../core/text.ts";
import type { FailureKind } from "../prompts.ts";
import { type Agent, budgetOf } from "./agent.ts";
import { visibleAnswer } from "./answer-text.ts";
import { contextSources, type Place } from "./context-sources.ts";
import { runToolCalls } from "./tool-calls.ts";

/** What a turn may do to its channel. */
export interface TurnChannel {
  readonly place: Place;
  /** The history as of now. */
  snapshot(): Promise<History>;
  /** Appends to the log, then to the history. */
  append(drafts: readonly TurnEntryDraft[]): Promise<void>;
  /** Makes an omission durable, then visible. */
  omit(toSeq: Seq, tokensBefore: number, tokensAfter: number): Promise<void>;
  /** Earlier entries that fit a text. `hidden`: only those that are not in the view. */
  recall(text: string, scope: "hidden" | "all", limit: number): Promise<EntryReference[]>;
  /** Shows the answer so far; null: what was shown is void. Must not throw or wait. */
  showDraft(text: string | null): void;
  /** Told of every model call. */
  onCall(record: ModelCallRecord, estimatedTokens: number): void;
  onToolFailure(tool: string, why: string): void;
}

export type TurnOutcome =
  | { readonly kind: "answered"; readonly text: string }
  | { readonly kind: "skipped"; readonly reason: string }
  /** The signal ended it; `text` is what had been said by then. */
  | { readonly kind: "stopped"; readonly text: string }
  | { readonly kind: "failed"; readonly failure: FailureKind; readonly why: string };

export interface TurnResult {
  readonly outcome: TurnOutcome;
  /** Time spent waiting for the model, ms. */
  readonly modelMs: number;
}

/**
 * Answers the due messages of a turn: recall, assemble, ask the model, run its tools, and again, until it answers or
 * chooses not to. It writes its calls and results to the log as it goes, so a turn that runs again after a crash goes
 * on from there. It does not settle: that is the actor's.
 * @throws only where the log could not be written
 */
export async function runTurn(
  agent: Agent,
  channel: TurnChannel,
  turn: TurnRange,
  clock: { now: () => Date },
  signal: AbortSignal,
): Promise<TurnResult> {
  const run = new TurnRun(agent, channel, turn, clock, signal);
  try {
    return { outcome: await run.untilOutcome(), modelMs: run.modelMs };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error.kind === "aborted" || signal.aborted) {
      return { outcome: { kind: "stopped", text: visibleAnswer(run.textSoFar) }, modelMs: run.modelMs };
    }
    const why = `${error.kind} (${error.model}): ${error.message}`;
    return { outcome: { kind: "failed", failure: failureKind(error), why }, modelMs: run.modelMs };
  }
}

function failureKind(error: ModelError): FailureKind {
  if (error.kind === "context_length") return "too_long";
  return error.kind === "unauthorized" || error.kind === "rejected" ? "misconfigured" : "unavailable";
}

class TurnRun {
  readonly #agent: Agent;
  readonly #channel: TurnChannel;
  readonly #turn: TurnRange;
  readonly #clock: { now: () => Date };
  readonly #signal: AbortSignal;
  modelMs = 0;
  textSoFar = "";

  constructor(
    agent: Agent,
    channel: TurnChannel,
    turn: TurnRange,
    clock: { now: () => Date },
    signal: AbortSignal,
  ) {
    this.#agent = agent;
    this.#channel = channel;
    this.#turn = turn;
    this.#clock = clock;
    this.#signal = signal;
  }

  async untilOutcome(): Promise<TurnOutcome> {
    const history = await this.#channel.snapshot();
    const recalled = await this.#recall(history);
    for (let step = 0; ; step++) {
      const isLast = step >= this.#agent.config.maxToolIterations;
      const answer = await this.#ask(recalled, isLast ? "none" : "auto");
      if (this.#signal.aborted) return { kind: "stopped", text: visibleAnswer(this.textSoFar) };
      if (answer.calls.length === 0 || isLast) return this.#answered(answer);
      const outcome = await this.#runTools(answer);
      if (outcome !== null) return outcome;
    }
  }

  #answered(answer: ModelAnswer): TurnOutcome {
    const text = visibleAnswer(answer.text);
    if (text !== "") return { kind: "answered", text };
    const why = `no text from ${answer.model} (finish: ${answer.finish}, ${answer.calls.length} calls)`;
    return { kind: "failed", failure: answer.finish === "filtered" ? "internal" : "unavailable", why };
  }

  async #runTools(answer: ModelAnswer): Promise<TurnOutcome | null> {
    const calls = storableCalls(answer.calls);
    const { results, skip } = await runToolCalls(calls, {
      tools: this.#agent.tools,
      timeoutMs: this.#agent.config.toolTimeoutMs,
      signal: this.#signal,
      context: { searchHistory: async (query, limit) => this.#channel.recall(query, "all", limit) },
      onFailure: (tool, why) => this.#channel.onToolFailure(tool, why),
    });
    if (skip !== null) {
      const text = visibleAnswer(answer.text);
      return text === "" ? { kind: "skipped", reason: skip } : { kind: "answered", text };
    }
    await this.#channel.append([{ kind: "tool_call", text: answer.text, calls }, ...results]);
    this.#showNothing();
    return null;
  }

  /** Recall is a help, not a condition: without it the turn goes on. */
  async #recall(history: History): Promise<EntryReference[]> {
    const due = dueMessages(history).filter(({ seq }) => seq <= this.#turn.toSeq);
    if (Math.max(history.coveredTo, history.omittedTo) === 0) return [];
    try {
      return await this.#channel.recall(due.map(({ text }) => text).join("\n"), "hidden", RECALL_LIMIT);
    } catch (error) {
      this.#channel.onToolFailure("recall", errorMessage(error));
      return [];
    }
  }

  /** One answer; a window that turns out smaller than believed is learned, and gets one more try. */
  async #ask(recalled: readonly EntryReference[], toolChoice: "auto" | "none"): Promise<ModelAnswer> {
    try {
      return await this.#askOnce(recalled, toolChoice);
    } catch (error) {
      if (!(error instanceof ModelError) || error.kind !== "context_length") throw error;
      const name = await this.#agent.models.resolve(this.#agent.config.model);
      const believed = budgetOf(this.#agent, name).window;
      // Where the server does not say how much it takes, less by a quarter is a guess that ends. A fallback may have
      // the smaller window: the request must fit it, so it bounds the agent's model as well.
      this.#agent.models.learnWindow(name, error.window ?? Math.floor(believed * 0.75));
      this.#showNothing();
      return this.#askOnce(recalled, toolChoice);
    }
  }

  async #askOnce(recalled: readonly EntryReference[], toolChoice: "auto" | "none"): Promise<ModelAnswer> {
    const agent = this.#agent;
    const name = await agent.models.resolve(agent.config.model);
    const history = await this.#channel.snapshot();
    const situation = {
      history,
      turn: this.#turn,
      recalled,
      now: this.#clock.now(),
      place: this.#channel.place,
    };
    const budget = budgetOf(agent, name);
    const fit = fitContext(contextSources(agent, situation), budget);
    if (fit.omitTo !== null) await this.#channel.omit(fit.omitTo, fit.tokensBefore, fit.context.tokens);
    if (fit.overflows)
      throw new ModelError("context_length", name, "the shortest form of the request is over the window");
    return agent.models.model.answer(
      {
        model: name,
        messages: contextMessages(fit.context),
        tools: fit.context.tools,
        toolChoice,
        maxOutputTokens: Math.min(agent.config.maxOutputTokens, budget.reserve),
        temperature: agent.config.temperature ?? undefined,
      },
      {
        signal: this.#signal,
        onText: (delta) => this.#show(delta),
        onRestart: () => this.#showNothing(),
        onCall: (record) => {
          this.modelMs += record.totalMs;
          this.#channel.onCall(record, fit.context.tokens);
        },
      },
    );
  }

  #show(delta: string): void {
    this.textSoFar += delta;
    const visible = visibleAnswer(this.textSoFar, { isPartial: true });
    if (visible !== "") this.#channel.showDraft(visible);
  }

  #showNothing(): void {
    if (this.textSoFar === "") return;
    this.textSoFar = "";
    this.#channel.showDraft(null);
  }
}

/** Entries that recall may bring to a turn. */
const RECALL_LIMIT = 6;

/**
 * Calls as the log can hold them: a NUL that a model wrote would be refused by Postgres each time the turn is begun
 * again. Some servers give every call the same id; a result must name one.
 */
function storableCalls(calls: readonly ToolCall[]): ToolCall[] {
  const seen = new Set<string>();
  return calls.map((call) => {
    let id = storableText(call.id);
    while (seen.has(id)) id += "+";
    seen.add(id);
    return { id, name: storableText(call.name), arguments: storableText(call.arguments) };
  });
}
