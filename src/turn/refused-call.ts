import { ModelError } from "../llm/model.ts";
import type { FailureKind } from "../prompts/load.ts";

export interface CallRefusal {
  readonly failure: Extract<FailureKind, "too_many_calls" | "spent_agent" | "spent_channel" | "spent_person">;
  /** In Weir's words only. */
  readonly why: string;
  /** Calls for the question so far. */
  readonly calls: number;
}

/** An attempt that one of Weir's own limits refused. Nothing was sent. */
export class RefusedCall extends ModelError {
  readonly refusal: CallRefusal;

  constructor(model: string, refusal: CallRefusal) {
    super("not_allowed", model, refusal.why);
    this.refusal = refusal;
  }
}
