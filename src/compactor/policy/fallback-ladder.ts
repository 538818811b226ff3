import type { JobPlan } from "../../core/compaction.ts";

export interface FallbackState {
  /** Its range in the last attempt. */
  readonly plan: Pick<JobPlan, "kind" | "tier" | "fromSeq" | "toSeq">;
  readonly halved: number;
  readonly attempts: number;
  /** Configured models that it has not asked yet. */
  readonly modelsLeft: number;
  /** It must not be put off: if no model can write a summary, a digest is committed. */
  readonly mustProgress: boolean;
  /** Number of jobs for the same redo that ended with a rejected summary. */
  readonly refusedBefore: number;
  /** `refused`: the summary was rejected; `unavailable`: there was no output. */
  readonly failure: "refused" | "unavailable" | "deadline";
}

/** The next attempt. `give_up` ends the job until the back-off is over; a final digest is not replaced by a model. */
export type Step =
  | { readonly do: "half" }
  | { readonly do: "other_model" }
  | { readonly do: "again" }
  | { readonly do: "digest"; readonly isFinal: boolean }
  | { readonly do: "give_up" };

const MAX_HALVINGS = 2;
/** Ranges of at most this many entries are not halved. */
const FEW_ENTRIES = 4;
/** Attempts of a job whose attempts exceed their deadline. */
const LAST_IN_TIME = 2;
/** Rejected summaries of one redo after which its digest becomes final, which bounds the cost. */
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

/**
 * Whether the digest of a redo becomes final. A redo that a person asked for ends without one: it must not make the
 * summary worse.
 */
function isHopeless({ plan, refusedBefore }: FallbackState): boolean {
  return plan.kind === "redo" && plan.tier !== "forced" && refusedBefore + 1 >= MAX_REDOS;
}

/** An omitted range must be covered whole, or the emergency omission would last. */
function canHalve({ plan, halved }: FallbackState): boolean {
  const entries = plan.toSeq - plan.fromSeq + 1;
  const isWhole = plan.kind !== "leaf" || plan.tier === "emergency";
  return !isWhole && halved < MAX_HALVINGS && entries > FEW_ENTRIES;
}
