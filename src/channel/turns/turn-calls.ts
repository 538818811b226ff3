import type { RunningTurn } from "../../store/turns/turn-rows.ts";
import type { ModelCallRecord } from "../../llm/model.ts";
import type { ModelCallRow } from "../../store/turns/model-calls.ts";
import type { CallRefusal, TurnResult } from "../../turn/outcome.ts";
import { BoundedCalls } from "../call-bounds.ts";
import type { ActorParts } from "../channel-context.ts";
import type { GuardedHistory } from "../guarded-history.ts";
import { storeCalls } from "../model-usage.ts";
import type { AnsweredMessages } from "./next-turn.ts";
import { askerOf, refusedForBudget } from "./turn-budget.ts";

type TurnCallsParts = ActorParts & { readonly history: Pick<GuardedHistory, "current"> };

/**
 * The model calls of one run of a turn. The last call's row is stored with the turn's end, in one transaction; earlier
 * rows are stored without a wait when the next call begins. A crash loses the rows in flight.
 */
export class TurnCalls {
  readonly #parts: TurnCallsParts;
  readonly #turn: RunningTurn;
  readonly #isUnderWay: boolean;
  readonly #calls: BoundedCalls;
  #rows: ModelCallRow[] = [];

  constructor(parts: TurnCallsParts, turn: RunningTurn, { releases }: Pick<AnsweredMessages, "releases">) {
    this.#parts = parts;
    this.#turn = turn;
    // Budgets do not refuse a turn that has begun before or goes on with calls that were held back.
    const isUnderWay = turn.attempts > 1 || releases.length > 0;
    this.#isUnderWay = isUnderWay;
    const { id, question = id, calls: stored = 0 } = turn;
    const person = askerOf(parts.history.current, turn, parts.address.platform);
    this.#calls = new BoundedCalls(parts, { purpose: { turn: id }, question, stored, person, isUnderWay });
  }

  /** The turn's result if a budget is spent; null: it may begin. */
  refused(): TurnResult | null {
    return refusedForBudget(this.#parts, this.#turn, this.#isUnderWay);
  }

  begin(model: string, estimatedTokens: number): CallRefusal | null {
    this.store();
    return this.#calls.begin(model, estimatedTokens);
  }

  end(record: ModelCallRecord, estimatedTokens: number): void {
    this.#rows.push(this.#calls.end(record, estimatedTokens));
  }

  /** Returns the rows that are not stored yet. */
  take(): ModelCallRow[] {
    return this.#rows.splice(0);
  }

  /** Stores the remaining rows without a wait. */
  store(): void {
    storeCalls(this.#parts, this.take());
  }
}
