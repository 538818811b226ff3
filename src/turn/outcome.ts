import type { FailureKind } from "../prompts/load.ts";
import type { HandOff } from "../tools/tool.ts";
import { ModelError } from "../llm/model.ts";

export type TurnOutcome =
  | {
      readonly kind: "answered";
      readonly text: string;
      /** The built-in stand-in answered, and no model. */
      readonly standIn?: true;
      readonly handOff?: HandOff;
    }
  | { readonly kind: "skipped"; readonly reason: string; readonly handOff?: HandOff }
  /** The signal ended it; `text` is the answer so far. */
  | { readonly kind: "stopped"; readonly text: string }
  /** The limit of model calls is reached; `text` is the last shown text. */
  | { readonly kind: "bounded"; readonly text: string; readonly calls: number; readonly why: string }
  /**
   * `why`: the reason in Weir's words alone. `told`: more in Weir's words, for the operator. `logged`: the provider's
   * sentences, which may repeat people's words, for the log alone.
   */
  | {
      readonly kind: "failed";
      readonly failure: FailureKind;
      readonly why: string;
      readonly told?: string;
      readonly logged?: string;
    };

export interface TurnResult {
  readonly outcome: TurnOutcome;
  readonly modelMs: number;
}

type ModelFailureKind = Extract<
  FailureKind,
  "too_long" | "misconfigured" | "unavailable" | "moderated" | "unpaid" | "loading"
>;

/** The kind of a model's failure, as people and agents see it. */
export function failureKind({ kind, reason }: ModelError): ModelFailureKind {
  if (reason === "moderation") return "moderated";
  if (reason === "quota") return "unpaid";
  if (reason === "loading") return "loading";
  if (kind === "context_length") return "too_long";
  return kind === "unauthorized" || kind === "rejected" || kind === "redirected"
    ? "misconfigured"
    : "unavailable";
}

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
