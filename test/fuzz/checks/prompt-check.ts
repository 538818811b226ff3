import type { Incarnation } from "../incarnation.ts";
import type { Ledger, Versions } from "../ledger.ts";
import type { View } from "../observe.ts";
import type { Prompt } from "../prompt.ts";

/** A turn's prompt as it arrived at the model, with the rows of that moment. */
export interface Arrival {
  readonly prompt: Prompt;
  readonly incarnation: Incarnation;
  /** Tokens of the model's window as the incarnation believed when the prompt arrived: a refusal in another room may change it. */
  readonly window: number;
  readonly state: View;
  readonly before: Versions;
  readonly at: Versions;
  /** The incarnation is the channel's only owner: no other one changes the rows behind its back. */
  readonly isSole: boolean;
  /** Markers whose deletion was acknowledged before the prompt arrived. */
  readonly gone: ReadonlySet<string>;
}

/** @returns what is wrong */
export type PromptCheck = (arrival: Arrival, ledger: Ledger) => string[];
