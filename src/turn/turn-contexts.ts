import { steadyNow } from "../async/clock.ts";
import { type Fit, fitContext } from "../context/emergency.ts";
import { type Budget, extractTokens, partAt, tokenBudgetAt, usableTokens } from "../context/usage.ts";
import { errorMessage } from "../core/errors.ts";
import type { History, TurnRange } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { ModelError } from "../llm/model.ts";
import { isQuestion } from "../memory/recall-worth.ts";
import { type Agent, budgetOf, forFallback } from "./agent.ts";
import {
  contextSources,
  type LookedUp,
  NOTHING_ATTACHED,
  NOTHING_LOOKED_UP,
  type OmittedExtract,
} from "./context-sources.ts";
import { firstRecall } from "./first-recall.ts";
import type { TurnChannel } from "./turn-channel.ts";

/** Estimated tokens of the words around an extract, with the marks of its lines. */
export const EXTRACT_FRAME_TOKENS = 60;

export interface FittedRequest {
  /** The server's name of the model. */
  readonly name: string;
  readonly budget: Budget;
  readonly fit: Fit;
}

/** Builds a turn's requests: the results of its look-ups, and as much of the channel as fits a model's window. */
export class TurnContexts {
  readonly #agent: Agent;
  readonly #channel: TurnChannel;
  readonly #turn: TurnRange;
  readonly #now: Date;
  #found: LookedUp = NOTHING_LOOKED_UP;
  /** Up to here, entries had been omitted when recall last searched among them. */
  #searchedTo: Seq = 0;

  /** @param now the time in all requests of the turn */
  constructor(agent: Agent, channel: TurnChannel, turn: TurnRange, now: Date) {
    this.#agent = agent;
    this.#channel = channel;
    this.#turn = turn;
    this.#now = now;
  }

  async lookUp(history: History): Promise<void> {
    const [recalls, attached, extract, channelFiles, activeTexts, waitedFor] = await Promise.all([
      this.#recall(history),
      this.#orElse(NOTHING_ATTACHED, this.#channel.attached()),
      history.omission === null ? null : this.#extract(),
      this.#orElse([], this.#channel.channelFiles()),
      this.#orElse([], this.#channel.activeTexts()),
      this.#orElse([], this.#channel.waitedFor()),
    ]);
    this.#found = { ...recalls, attached, extract, channelFiles, activeTexts, waitedFor };
    this.#searchedTo = history.omittedTo;
  }

