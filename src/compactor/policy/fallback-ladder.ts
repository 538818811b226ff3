import type { JobPlan } from "../../core/compaction.ts";

/** Where a job stands after an attempt has failed. */
export interface FallbackState {
  /** What is left of it: its range as the last attempt had it. */
  readonly plan: Pick<JobPlan, "kind" | "tier" | "fromSeq" | "toSeq">;
  /** How often its range has been halved. */
  readonly halved: number;
  /** Attempts so far, this one included. */
  readonly attempts: number;
  /** Models of the configuration that it has not asked yet. */
  readonly modelsLeft: number;
  /** It may not be put off: where no model can, a digest must do. */
  readonly mustProgress: boolean;
  /** How often a job for the same redo has ended in a refusal. */
  readonly refusedBefore: number;
  /** `refused`: the output is not fit to be committed; `unavailable`: there was none. */
  readonly failure: "refused" | "unavailable" | "deadline";
}

/** What to try next. `give_up` ends the job until the back-off is over; a final digest is not written again. */
export type Step =
  | { readonly do: "half" }
  | { readonly do: "other_model" }
  | { readonly do: "again" }
  | { readonly do: "digest"; readonly isFinal: boolean }
  | { readonly do: "give_up" };

const MAX_HALVINGS = 2;
/** A range of so few entries is not halved. */
const FEW_ENTRIES = 4;
/** The attempt after which a deadline is not given another one. */
const LAST_IN_TIME = 2;
/** So many refused jobs, and a redo has shown that no model betters the extract: it would be paid for without end. */
const MAX_REDOS = 3;

/** The next step of a job whose attempt failed; whatever fails, a digest or giving up is at most a few steps away. */
export function nextStep(state: FallbackState): Step {
  const last: Step = state.mustProgress ? { do: "digest", isFinal: false } : { do: "give_up" };
  switch (state.failure) {
    case "refused":
      if (canHalve(state)) return { do: "half" };
      if (state.modelsLeft > 0) return { do: "other_model" };
      return isHopeless(state) ? { do: "digest", isFinal: true } : last;
    case "deadline":
      return state.attempts < LAST_IN_TIME ? { do: "again" } : last;
    case "unavailable":
      return last;
  }
}

function isHopeless({ plan, refusedBefore }: FallbackState): boolean {
  return plan.kind === "redo" && refusedBefore + 1 >= MAX_REDOS;
}

/** An omitted range is covered whole, or emergency would not heal. */
function canHalve({ plan, halved }: FallbackState): boolean {
  const entries = plan.toSeq - plan.fromSeq + 1;
  const isWhole = plan.kind !== "leaf" || plan.tier === "emergency";
  return !isWhole && halved < MAX_HALVINGS && entries > FEW_ENTRIES;
}
