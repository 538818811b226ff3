import { withDeadline } from "../async/deadline.ts";
import { contextRequest } from "../core/context-request.ts";
import type { History, TurnRange } from "../core/history.ts";
import { type ModelAnswer, ModelError } from "../llm/model.ts";
import type { MadeRequest } from "../llm/retrying-model.ts";
import type { SkillRequest } from "../tools/tool.ts";
import { type Agent, cacheOf } from "./agent.ts";
import { failureKind } from "./failure-kind.ts";
import { madeCalls, runToolCalls, SKIP, storableCalls, type ToolRunParts } from "./tool-calls.ts";
import { visibleAnswer } from "./visible-answer.ts";
import type { TurnOutcome, TurnResult } from "./outcome.ts";
import { type CallRefusal, RefusedCall } from "./refused-call.ts";
import { type FittedRequest, TurnContexts } from "./turn-contexts.ts";
import type { TurnChannel } from "./turn-channel.ts";
import { TurnThoughts } from "./turn-thoughts.ts";
import { effectKeys } from "./effect-keys.ts";

/**
 * Answers the due messages of a turn: recall, assemble, ask the model, run its tools, and again, until it answers or
 * chooses not to. It writes its calls and results to the log as it goes, so a turn that runs again after a crash goes
 * on from there. It does not settle: that is the actor's.
 * @throws only if the log could not be written
 */
export async function runTurn(
  agent: Agent,
  channel: TurnChannel,
  turn: TurnRange,
  clock: { now: () => Date },
  signal: AbortSignal,
): Promise<TurnResult> {
  const run = new TurnRun(agent, channel, turn, clock.now(), signal);
  try {
    return { outcome: await run.untilOutcome(), modelMs: run.modelMs };
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    if (error instanceof RefusedCall) return { outcome: run.refused(error.refusal), modelMs: run.modelMs };
    if (error.kind === "aborted" || signal.aborted)
      return { outcome: { kind: "stopped", text: visibleAnswer(run.textSoFar) }, modelMs: run.modelMs };
    const { kind, reason, model, status, brief, message } = error;
    const refusal = brief ?? (status === undefined ? "" : `HTTP ${status}`);
    const why = `${reason ?? kind} (${model}${refusal === "" ? "" : `, ${refusal}`})`;
    const said = brief === undefined ? { told: message } : { logged: message };
    return { outcome: { kind: "failed", failure: failureKind(error), why, ...said }, modelMs: run.modelMs };
  }
}

/** Longest wait for a look at the agent's folder, ms. */
const FOLDER_WITHIN_MS = 50;

class TurnRun {
  readonly #agent: Agent;
  readonly #channel: TurnChannel;
  readonly #turn: TurnRange;
  readonly #signal: AbortSignal;
  readonly #toolParts: ToolRunParts;
  readonly #thoughts = new TurnThoughts();
  readonly #contexts: TurnContexts;
  /** All requests of a turn say the same time, so that each begins as the one before it. */
  readonly #now: Date;
  modelMs = 0;
  textSoFar = "";
  /** What was shown last of an answer that was not the last. */
  #shownBefore = "";

  constructor(agent: Agent, channel: TurnChannel, turn: TurnRange, now: Date, signal: AbortSignal) {
    this.#agent = agent;
    this.#channel = channel;
    this.#turn = turn;
    this.#now = now;
    this.#contexts = new TurnContexts(agent, channel, turn, now);
    this.#signal = signal;
    this.#toolParts = toolRunParts(agent, channel, turn, signal, async (request) => this.#useSkill(request));
  }

