import type { FailureKind } from "../prompts/load.ts";
import type { HandOff } from "../tools/tool.ts";

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
