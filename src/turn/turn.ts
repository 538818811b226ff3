/**
 * The loop of a turn: recall, requests, tools, until the model answers. The room reaches its channel only through
 * `TurnChannel`, and models only through `llm`; it neither settles turns nor knows platforms.
 */

import { withDeadline } from "../async/deadline.ts";
import type { ToolCall } from "../core/entry.ts";
import { contextRequest } from "../core/context-request.ts";
import type { History, TurnRange } from "../core/history.ts";
import { type ModelAnswer, ModelError, type Thoughts } from "../llm/model.ts";
import type { MadeRequest } from "../llm/retrying-model.ts";
import { type Agent, cacheOf } from "./agent.ts";
import { type CallRefusal, failureKind, RefusedCall, type TurnOutcome, type TurnResult } from "./outcome.ts";
import {
  madeCalls,
  runToolCalls,
  SKIP,
  skippedResult,
  storableCalls,
  type ToolResultDraft,
  type ToolRunParts,
} from "./tool-calls.ts";
import { visibleAnswer } from "./visible-answer.ts";
import { type FittedRequest, TurnContexts } from "./turn-contexts.ts";
import type { TurnChannel } from "./turn-channel.ts";
import { effectKeys } from "./effect-keys.ts";
import type { WrittenBeside } from "../store/log/log.ts";

/**
 * Answers the due messages of a turn: recalls, assembles, asks the model, runs its tools, and repeats, until the model
 * answers or chooses not to. It logs its calls and results as it goes, so that a turn resumes after a crash. The actor
 * settles it.
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

/** Most answers of a turn whose calls are skipped because a message came. More would let one talkative person stop the work. */
const MOST_SKIPPED = 2;

/** Longest wait for a refresh of the agent's folder, ms. */
const FOLDER_WITHIN_MS = 50;

class TurnRun {
  readonly #agent: Agent;
  readonly #channel: TurnChannel;
  readonly #turn: TurnRange;
  readonly #signal: AbortSignal;
  readonly #toolParts: ToolRunParts;
  readonly #thoughts = new TurnThoughts();
  readonly #contexts: TurnContexts;
  /** All requests of a turn have the same time, so that they share a prefix. */
  readonly #now: Date;
  modelMs = 0;
  textSoFar = "";
  /** Answers whose calls were skipped for a message that came. */
  #skipped = 0;
  /** The last shown text of an answer that was followed by calls. */
  #shownBefore = "";

  constructor(agent: Agent, channel: TurnChannel, turn: TurnRange, now: Date, signal: AbortSignal) {
    this.#agent = agent;
    this.#channel = channel;
    this.#turn = turn;
    this.#now = now;
    this.#contexts = new TurnContexts(agent, channel, turn, now);
    this.#signal = signal;
    this.#toolParts = toolRunParts(agent, channel, turn, signal);
  }

