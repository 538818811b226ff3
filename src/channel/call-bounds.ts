import type { Spender } from "../budget/budgets.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import { formatAddress, type TurnId } from "../core/ids.ts";
import type { ModelCallRow } from "../store/turns/model-calls.ts";
import type { CallRefusal } from "../turn/outcome.ts";
import type { ActorParts } from "./channel-context.ts";
import { CallMeter, type CallPurpose } from "./model-usage.ts";

type BoundedParts = Pick<
  ActorParts,
  "owner" | "address" | "events" | "agent" | "budgets" | "callCounts" | "log"
>;

export interface CallBounds {
  readonly purpose: CallPurpose & { readonly turn: TurnId };
  /** The first turn of a chain of turns, whose calls share one bound. */
  readonly question: TurnId;
  /** Calls of the question in the log. */
  readonly stored: number;
  /** As `discord:1234`; null: no person has asked. */
  readonly person: string | null;
  /** An earlier run has begun it: it may finish beyond its budget. */
  readonly isUnderWay: boolean;
}

/**
 * Bounds the model calls of one turn, or of one piece of work that a turn has begun. The first attempt needs a remainder of each budget, running calls elsewhere
 * counted; every attempt needs a remaining call of the question.
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

  /** Call it before an attempt. @returns why the attempt is refused; null: it is allowed */
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

  /** Call it after an attempt. @returns its row */
  end(record: ModelCallRecord, estimatedTokens: number): ModelCallRow {
    return this.#meter.ended(this.#bounds.purpose, record, estimatedTokens);
  }

  get #spender(): Spender {
    const { agent, owner } = this.#parts;
    return { agent: agent.config.id, channel: owner.channel, person: this.#bounds.person };
  }
}