  /** Recall is optional: a turn continues without it. */
  async #recall(history: History): Promise<Pick<LookedUp, "recalled" | "remembered" | "isUnfound">> {
    const { text, entries, memories } = firstRecall(history, this.#turn.toSeq, {
      recall: this.#agent.config.memory.recall,
      seesElsewhere: this.#channel.seesElsewhere(),
    });
    const startedAt = steadyNow();
    const [recalled, remembered] = await Promise.all([
      entries === 0 ? [] : this.#orElse([], this.#channel.recall(text, entries)),
      memories === 0 ? [] : this.#orElse([], this.#channel.recallMemories(text, "turn", memories)),
    ]);
    if (entries + memories > 0) {
      const found = { entries: recalled.length, memories: remembered.length };
      this.#channel.onRecalled?.(found, steadyNow() - startedAt);
    }
    // Without a search for entries, the view itself may have the answer.
    const hasLooked = entries > 0 && this.#channel.hasFoundAll();
    const fitting = remembered.filter(({ isOnPageAlone }) => isOnPageAlone !== true);
    const isUnfound = hasLooked && recalled.length + fitting.length === 0 && isQuestion(text);
    return { recalled, remembered, isUnfound };
  }

  /** Looks for pictures of messages that the turn has taken in. The rest of the look-ups stays: a changed prompt costs the cache. */
  async lookUpImages(): Promise<void> {
    const { attached } = this.#found;
    const { images } = await this.#orElse(attached, this.#channel.attached());
    this.#found = { ...this.#found, attached: { ...attached, images } };
  }

  /** Looks again for active texts: a call has changed them. */
  async lookUpActiveTexts(): Promise<void> {
    this.#found = { ...this.#found, activeTexts: await this.#channel.activeTexts() };
  }

  /**
   * A request for the agent's own model. Entries that do not fit leave the channel's view until a summary covers them.
   * @throws ModelError if its shortest form exceeds the window
   */
  async fitForGood(name: string): Promise<FittedRequest> {
    const budget = budgetOf(this.#agent, name, this.#channel.anchor(name));
    const fitNow = await this.#fitter(name, budget);
    let fit = await fitNow();
    if (fit.omitTo !== null && (await this.#channel.commitAhead())) fit = await fitNow();
    if (fit.omitTo !== null) {
      await this.#channel.omit(fit.omitTo, fit.tokensBefore, fit.context.tokens);
    }
    // The turn itself, or the compactor meanwhile, has omitted entries that were in view when the turn looked up the rest.
    const { history } = fit;
    if (history.omittedTo > this.#searchedTo) {
      this.#searchedTo = history.omittedTo;
      fit = (await this.#withExtract(fitNow, fit, tokenBudgetAt(budget, budget.emergencyThreshold))) ?? fit;
      fit = (await this.#withRecall(fitNow, history)) ?? fit;
    }
    if (fit.overflows)
      throw new ModelError("context_length", name, "the shortest form of the request is over the window");
    return { name, budget, fit };
  }

  /**
   * A request for a fallback, or for a window that may be smaller than the known one, from a view for this call alone.
   * @returns null: its shortest form exceeds the window
   */
  async fitOnce(model: string, own: string, window: number): Promise<FittedRequest | null> {
    const agent = model === own ? this.#agent : forFallback(this.#agent);
    const name = model === own ? own : await agent.models.resolve(model);
    const budget = budgetOf(agent, name, this.#channel.anchor(name), window);
    const fit = await (await this.#fitter(name, budget))();
    return fit.overflows ? null : { name, budget, fit };
  }

  /** Fits the request to the channel's state at each call. */
  async #fitter(name: string, budget: Budget): Promise<() => Promise<Fit>> {
    const agent = this.#agent;
    const isSeeing = agent.config.seesImages && agent.models.seesImages(name);
    // Read for each request, so that a deleted picture is not shown; without pictures this costs nothing.
    const resultImages = isSeeing ? await this.#orElse([], this.#channel.resultImages()) : [];
    return async () => {
      const history = await this.#channel.snapshot();
      const { scene } = this.#channel;
      const now = this.#now;
      const { attached } = this.#found;
      const found = isSeeing ? this.#found : { ...this.#found, attached: { ...attached, images: [] } };
      const sizes = { usable: usableTokens(budget), usableEstimated: partAt(budget, 1) };
      const situation = { history, turn: this.#turn, ...found, resultImages, now, scene, ...sizes };
      return fitContext(contextSources(agent, situation), budget);
    };
  }

  /** The request with an extract of the entries that have just left the view; null: there is no room for it. */
  async #withExtract(fitNow: () => Promise<Fit>, { context }: Fit, limit: number): Promise<Fit | null> {
    const extract = await this.#extract();
    this.#found = { ...this.#found, extract };
    if (extract === null || context.tokens + extract.tokens + EXTRACT_FRAME_TOKENS >= limit) return null;
    const fit = await fitNow();
    return fit.omitTo === null ? fit : null;
  }

  /** The request with what recall finds among the entries that have just left the view; null: nothing, or there is no room for it. */
  async #withRecall(fitNow: () => Promise<Fit>, history: History): Promise<Fit | null> {
    const before = this.#found;
    const recalls = await this.#recall(history);
    if (recalls.recalled.length + recalls.remembered.length === 0) return null;
    this.#found = { ...before, ...recalls };
    const fit = await fitNow();
    if (fit.omitTo === null) return fit;
    this.#found = before;
    return null;
  }

  async #extract(): Promise<OmittedExtract | null> {
    const { config, models } = this.#agent;
    const budget = budgetOf(this.#agent, await models.resolve(config.model));
    return this.#orElse(null, this.#channel.extract(extractTokens(budget)));
  }

  async #orElse<Found>(nothing: Found, search: Promise<Found>): Promise<Found> {
    try {
      return await search;
    } catch (error) {
      this.#channel.onToolFailure("recall", errorMessage(error));
      return nothing;
    }
  }
}
