import { ModelError } from "../llm/model.ts";
import type { FailureKind } from "../prompts/load.ts";

/** Why a call of a model is not made. */
export interface CallRefusal {
  readonly failure: Extract<FailureKind, "too_many_calls" | "spent_agent" | "spent_channel" | "spent_person">;
  /** In Weir's words alone. */
  readonly why: string;
  /** Calls that were made for the question so far. */
  readonly calls: number;
}

/** An attempt that a bound of ours has refused. Nothing was sent. */
export class RefusedCall extends ModelError {
  readonly refusal: CallRefusal;

  constructor(model: string, refusal: CallRefusal) {
    super("not_allowed", model, refusal.why);
    this.refusal = refusal;
  }
}