  async untilOutcome(): Promise<TurnOutcome> {
    const history = await this.#landedIfCold(await this.#channel.snapshot());
    const look = this.#agent.folder.refresh();
    await this.#contexts.lookUp(history);
    // What is slow to read is read for the next turn.
    if (look !== null) await withDeadline(look, FOLDER_WITHIN_MS);
    await this.#channel.gate.runReleased(this.#toolParts, this.#channel.append);
    for (let step = 0; ; step++) {
      const isLast = step >= this.#agent.config.maxToolIterations;
      const answer = await this.#ask(isLast ? "none" : "auto");
      if (this.#signal.aborted) return { kind: "stopped", text: visibleAnswer(this.textSoFar) };
      if (answer.calls.length === 0 || isLast) return this.#answered(answer);
      const outcome = await this.#runTools(answer);
      if (outcome !== null) return outcome;
    }
  }

  /** The cache has forgotten the last request: what was written ahead lands for nothing. */
  async #landedIfCold(history: History): Promise<History> {
    const { models, config } = this.#agent;
    const name = models.nameOf(config.model);
    if (name === undefined || history.ahead.length === 0 || !config.compaction.enabled) return history;
    const { pace } = this.#channel;
    const cache = cacheOf(this.#agent, name, pace, this.#now.getTime(), this.#turn.id);
    if (cache?.isCold !== true || !(await this.#channel.commitAhead())) return history;
    return this.#channel.snapshot();
  }

  /** What ends it where a bound of ours has refused a call. */
  refused({ failure, why, calls }: CallRefusal): TurnOutcome {
    if (failure !== "too_many_calls") return { kind: "failed", failure, why };
    return { kind: "bounded", text: visibleAnswer(this.textSoFar || this.#shownBefore), calls, why };
  }

  #answered(answer: ModelAnswer): TurnOutcome {
    const text = visibleAnswer(answer.text);
    if (text !== "") return { kind: "answered", text };
    const why = `no text from ${answer.model} (finish: ${answer.finish}, ${answer.calls.length} calls)`;
    return { kind: "failed", failure: answer.finish === "filtered" ? "moderated" : "unavailable", why };
  }

  async #runTools(answer: ModelAnswer): Promise<TurnOutcome | null> {
    const made = madeCalls(await this.#channel.snapshot(), this.#turn);
    const wanted = storableCalls(
      answer.calls,
      made.map(({ id }) => id),
    );
    if (answer.thoughts !== undefined) this.#thoughts.renamed(wanted.map(({ id }) => id));
    const { told: held, beside } = await this.#channel.gate.hold(wanted);
    const { calls, results, skip, handOff } = await runToolCalls(wanted, { ...this.#toolParts, held });
    // What a call has found may be deleted by now, and nobody would read it again.
    if (this.#signal.aborted) return { kind: "stopped", text: visibleAnswer(this.textSoFar) };
    if (skip !== null || handOff !== null) {
      // What it did beside, such as a reaction, it is to remember.
      if (calls.some(({ name }) => name !== SKIP))
        await this.#channel.append([{ kind: "tool_call", text: "", calls }, ...results], beside);
      const text = visibleAnswer(answer.text);
      const handed = handOff === null ? {} : { handOff };
      return text === ""
        ? {
            kind: "skipped",
            reason: handOff === null ? (skip ?? "") : `handed over to ${handOff.name}`,
            ...handed,
          }
        : { kind: "answered", text, ...handed };
    }
    await this.#channel.append([{ kind: "tool_call", text: answer.text, calls }, ...results], beside);
    this.#showNothing();
    return null;
  }

  /** What is active stands in the next request already. */
  async #useSkill(request: SkillRequest): Promise<string> {
    const told = await this.#channel.toolKit.useSkill(request);
    await this.#contexts.lookUpSkills();
    return told;
  }

  async #ask(toolChoice: "auto" | "none"): Promise<ModelAnswer> {
    const { models, config } = this.#agent;
    const own = await models.resolve(config.model);
    /** Of the request that is under way. */
    let estimated = 0;
    let seen: History | null = null;
    const answer = await models.model.answer(
      {
        model: own,
        make: async (model, window) => {
          const isForOneCall = model !== own || window !== Infinity;
          const made = await (isForOneCall
            ? this.#contexts.fitOnce(model, own, window)
            : this.#contexts.fitForGood(own));
          if (made === null) return null;
          estimated = made.fit.context.tokens;
          seen = made.fit.history;
          return this.#request(made, toolChoice, isForOneCall);
        },
      },
      {
        signal: this.#signal,
        onAttempt: (model) => this.#begin(model, estimated),
        onText: (delta) => this.#show(delta),
        onRestart: () => this.#showNothing(),
        onRetry: (attempt, of) => this.#channel.onRetry?.(attempt, of),
        onCall: (record) => {
          this.modelMs += record.totalMs;
          this.#channel.onCall(record, estimated);
        },
      },
    );
    if (seen !== null) this.#thoughts.add(answer.thoughts, seen);
    return answer;
  }

  #request(
    { name, budget, fit }: FittedRequest,
    toolChoice: "auto" | "none",
    isForOneCall: boolean,
  ): MadeRequest {
    const { config } = this.#agent;
    this.#channel.onRequest(name, fit.context, { history: fit.history, budget, isForOneCall });
    return {
      estimated: fit.context.tokens,
      teachesFactor: true,
      window: budget.window,
      reserve: budget.reserve,
      request: {
        model: name,
        ...contextRequest(fit.context),
        tools: fit.context.tools,
        toolChoice,
        maxOutputTokens: Math.min(config.maxOutputTokens, budget.reserve),
        temperature: config.temperature ?? undefined,
        cacheKey: this.#channel.cacheKey,
        thoughts: this.#thoughts.of(fit.history),
        waits: this.#channel.pace.waitsUpTo({ id: this.#turn.id, at: this.#now.getTime() }),
      },
    };
  }

  /** @throws RefusedCall */
  #begin(model: string, estimated: number): void {
    const refusal = this.#channel.onAttempt(model, estimated);
    if (refusal !== null) throw new RefusedCall(model, refusal);
  }

  #show(delta: string): void {
    this.textSoFar += delta;
    const visible = visibleAnswer(this.textSoFar, { isPartial: true });
    if (visible !== "") this.#channel.showDraft(visible);
  }

  #showNothing(): void {
    if (this.textSoFar === "") return;
    this.#shownBefore = this.textSoFar;
    this.textSoFar = "";
    this.#channel.showDraft(null);
  }
}

/** What a turn's calls of tools work with. */
function toolRunParts(
  { tools, config, models }: Agent,
  channel: TurnChannel,
  turn: TurnRange,
  signal: AbortSignal,
  useSkill: (request: SkillRequest) => Promise<string>,
): ToolRunParts {
  return {
    tools,
    timeoutMs: config.toolTimeoutMs,
    signal,
    effectKeys: async (calls) =>
      effectKeys(calls, { channel: channel.cacheKey, turn, history: await channel.snapshot() }),
    context: {
      ...channel.toolKit,
      seesImages: config.seesImages && models.seesImages(config.model),
      searchHistory: async (query, limit, until) => channel.recall(query, "all", limit, until),
      recallMemories: async (query, limit, until) => channel.recallMemories(query, "tool", limit, until),
      useSkill,
    },
    onFailure: (tool, why) => channel.onToolFailure(tool, why),
    onCall: (call) => channel.onToolCall?.(call),
  };
}
