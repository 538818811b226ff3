import type { JobPlan } from "../../core/compaction.ts";

/** The state of a job after a failed attempt. */
export interface FallbackState {
  /** Its range in the last attempt. */
  readonly plan: Pick<JobPlan, "kind" | "tier" | "fromSeq" | "toSeq">;
  /** How often its range has been halved. */
  readonly halved: number;
  /** Attempts so far, this one included. */
  readonly attempts: number;
  /** Configured models that it has not asked yet. */
  readonly modelsLeft: number;
  /** It must not be put off: if no model can write a summary, a digest is committed. */
  readonly mustProgress: boolean;
  /** How often a job for the same redo has ended with a rejected summary. */
  readonly refusedBefore: number;
  /** `refused`: the summary was rejected; `unavailable`: there was no output. */
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
/** Largest number of entries that are not halved. */
const FEW_ENTRIES = 4;
/** The last attempt of a job whose attempts run into their deadline. */
const LAST_IN_TIME = 2;
/** Jobs for one redo that may end with a rejected summary before its digest becomes final: models would be paid without end. */
const MAX_REDOS = 3;

/** The fallback ladder: the next step of a job after a failed attempt. It ends with a digest or giving up after a few steps. */
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

/** What a person wants better is not replaced by something worse. */
function isHopeless({ plan, refusedBefore }: FallbackState): boolean {
  return plan.kind === "redo" && plan.tier !== "forced" && refusedBefore + 1 >= MAX_REDOS;
}

/** An omitted range must be covered whole, or an emergency omission would last. */
function canHalve({ plan, halved }: FallbackState): boolean {
  const entries = plan.toSeq - plan.fromSeq + 1;
  const isWhole = plan.kind !== "leaf" || plan.tier === "emergency";
  return !isWhole && halved < MAX_HALVINGS && entries > FEW_ENTRIES;
}