  async untilOutcome(): Promise<TurnOutcome> {
    const history = await this.#landedIfCold(await this.#channel.snapshot());
    const look = this.#agent.folder.refresh();
    await this.#contexts.lookUp(history);
    // A slow refresh serves the next turn.
    if (look !== null) await withDeadline(look, FOLDER_WITHIN_MS);
    await this.#channel.gate.runReleased(this.#toolParts, async (...appended) => this.#append(...appended));
    for (let step = 0; ; step++) {
      const isLast = step >= this.#agent.config.maxToolIterations;
      if (await this.#channel.takeIn()) await this.#contexts.lookUpImages();
      const answer = await this.#ask(isLast ? "none" : "auto");
      if (this.#signal.aborted) return { kind: "stopped", text: visibleAnswer(this.textSoFar) };
      if (answer.calls.length === 0 || isLast) return this.#answered(answer);
      const outcome = await this.#runTools(answer);
      if (outcome !== null) return outcome;
    }
  }

  /** If the provider's cache is cold, summaries written ahead land at no cost. */
  async #landedIfCold(history: History): Promise<History> {
    const { models, config } = this.#agent;
    const name = models.nameOf(config.model);
    if (name === undefined || history.ahead.length === 0 || !config.compaction.enabled) return history;
    const { pace } = this.#channel;
    const cache = cacheOf(this.#agent, name, pace, this.#now.getTime(), this.#turn.id);
    if (cache?.isCold !== true || !(await this.#channel.commitAhead())) return history;
    return this.#channel.snapshot();
  }

  /** The outcome when one of Weir's own limits refuses a call. */
  refused({ failure, why, calls }: CallRefusal): TurnOutcome {
    if (failure !== "too_many_calls") return { kind: "failed", failure, why };
    return { kind: "bounded", text: visibleAnswer(this.textSoFar || this.#shownBefore), calls, why };
  }

  #answered(answer: ModelAnswer): TurnOutcome {
    const text = visibleAnswer(answer.text);
    if (text !== "") return { kind: "answered", text, ...byStandIn(answer) };
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
    if (this.#skipped < MOST_SKIPPED && this.#channel.isSteered()) {
      // The model made these calls before it knew of a message that has come: it decides again.
      this.#skipped++;
      return this.#goOn(answer, wanted, wanted.map(skippedResult));
    }
    const { told: held, beside } = await this.#channel.gate.hold(wanted);
    const { calls, results, skip, handOff } = await runToolCalls(wanted, { ...this.#toolParts, held });
    // The turn will not continue with these results, whose sources may be deleted by now.
    if (this.#signal.aborted) return { kind: "stopped", text: visibleAnswer(this.textSoFar) };
    if (skip !== null || handOff !== null) {
      // The log keeps calls with an effect, such as a reaction.
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
    return this.#goOn(answer, calls, results, beside);
  }

  /** The model is asked again, with these results. */
  async #goOn(
    answer: ModelAnswer,
    calls: readonly ToolCall[],
    results: readonly ToolResultDraft[],
    beside?: WrittenBeside,
  ): Promise<null> {
    const drafts = [{ kind: "tool_call", text: answer.text, calls } as const, ...results];
    const standIn = byStandIn(answer);
    await this.#append(
      drafts.map((draft) => ({ ...draft, ...standIn })),
      beside,
    );
    this.#showNothing();
    return null;
  }

  /** Appends calls with their results. Texts that they have activated stand in the next request already. */
  async #append(...[drafts, news]: Parameters<TurnChannel["append"]>): Promise<void> {
    await this.#channel.append(drafts, news);
    const called = drafts.flatMap((draft) => (draft.kind === "tool_call" ? draft.calls : []));
    const changing = this.#toolParts.tools.filter(({ changesTexts = false }) => changesTexts);
    if (changing.some(({ spec }) => called.some(({ name }) => name === spec.name)))
      await this.#contexts.lookUpActiveTexts();
  }

  async #ask(toolChoice: "auto" | "none"): Promise<ModelAnswer> {
    const { models, config } = this.#agent;
    const own = await models.resolve(config.model);
    /** Estimated tokens of the request under way. */
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

function byStandIn({ isStandIn }: Pick<ModelAnswer, "isStandIn">): { readonly standIn?: true } {
  return isStandIn === true ? { standIn: true } : {};
}

function toolRunParts(
  { tools, config, models }: Agent,
  channel: TurnChannel,
  turn: TurnRange,
  signal: AbortSignal,
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
      searchHistory: async (request, until) => channel.searchHistory(request, until),
      readMessages: async (request, until) => channel.readMessages(request, until),
      recallMemories: async (query, limit, until) => channel.recallMemories(query, "tool", limit, until),
    },
    onFailure: (tool, why) => channel.onToolFailure(tool, why),
    onStart: (call) => channel.onToolStart?.(call),
    onCall: (call) => channel.onToolCall?.(call),
  };
}

/**
 * The model's thoughts before its calls in a running turn. All are dropped once any text that the model has read is
 * edited, deleted or covered by a summary, since thoughts may repeat it unreadably.
 */
export class TurnThoughts {
  #kept: readonly Thoughts[] = [];
  #seen: readonly string[] = [];

  of(history: History): readonly Thoughts[] {
    if (this.#kept.length === 0) return this.#kept;
    const now = seenIn(history);
    if (!this.#seen.every((one, place) => now[place] === one)) this.#kept = [];
    return this.#kept;
  }

  /** @param history of the request to which the thoughts belong */
  add(thoughts: Thoughts | undefined, history: History): void {
    if (thoughts === undefined) return;
    this.#kept = [...this.#kept, thoughts];
    this.#seen = seenIn(history);
  }

  /** Sets the ids under which the log has the calls after the newest thoughts. */
  renamed(callIds: readonly string[]): void {
    const newest = this.#kept.at(-1);
    if (newest !== undefined) this.#kept = [...this.#kept.slice(0, -1), { ...newest, callIds }];
  }
}

/** The texts of a history that a model sees. */
function seenIn({ summaries, omittedTo, entries }: History): readonly string[] {
  return [
    String(omittedTo),
    ...summaries.map(({ fromSeq, toSeq, text }) => `${fromSeq}-${toSeq} ${text}`),
    ...entries.map(({ seq, text }) => `${seq} ${text}`),
  ];
}
