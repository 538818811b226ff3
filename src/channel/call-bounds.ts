import type { Spender } from "../budget/budgets.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import { formatAddress, type TurnId } from "../core/ids.ts";
import type { ModelCallRow } from "../store/turns/model-calls.ts";
import type { CallRefusal } from "../turn/refused-call.ts";
import type { ActorParts } from "./channel-context.ts";
import { CallMeter, type CallPurpose } from "./model-usage.ts";

type BoundedParts = Pick<
  ActorParts,
  "owner" | "address" | "events" | "agent" | "budgets" | "callCounts" | "log"
>;

/** For whom calls are made, and what bounds them. */
export interface CallBounds {
  readonly purpose: CallPurpose & { readonly turn: TurnId };
  /** The turn with which the chain of turns began: its calls are bounded together. */
  readonly question: TurnId;
  /** Calls of the question that the log knows. */
  readonly stored: number;
  /** As `discord:1234`; null: no person has asked. */
  readonly person: string | null;
  /** It has begun before: it is finished, whatever is left of a budget. */
  readonly isUnderWay: boolean;
}

/**
 * The calls of one turn or one subagent: each attempt asks here whether it may be made. The first one needs something that is left of each
 * budget, with what is under way elsewhere counted in; all of them need a call that is left of the question.
 */
export class BoundedCalls {
  readonly #parts: BoundedParts;
  readonly #bounds: CallBounds;
  readonly #meter: CallMeter;
  #isUnderWay: boolean;

  constructor(parts: BoundedParts, bounds: CallBounds) {
    this.#parts = parts;
    this.#bounds = bounds;
    this.#meter = new CallMeter(parts);
    this.#isUnderWay = bounds.isUnderWay;
    parts.callCounts.of(bounds.question, bounds.stored);
  }

  /** An attempt is about to be made. @returns why it must not be; null: it is made */
  begin(model: string, estimatedTokens: number): CallRefusal | null {
    const { callCounts, agent, budgets, log, address } = this.#parts;
    const { question, purpose } = this.#bounds;
    const { maxCallsPerTurn } = agent.config;
    const spent = this.#isUnderWay ? null : (budgets?.spent(this.#spender) ?? null);
    if (spent !== null) {
      const why = `the budget of the ${spent.scope} is spent for today`;
      return { failure: `spent_${spent.scope}`, why, calls: callCounts.of(question) };
    }
    if (!callCounts.take(question, maxCallsPerTurn)) {
      const calls = callCounts.of(question);
      log.warn(
        { channel: formatAddress(address), ...purpose, calls },
        "out_of_calls: where answers need more, raise max_calls_per_turn",
      );
      return { failure: "too_many_calls", why: `max_calls_per_turn: ${calls} calls were made`, calls };
    }
    this.#isUnderWay = true;
    this.#meter.begun(purpose, model, estimatedTokens);
    return null;
  }

  /** It has ended. @returns its row */
  end(record: ModelCallRecord, estimatedTokens: number): ModelCallRow {
    return this.#meter.ended(this.#bounds.purpose, record, estimatedTokens);
  }

  get #spender(): Spender {
    const { agent, owner } = this.#parts;
    return { agent: agent.config.id, channel: owner.channel, person: this.#bounds.person };
  }
}
