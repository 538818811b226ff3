import { MIN_WINDOW } from "../config/config.ts";
import type { Budget } from "../context/usage.ts";
import { MAX_FACTOR } from "../core/calibration.ts";
import { type ModelAnswer, ModelError } from "../llm/model.ts";
import type { Agent } from "./agent.ts";

/** A request that was sent, as a refusal of it is judged. */
export interface SentRequest {
  /** The server's name of the model. */
  readonly model: string;
  /** Estimated tokens of the whole request. */
  readonly estimated: number;
  readonly budget: Budget;
}

/** What is sent after a refusal that says nothing more, as a share of what was refused. */
const RETRY_SHARE = 0.75;
/** How often a request that is refused for its length is made shorter and sent again. */
const MAX_RETRIES = 2;

/**
 * One answer, of a turn or a subagent. A request that is refused for its length is made anew for a smaller window. That window is
 * learned once such a request was answered: a refusal is only words, and all channels would have to live with it. A fallback may
 * have the smaller window: the request must fit it, so it bounds the agent's model as well.
 * @param ask sends a request that is made for a window of at most so many tokens, and tells `onSend` of it before; without that, it
 * could not be made to fit
 * @param onRetry called where a request is made anew
 */
export async function askWithinWindow(
  agent: Pick<Agent, "config" | "models">,
  ask: (limit: number, onSend: (request: SentRequest) => void) => Promise<ModelAnswer>,
  onRetry: () => void = () => undefined,
): Promise<ModelAnswer> {
  let limit = Infinity;
  let told: number | undefined;
  let refusedBy: string | undefined;
  for (let refusals = 0; ; refusals++) {
    const sent: { request: SentRequest | null } = { request: null };
    try {
      const answer = await ask(limit, (request) => {
        sent.request = request;
      });
      // What the provider counts, the estimate is corrected by; where it does not, the window has to stand for that.
      const tokens = answer.usage === undefined ? limit : (told ?? limit);
      if (refusals > 0) learnWindow(agent, sent.request, tokens, refusedBy);
      return answer;
    } catch (error) {
      const { request } = sent;
      if (!(error instanceof ModelError) || error.kind !== "context_length" || request === null) throw error;
      if (!isCredible(error.window, request)) throw notForLength(error);
      const smaller = refusals < MAX_RETRIES ? smallerWindow(error.window, request) : null;
      if (smaller === null) throw error;
      limit = smaller;
      told = error.window;
      refusedBy = error.model;
      onRetry();
    }
  }
}

/** @param refusedBy the model that was asked, or the fallback whose window was too small */
function learnWindow(
  { config, models }: Pick<Agent, "config" | "models">,
  request: SentRequest | null,
  tokens: number,
  refusedBy: string | undefined,
): void {
  if (request !== null && tokens < models.windowOf(request.model, config.contextWindow))
    models.learnWindow(request.model, tokens, refusedBy);
}

/** The refusal of a request as one that its length cannot have been the reason of. */
function notForLength(error: ModelError): ModelError {
  const { model, message, status } = error;
  return new ModelError("rejected", model, message, { cause: error, status });
}

/**
 * Can a window of so many tokens be why this request was refused? What an error says may be what a person wrote:
 * servers repeat it. Where even a much too low estimate fits, it is not.
 * @param told undefined: the server named none
 */
function isCredible(told: number | undefined, { estimated, budget }: SentRequest): boolean {
  return told === undefined || (told >= MIN_WINDOW && told < estimated * MAX_FACTOR + budget.reserve);
}

/**
 * The window, in tokens, that the next request is made for after a refusal.
 * @param told as the server named it, if it did
 * @returns null if no smaller one is of use
 */
function smallerWindow(told: number | undefined, { estimated, budget }: SentRequest): number | null {
  if (told !== undefined && told < budget.window) return told;
  // The window is what we believed, or nobody knows it: what was sent is more than fits, and that is all there is to
  // go by.
  const room = Math.floor(estimated * budget.calibration.factor * RETRY_SHARE);
  const guess = Math.min(room + Math.min(budget.reserve, room), Math.floor(budget.window * RETRY_SHARE));
  return guess >= MIN_WINDOW ? guess : null;
}
